"""Customisations by scripts: which one counts, and that those of the documents work as written."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from karmada.api.codec import from_tree, raw
from karmada.api.config.v1alpha1 import ResourceInterpreterCustomization
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.api.yaml import load
from karmada.interpreter.customizable import CustomizableInterpreter
from karmada.interpreter.customization import scripts_of
from karmada.interpreter.lua.pool import Limits, ScriptError
from karmada.interpreter.model import GroupVersionKind, InterpretError, Operation, ReplicaNeeds, Unavailable
from karmada.interpreter.webhook import Endpoint

WIDGET = GroupVersionKind("example.io", "v1", "Widget")
DOCUMENT = Path(__file__).parent / "data" / "deployment-interpreter.yaml"
Failures = list[tuple[GroupVersionKind, Operation, str, InterpretError]]


def customization(name: str, kind: str = "Widget", **scripts: str) -> ResourceInterpreterCustomization:
    rules = {field: {"luaScript": script} for field, script in scripts.items()}
    tree = {
        "metadata": {"name": name},
        "spec": {"target": {"apiVersion": "example.io/v1", "kind": kind}, "customizations": rules},
    }
    return from_tree(tree, ResourceInterpreterCustomization)


def widget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.io/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default"},
        "spec": spec,
    }


async def nowhere(endpoint: Endpoint, body: bytes) -> bytes:
    raise Unavailable("there are no webhooks in this test")


@pytest.fixture
def failures() -> Failures:
    return []


@pytest.fixture
async def interpreter(failures: Failures) -> AsyncIterator[CustomizableInterpreter]:
    def report(kind: GroupVersionKind, operation: Operation, level: str, error: InterpretError) -> None:
        failures.append((kind, operation, level, error))

    interpreter = CustomizableInterpreter(post=nowhere, limits=Limits(call_seconds=30), report=report)
    yield interpreter
    await interpreter.close()


def test_first_script_by_name_counts_and_empty_ones_do_not() -> None:
    found = scripts_of(
        [
            customization("c", replicaResource="third", retention="kept"),
            customization("b", replicaResource="second"),
            customization("a", replicaResource=""),
        ]
    )
    texts = {operation: [script.text for script in scripts] for (_, operation), scripts in found.items()}
    assert texts == {Operation.REPLICAS: ["second"], Operation.RETAIN: ["kept"]}


def test_every_dependency_script_counts() -> None:
    found = scripts_of(
        [customization("b", dependencyInterpretation="2"), customization("a", dependencyInterpretation="1")]
    )
    assert [script.text for script in found[WIDGET, Operation.DEPENDENCIES]] == ["1", "2"]


async def test_dependencies_of_several_scripts_are_put_together(interpreter: CustomizableInterpreter) -> None:
    script = 'function GetDependencies(obj) return {{ {{ apiVersion = "v1", kind = "Secret", name = "{}" }}, {} }} end'
    shared = '{ apiVersion = "v1", kind = "ConfigMap", name = "shared" }'
    interpreter.configure(
        [
            customization("a", dependencyInterpretation=script.format("z", shared)),
            customization("b", dependencyInterpretation=script.format("b", shared)),
        ],
        [],
    )
    found = await interpreter.dependencies(widget())
    assert [(one.kind, one.name) for one in found] == [("ConfigMap", "shared"), ("Secret", "b"), ("Secret", "z")]


async def test_customisations_can_be_changed_while_running(interpreter: CustomizableInterpreter) -> None:
    assert not interpreter.enabled(WIDGET, Operation.HEALTH)
    for answer in ("true", "false"):
        interpreter.configure(
            [customization("a", healthInterpretation=f"function InterpretHealth(o) return {answer} end")], []
        )
        assert interpreter.enabled(WIDGET, Operation.HEALTH)
        assert await interpreter.healthy(widget()) is (answer == "true")
    interpreter.configure([], [])
    assert not interpreter.enabled(WIDGET, Operation.HEALTH)


async def test_failure_of_a_script_is_the_answer_and_is_reported(
    interpreter: CustomizableInterpreter, failures: Failures
) -> None:
    interpreter.configure([customization("a", replicaResource="function GetReplicas(o) return o.spec.no.way end")], [])
    with pytest.raises(ScriptError, match="attempt to index"):
        await interpreter.replicas(widget())
    ((kind, operation, level, error),) = failures
    assert (kind, operation, level) == (WIDGET, Operation.REPLICAS, "customised script")
    assert isinstance(error, ScriptError)
    assert error.source == "ResourceInterpreterCustomization/a"


async def test_customised_script_goes_before_native_rules(interpreter: CustomizableInterpreter) -> None:
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {"replicas": 3}}
    assert await interpreter.replicas(deployment) == ReplicaNeeds(3)
    tree = {
        "metadata": {"name": "a"},
        "spec": {
            "target": {"apiVersion": "apps/v1", "kind": "Deployment"},
            "customizations": {
                "replicaResource": {"luaScript": "function GetReplicas(o) return 10 * o.spec.replicas end"}
            },
        },
    }
    interpreter.configure([from_tree(tree, ResourceInterpreterCustomization)], [])
    assert await interpreter.replicas(deployment) == ReplicaNeeds(30)


async def test_customisation_of_the_documents_works_as_written(interpreter: CustomizableInterpreter) -> None:
    interpreter.configure([from_tree(load(DOCUMENT.read_text()), ResourceInterpreterCustomization)], [])
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx", "namespace": "default", "generation": 2},
        "spec": {"replicas": 4},
        "status": {"replicas": 2, "readyReplicas": 1},
    }
    assert await interpreter.replicas(deployment) == ReplicaNeeds(4)
    assert await interpreter.replicas({**deployment, "spec": {}}) == ReplicaNeeds(1)
    assert await interpreter.healthy(deployment) is False
    assert await interpreter.healthy({**deployment, "status": {"replicas": 2, "readyReplicas": 2}}) is True
    retained = await interpreter.retain(deployment, {**deployment, "spec": {"replicas": 9}})
    assert retained["spec"] == {"replicas": 9}
    member = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 1}
    items = [AggregatedStatusItem(cluster_name=name, status=raw(member)) for name in ("member1", "member2")]
    aggregated = await interpreter.aggregate(deployment, items)
    assert aggregated["status"] == {"replicas": 4, "readyReplicas": 4, "availableReplicas": 2}
    # What the document does not customise is answered as before.
    assert await interpreter.revise(deployment, 7) == {**deployment, "spec": {"replicas": 7}}


async def test_a_part_of_an_answer_without_its_required_fields_has_them_empty(
    interpreter: CustomizableInterpreter,
) -> None:
    script = "function GetReplicas(obj) return 2, {nodeClaim = {hardNodeAffinity = {a = 1}}} end"
    interpreter.configure([customization("a", replicaResource=script)], [])
    needs = await interpreter.replicas(widget())
    assert needs.replicas == 2
    assert needs.requirements is not None
    assert needs.requirements.node_claim is not None
    assert needs.requirements.node_claim.hard_node_affinity is not None


async def test_after_the_end_no_script_is_run(interpreter: CustomizableInterpreter, failures: Failures) -> None:
    script = "function GetReplicas(obj) return 3 end"
    interpreter.configure([customization("a", replicaResource=script)], [])
    assert (await interpreter.replicas(widget())).replicas == 3
    await interpreter.close()
    with pytest.raises(InterpretError):
        await interpreter.replicas(widget())
    assert "their workers have been stopped" in str(failures[0][3])
