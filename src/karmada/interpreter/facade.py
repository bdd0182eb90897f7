"""The interpreter that callers use: levels asked in order, the first that has a rule answers.

An error of the level that answers is the answer, as in the reference. Only a level that cannot be asked at all (a
webhook that cannot be addressed, a plug-in that does not load: `Unavailable`) is passed over, and that is reported, so
that a broken customisation degrades to what is known of the kind below and does not stop its propagation.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from karmada.api import timestamps
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component
from karmada.interpreter.dependencies import checked
from karmada.interpreter.model import (
    GroupVersionKind,
    Interpreter,
    InterpretError,
    JSONObject,
    NoRule,
    Operation,
    ReplicaNeeds,
    Unavailable,
    kind_of,
)
from karmada.interpreter.native import native_rules
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.rules_level import RulesLevel
from karmada.interpreter.shape import status_map

T = TypeVar("T")

Report = Callable[[GroupVersionKind, Operation, str, InterpretError], None]
"""(kind, operation, level, error): called with every failure; controllers make an event and a metric of it."""


class Level(Interpreter, Protocol):
    """One source of rules. A call for which `enabled` is false raises `NoRule`."""

    @property
    def name(self) -> str:
        """For reports."""
        ...


class LayeredInterpreter:
    """The facade."""

    def __init__(self, *levels: Level, report: Report | None = None) -> None:
        self._levels = levels
        self._report = report or _ignore

    def enabled(self, kind: GroupVersionKind, operation: Operation) -> bool:
        """Every kind has a status that can be reported."""
        if operation is Operation.REFLECT:
            return True
        for level in self._levels:  # noqa: SIM110 - asked for every object and operation: `any` takes twice as long
            if level.enabled(kind, operation):
                return True
        return False

    async def replicas(self, resource: JSONObject) -> ReplicaNeeds:
        return await self._ask(resource, Operation.REPLICAS, lambda level: level.replicas(resource))

    async def components(self, resource: JSONObject) -> tuple[Component, ...]:
        return await self._ask(resource, Operation.COMPONENTS, lambda level: level.components(resource))

    async def revise(self, resource: JSONObject, replicas: int) -> JSONObject:
        return await self._ask(resource, Operation.REVISE, lambda level: level.revise(resource, replicas))

    async def retain(self, desired: JSONObject, observed: JSONObject) -> JSONObject:
        return await self._ask(desired, Operation.RETAIN, lambda level: level.retain(desired, observed))

    async def reflect(self, observed: JSONObject) -> JSONObject | None:
        try:
            return await self._ask(observed, Operation.REFLECT, lambda level: level.reflect(observed))
        except NoRule:
            return status_map(observed)

    async def aggregate(self, template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
        return await self._ask(template, Operation.AGGREGATE, lambda level: level.aggregate(template, items))

    async def healthy(self, observed: JSONObject) -> bool:
        return await self._ask(observed, Operation.HEALTH, lambda level: level.healthy(observed))

    async def dependencies(self, resource: JSONObject) -> Sequence[DependentObjectReference]:
        async def ask(level: Level) -> Sequence[DependentObjectReference]:
            return checked(await level.dependencies(resource))

        return await self._ask(resource, Operation.DEPENDENCIES, ask)

    async def _ask(self, resource: JSONObject, operation: Operation, ask: Callable[[Level], Awaitable[T]]) -> T:
        kind = kind_of(resource)
        for level in self._levels:
            if not level.enabled(kind, operation):
                continue
            try:
                return await ask(level)
            except Unavailable as error:
                self._report(kind, operation, level.name, error)
            except InterpretError as error:
                self._report(kind, operation, level.name, error)
                raise
        raise NoRule(_no_rule(kind, operation))


def wall_clock() -> str:
    """The time, as objects record it."""
    return timestamps.to_time(datetime.now(UTC))


def native_interpreter(gates: FeatureGates = DEFAULTS) -> LayeredInterpreter:
    """Only what is known of Kubernetes' own kinds."""
    return LayeredInterpreter(native_level(gates))


def native_level(gates: FeatureGates = DEFAULTS, now: Callable[[], str] = wall_clock) -> RulesLevel:
    """Kubernetes' own kinds. The reference names priority classes only where estimators look at quotas."""
    return RulesLevel("native", native_rules(Settings(now, with_priority=gates.enabled("ResourceQuotaEstimate"))))


def _ignore(kind: GroupVersionKind, operation: Operation, level: str, error: InterpretError) -> None:
    pass


def _no_rule(kind: GroupVersionKind, operation: Operation) -> str:
    match operation:
        case Operation.COMPONENTS:
            return "no plan to implement this method yet"
        case Operation.DEPENDENCIES:
            return f"default interpreter for operation {operation} not found"
    return f'default {operation} interpreter for "{kind.group}/{kind.version}, Kind={kind.kind}" not found'
