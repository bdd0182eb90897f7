"""Customisations reach the interpreter as they change, and their failures reach people."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from karmada.api.yaml import load
from karmada.controllers.customizations import CustomizationFailures, Customizations
from karmada.interpreter.customizable import CustomizableInterpreter
from karmada.interpreter.lua.pool import Limits, ScriptError
from karmada.interpreter.model import GroupVersionKind, Operation, ReplicaNeeds, Unavailable
from karmada.interpreter.webhook import Endpoint
from karmada.machinery.client import Client
from karmada.machinery.event_sink import EVENTS
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

CUSTOMIZATIONS = GroupVersionResource("config.karmada.io", "v1alpha1", "resourceinterpretercustomizations")
DOCUMENT = Path(__file__).parents[1] / "interpreter" / "data" / "deployment-interpreter.yaml"
WIDGET = GroupVersionKind("example.io", "v1", "Widget")
RESOURCE = {"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}


def customization(script: str) -> dict[str, Any]:
    return {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "widgets"},
        "spec": {
            "target": {"apiVersion": "example.io/v1", "kind": "Widget"},
            "customizations": {"replicaResource": {"luaScript": script}},
        },
    }


async def nowhere(endpoint: Endpoint, body: bytes) -> bytes:
    raise Unavailable("there are no webhooks in this test")


@dataclass
class Followed:
    """An interpreter that follows the customisations of a control plane."""

    hub: Client
    interpreter: CustomizableInterpreter
    failures: CustomizationFailures

    async def until(self, check: Callable[[], Awaitable[Any]]) -> Any:
        """What the check gives once it gives something; in between the control plane goes on."""
        for _ in range(500):
            if found := await check():
                return found
            await asyncio.sleep(0.01)
        raise AssertionError("did not happen")


@pytest.fixture
async def followed() -> AsyncIterator[Followed]:
    async with ControlPlane(ControlPlaneOptions()) as plane, Supervisor() as supervisor:
        recorder = EventRecorder(plane.client, "interpreter")
        failures = CustomizationFailures(recorder, Counter())
        limits = Limits(workers=1, call_seconds=30)
        interpreter = CustomizableInterpreter(post=nowhere, limits=limits, report=failures.report)
        customizations = Customizations(InformerFactory(plane.client, supervisor), interpreter)
        supervisor.start("events of the interpreter", recorder.run)
        supervisor.start("customisations", customizations.run)
        await customizations.synced()
        yield Followed(plane.client, interpreter, failures)
        await interpreter.close()


async def test_customisation_of_the_documents_is_applied_as_written(followed: Followed) -> None:
    await followed.hub.resource(CUSTOMIZATIONS).create(load(DOCUMENT.read_text()))
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {}}

    async def customised() -> bool:
        return await followed.interpreter.replicas(deployment) == ReplicaNeeds(1)

    assert await followed.interpreter.replicas(deployment) in (ReplicaNeeds(0), ReplicaNeeds(1))
    await followed.until(customised)


async def test_changes_and_deletion_are_followed(followed: Followed) -> None:
    created = await followed.hub.resource(CUSTOMIZATIONS).create(customization("function GetReplicas() return 2 end"))

    async def answers(replicas: int) -> bool:
        enabled = followed.interpreter.enabled(WIDGET, Operation.REPLICAS)
        return enabled and await followed.interpreter.replicas(RESOURCE) == ReplicaNeeds(replicas)

    await followed.until(lambda: answers(2))
    created["spec"]["customizations"]["replicaResource"]["luaScript"] = "function GetReplicas() return 3 end"
    await followed.hub.resource(CUSTOMIZATIONS).update(created)
    await followed.until(lambda: answers(3))
    await followed.hub.resource(CUSTOMIZATIONS).delete("widgets")

    async def gone() -> bool:
        return not followed.interpreter.enabled(WIDGET, Operation.REPLICAS)

    await followed.until(gone)


async def test_failure_becomes_an_event_on_the_customisation_and_a_count(followed: Followed) -> None:
    await followed.hub.resource(CUSTOMIZATIONS).create(customization("function GetReplicas(obj) return obj.no.way end"))

    async def enabled() -> bool:
        return followed.interpreter.enabled(WIDGET, Operation.REPLICAS)

    await followed.until(enabled)
    with pytest.raises(ScriptError):
        await followed.interpreter.replicas(RESOURCE)
    assert followed.failures.counts == {("customised script", "InterpretReplica", "example.io/v1/Widget"): 1}

    async def event() -> Any:
        events = (await followed.hub.resource(EVENTS).list()).items
        return next((event for event in events if event["reason"] == "InterpretFailed"), None)

    noted = await followed.until(event)
    about = noted["involvedObject"]
    assert (about["kind"], about["name"]) == ("ResourceInterpreterCustomization", "widgets")
    assert "attempt to index" in noted["message"]
