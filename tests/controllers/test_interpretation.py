"""The interpreter inside a control plane knows what is configured before anybody asks it."""

import sys

import pytest
from tests.controllers.plane import on_a_plane

from karmada.api.feature_gates import DEFAULTS
from karmada.controllers.interpretation import COMPONENT, interpretation
from karmada.interpreter.model import GroupVersionKind, Operation
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.transport import GroupVersionResource

CUSTOMIZATIONS = GroupVersionResource("config.karmada.io", "v1alpha1", "resourceinterpretercustomizations")
WIDGET = GroupVersionKind("example.io", "v1", "Widget")
SCRIPT = "function GetReplicas(desiredObj) return 1, nil end"


@pytest.mark.parametrize("first", [True, False], ids=["before the start", "later"])
def test_customizations_are_followed_and_known_from_the_start(first):
    async def scenario(plane):
        async def configure():
            target = {"apiVersion": "example.io/v1", "kind": "Widget"}
            spec = {"target": target, "customizations": {"replicaResource": {"luaScript": SCRIPT}}}
            await plane.client.resource(CUSTOMIZATIONS).create({"metadata": {"name": "widgets"}, "spec": spec})

        if first:
            await configure()
        context = plane.context
        informers = InformerFactory(plane.client, plane.supervisor, clock=plane.clock)
        made = interpretation(
            informers, plane.supervisor, context.recorder(COMPONENT), DEFAULTS, plane.clock, context.metrics
        )
        async with made as interpreter:
            assert interpreter.enabled(WIDGET, Operation.REPLICAS) == first
            if not first:
                await configure()
                await plane.clock.sleep(1)
            assert interpreter.enabled(WIDGET, Operation.REPLICAS)

    on_a_plane(scenario)


def test_an_interpreter_that_does_not_load_is_named_and_the_others_work(tmp_path, caplog):
    about = tmp_path / "widgets-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: widgets\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[karmada.interpreters]\nwidgets = nowhere_to_be_found:RULES\n")

    async def scenario(plane):
        context, informers = plane.context, InformerFactory(plane.client, plane.supervisor, clock=plane.clock)
        recorder = context.recorder(COMPONENT)
        made = interpretation(informers, plane.supervisor, recorder, DEFAULTS, plane.clock, context.metrics)
        async with made as interpreter:
            assert interpreter.enabled(GroupVersionKind("apps", "v1", "Deployment"), Operation.REPLICAS)

    sys.path.insert(0, str(tmp_path))
    try:
        on_a_plane(scenario)
    finally:
        sys.path.remove(str(tmp_path))
    assert "interpreter widgets (nowhere_to_be_found:RULES) does not load" in caplog.text
