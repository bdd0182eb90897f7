"""A level whose knowledge are plain functions: native kinds, bundled kinds, and Python interpreters of users."""

from collections.abc import Mapping, Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component
from karmada.interpreter.model import (
    GroupVersionKind,
    InterpretError,
    JSONObject,
    KindRules,
    NoRule,
    Operation,
    ReplicaNeeds,
    kind_of,
)


class RulesLevel:
    """Answers from a table. Rules are trusted and quick: they run in the caller's task."""

    def __init__(self, name: str, rules: Mapping[GroupVersionKind, KindRules]) -> None:
        self.name = name
        self._rules = rules

    def enabled(self, kind: GroupVersionKind, operation: Operation) -> bool:
        rules = self._rules.get(kind)
        return rules is not None and getattr(rules, _FIELDS[operation]) is not None

    async def replicas(self, resource: JSONObject) -> ReplicaNeeds:
        needs: ReplicaNeeds = self._answer(Operation.REPLICAS, resource)
        return needs

    async def components(self, resource: JSONObject) -> tuple[Component, ...]:
        parts: tuple[Component, ...] = self._answer(Operation.COMPONENTS, resource)
        return parts

    async def revise(self, resource: JSONObject, replicas: int) -> JSONObject:
        revised: JSONObject = self._answer(Operation.REVISE, resource, replicas)
        return revised

    async def retain(self, desired: JSONObject, observed: JSONObject) -> JSONObject:
        retained: JSONObject = self._answer(Operation.RETAIN, desired, observed)
        return retained

    async def reflect(self, observed: JSONObject) -> JSONObject | None:
        status: JSONObject | None = self._answer(Operation.REFLECT, observed)
        return status

    async def aggregate(self, template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
        aggregated: JSONObject = self._answer(Operation.AGGREGATE, template, items)
        return aggregated

    async def healthy(self, observed: JSONObject) -> bool:
        is_healthy: bool = self._answer(Operation.HEALTH, observed)
        return is_healthy

    async def dependencies(self, resource: JSONObject) -> Sequence[DependentObjectReference]:
        found: Sequence[DependentObjectReference] = self._answer(Operation.DEPENDENCIES, resource)
        return found

    def _answer(self, operation: Operation, resource: JSONObject, *arguments: Any) -> Any:
        """A rule that stumbles over a resource of unexpected shape has failed on it, and nothing else has."""
        kind = kind_of(resource)
        rules = self._rules.get(kind)
        rule = getattr(rules, _FIELDS[operation]) if rules else None
        if rule is None:
            raise NoRule(f"{self.name} has no {operation} rule for {kind.kind}")
        try:
            return rule(resource, *arguments)
        except InterpretError:
            raise
        except Exception as error:
            message = f"the {operation} rule of {kind.kind} failed: {type(error).__name__}: {error}"
            raise InterpretError(message) from error


_FIELDS = {
    Operation.REPLICAS: "replicas",
    Operation.COMPONENTS: "components",
    Operation.REVISE: "revise",
    Operation.RETAIN: "retain",
    Operation.REFLECT: "reflect",
    Operation.AGGREGATE: "aggregate",
    Operation.HEALTH: "health",
    Operation.DEPENDENCIES: "dependencies",
}
