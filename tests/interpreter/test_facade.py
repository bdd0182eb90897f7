"""The facade: which level answers, and what is said when none does."""

from typing import Any

import pytest

from karmada.api.feature_gates import DEFAULTS
from karmada.interpreter.dependencies import InvalidDependency
from karmada.interpreter.facade import LayeredInterpreter, native_interpreter
from karmada.interpreter.model import (
    GroupVersionKind,
    InterpretError,
    KindRules,
    NoRule,
    Operation,
    ReplicaNeeds,
    Unavailable,
)
from karmada.interpreter.pods.references import DependentObjectReference
from karmada.interpreter.rules_level import RulesLevel

WIDGET = GroupVersionKind("example.io", "v1", "Widget")
RESOURCE: dict[str, Any] = {"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": "w"}}


def level(name: str, **rules: Any) -> RulesLevel:
    return RulesLevel(name, {WIDGET: KindRules(**rules)})


def fails(error: Exception) -> Any:
    def rule(*_: Any) -> Any:
        raise error

    return rule


async def test_first_level_with_a_rule_answers() -> None:
    interpreter = LayeredInterpreter(
        level("a", health=lambda _: True),
        level("b", replicas=lambda _: ReplicaNeeds(2)),
        level("c", replicas=fails(KeyError())),
    )
    assert await interpreter.replicas(RESOURCE) == ReplicaNeeds(2)


async def test_failure_of_the_level_that_answers_is_the_answer_and_is_reported() -> None:
    reports: list[tuple[Any, ...]] = []
    interpreter = LayeredInterpreter(
        level("a", health=fails(InterpretError("broken"))),
        level("b", health=lambda _: True),
        report=lambda *what: reports.append(what),
    )
    with pytest.raises(InterpretError, match="broken"):
        await interpreter.healthy(RESOURCE)
    assert [what[:3] for what in reports] == [(WIDGET, Operation.HEALTH, "a")]


async def test_level_that_cannot_be_asked_is_passed_over_and_reported() -> None:
    reports: list[tuple[Any, ...]] = []
    interpreter = LayeredInterpreter(
        level("a", health=fails(Unavailable("gone"))),
        level("b", health=lambda _: True),
        report=lambda *what: reports.append(what),
    )
    assert await interpreter.healthy(RESOURCE) is True
    assert [str(what[3]) for what in reports] == ["gone"]


MESSAGES = {
    "replicas": 'default InterpretReplica interpreter for "example.io/v1, Kind=Widget" not found',
    "healthy": 'default InterpretHealth interpreter for "example.io/v1, Kind=Widget" not found',
    "dependencies": "default interpreter for operation InterpretDependency not found",
    "components": "no plan to implement this method yet",
}


@pytest.mark.parametrize(("question", "message"), MESSAGES.items(), ids=MESSAGES)
async def test_question_that_nobody_answers_is_named(question: str, message: str) -> None:
    with pytest.raises(NoRule) as failure:
        await getattr(native_interpreter(), question)(RESOURCE)
    assert str(failure.value) == message


async def test_status_of_every_kind_can_be_reported() -> None:
    interpreter = native_interpreter()
    assert interpreter.enabled(WIDGET, Operation.REFLECT)
    assert await interpreter.reflect({**RESOURCE, "status": {"phase": "x"}}) == {"phase": "x"}
    assert await interpreter.reflect(RESOURCE) is None


async def test_dependencies_of_every_level_are_checked() -> None:
    nameless = DependentObjectReference(api_version="v1", kind="Secret")
    interpreter = LayeredInterpreter(level("a", dependencies=lambda _: [nameless]))
    with pytest.raises(InvalidDependency, match=r"dependencies\[0\]"):
        await interpreter.dependencies(RESOURCE)


@pytest.mark.parametrize(("gate", "priority"), [(True, "high"), (False, "")], ids=["estimated", "not estimated"])
async def test_priority_class_is_named_where_quotas_are_estimated(gate: bool, priority: str) -> None:
    interpreter = native_interpreter(DEFAULTS.with_overrides({"ResourceQuotaEstimate": gate}))
    spec = {"priorityClassName": "high", "nodeSelector": {"a": "b"}, "containers": []}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": spec}
    needs = await interpreter.replicas(pod)
    assert needs.requirements is not None
    assert needs.requirements.priority_class_name == priority
