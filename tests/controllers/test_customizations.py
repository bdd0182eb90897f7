"""Customisations reach the interpreter all at once after every change, and their failures are counted and recorded."""

import asyncio
from collections import Counter

import pytest
from tests.controllers.plane import on_a_plane

from karmada.api.config.v1alpha1 import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from karmada.controllers.customizations import LONGEST_MESSAGE, CustomizationFailures, Customizations
from karmada.interpreter.model import GroupVersionKind, InterpretError, Operation
from karmada.machinery.client import type_of

SCRIPTS, WEBHOOKS = type_of(ResourceInterpreterCustomization), type_of(ResourceInterpreterWebhookConfiguration)
SCRIPT = {
    "metadata": {"name": "widgets"},
    "spec": {
        "target": {"apiVersion": "example.io/v1", "kind": "Widget"},
        "customizations": {"replicaResource": {"luaScript": "function GetReplicas() return 2 end"}},
    },
}
WEBHOOK = {
    "metadata": {"name": "hooks"},
    "webhooks": [
        {
            "name": "hooks.example.io",
            "clientConfig": {"url": "https://hooks.example.io"},
            "interpreterContextVersions": ["v1alpha1"],
            "rules": [
                {
                    "apiGroups": ["example.io"],
                    "apiVersions": ["v1"],
                    "kinds": ["Widget"],
                    "operations": ["InterpretReplica"],
                }
            ],
        }
    ],
}


class Configured:
    """An interpreter that remembers the names of what it was configured with."""

    def __init__(self):
        self.seen = []

    def configure(self, scripts, webhooks):
        self.seen.append([each.metadata.name for each in (*scripts, *webhooks)])


def test_an_interpreter_gets_all_customisations_after_every_change_until_nobody_runs():
    async def scenario(plane):
        await plane.client.resource(SCRIPTS).create(SCRIPT)
        plane.transport.held = frozenset({WEBHOOKS})
        interpreter = Configured()
        customizations = Customizations(plane.context.informers, interpreter)
        running = asyncio.ensure_future(customizations.run())
        synced = asyncio.ensure_future(customizations.synced())
        await plane.clock.sleep(5)
        assert (interpreter.seen, synced.done()) == ([], False), "one collection is not loaded"
        plane.transport.held = frozenset()
        await plane.clock.sleep(5)
        assert (interpreter.seen, synced.done()) == ([["widgets"]], True)
        await plane.client.resource(WEBHOOKS).create(WEBHOOK)
        await plane.clock.sleep(1)
        await plane.client.resource(SCRIPTS).delete("widgets")
        await plane.clock.sleep(1)
        assert interpreter.seen[1:] == [["widgets", "hooks"], ["hooks"]]
        await plane.clock.sleep(600)
        assert len(interpreter.seen) == 3
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await plane.client.resource(SCRIPTS).create(SCRIPT)
        await plane.clock.sleep(5)
        assert len(interpreter.seen) == 3
        again = asyncio.ensure_future(customizations.run())
        await plane.clock.sleep(1)
        assert interpreter.seen[3:] == [["widgets", "hooks"]]
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)

    on_a_plane(scenario)


class Recorded:
    """A recorder that keeps what is recorded."""

    def __init__(self):
        self.events = []

    def event(self, about, type_, reason, message):
        self.events.append((about.api_version, about.kind, about.name, type_, reason, message))


@pytest.mark.parametrize("source", ["ResourceInterpreterCustomization/widgets", ""], ids=["customised", "built in"])
def test_a_failure_is_counted_and_is_an_event_of_the_customisation_if_there_is_one(source, caplog):
    recorder, counts = Recorded(), Counter()
    failures = CustomizationFailures(recorder, counts)
    error = InterpretError("attempt to index a nil value")
    error.source = source
    kind = GroupVersionKind("example.io", "v1", "Widget")
    for _ in range(2):
        failures.report(kind, Operation.REPLICAS, "script", error)
    assert counts == {("script", "InterpretReplica", "example.io/v1/Widget"): 2}
    text = "InterpretReplica of Widget.v1.example.io failed: attempt to index a nil value"
    event = ("config.karmada.io/v1alpha1", "ResourceInterpreterCustomization", "widgets", "Warning", "InterpretFailed")
    assert recorder.events == ([(*event, text)] * 2 if source else [])
    assert (text in caplog.text) == bool(source)


def test_the_message_of_a_failure_is_not_longer_than_an_event_may_be():
    recorder = Recorded()
    error = InterpretError("x" * 5000)
    error.source = "ResourceInterpreterCustomization/widgets"
    CustomizationFailures(recorder, Counter()).report(
        GroupVersionKind("", "v1", "Pod"), Operation.RETAIN, "script", error
    )
    assert len(recorder.events[0][-1]) == LONGEST_MESSAGE == 1000
