"""The level of customised scripts: which script answers which question about a kind, and what its answer means."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from karmada.api.codec import DecodeError, from_tree, to_tree
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component, ReplicaRequirements
from karmada.interpreter.dependencies import checked, merged
from karmada.interpreter.lua.pool import Pool, Script, ScriptError
from karmada.interpreter.lua.protocol import ErrorClass, Result
from karmada.interpreter.model import (
    GroupVersionKind,
    InterpretError,
    JSONObject,
    NoRule,
    Operation,
    ReplicaNeeds,
    kind_of,
)
from karmada.interpreter.pods.requirements import respelled

T = TypeVar("T")

FUNCTIONS: dict[Operation, Sequence[str]] = {
    # The second name is what older documents call it; it returns only the number.
    Operation.REPLICAS: ("GetReplicas", "ReplicasCount"),
    Operation.COMPONENTS: ("GetComponents",),
    Operation.REVISE: ("ReviseReplica",),
    Operation.RETAIN: ("Retain",),
    Operation.REFLECT: ("ReflectStatus",),
    Operation.AGGREGATE: ("AggregateStatus",),
    Operation.HEALTH: ("InterpretHealth",),
    Operation.DEPENDENCIES: ("GetDependencies",),
}
RESULTS: dict[Operation, Result] = {
    Operation.REPLICAS: Result.REPLICAS,
    Operation.COMPONENTS: Result.TABLE_OR_NIL,
    Operation.REVISE: Result.TABLE,
    Operation.RETAIN: Result.TABLE,
    Operation.REFLECT: Result.TABLE,
    Operation.AGGREGATE: Result.TABLE,
    Operation.HEALTH: Result.BOOLEAN,
    Operation.DEPENDENCIES: Result.TABLE,
}

Scripts = Mapping[tuple[GroupVersionKind, Operation], Sequence[Script]]
"""One script per question; of dependencies any number, whose answers are put together."""


@dataclass(slots=True)
class LuaLevel:
    """Asks scripts. `scripts` may be replaced at any time; calls under way finish with the old ones."""

    pool: Pool
    scripts: Scripts
    name: str = "customised script"

    def enabled(self, kind: GroupVersionKind, operation: Operation) -> bool:
        return (kind, operation) in self.scripts

    async def replicas(self, resource: JSONObject) -> ReplicaNeeds:
        return await self._ask(Operation.REPLICAS, _needs, resource)

    async def components(self, resource: JSONObject) -> tuple[Component, ...]:
        return await self._ask(Operation.COMPONENTS, _components, resource)

    async def revise(self, resource: JSONObject, replicas: int) -> JSONObject:
        return await self._ask(Operation.REVISE, _resource, resource, replicas, references=1)

    async def retain(self, desired: JSONObject, observed: JSONObject) -> JSONObject:
        return await self._ask(Operation.RETAIN, _resource, desired, observed, references=2)

    async def reflect(self, observed: JSONObject) -> JSONObject | None:
        return await self._ask(Operation.REFLECT, _same, observed)

    async def aggregate(self, template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
        return await self._ask(Operation.AGGREGATE, _resource, template, [to_tree(item) for item in items])

    async def healthy(self, observed: JSONObject) -> bool:
        return bool(await self._ask(Operation.HEALTH, _same, observed))

    async def dependencies(self, resource: JSONObject) -> Sequence[DependentObjectReference]:
        scripts = self._scripts(resource, Operation.DEPENDENCIES)
        answers = [await self._run(script, Operation.DEPENDENCIES, _dependencies, [resource], 0) for script in scripts]
        return merged(answers)

    async def _ask(
        self, operation: Operation, read: Callable[[Any], T], resource: JSONObject, *others: Any, references: int = 0
    ) -> T:
        script = self._scripts(resource, operation)[0]
        return await self._run(script, operation, read, [resource, *others], references)

    async def _run(
        self, script: Script, operation: Operation, read: Callable[[Any], T], arguments: list[Any], references: int
    ) -> T:
        try:
            names, result = FUNCTIONS[operation], RESULTS[operation]
            return read(await self.pool.call(script, names, arguments, references, result))
        except InterpretError as error:
            error.source = script.source
            raise

    def _scripts(self, resource: JSONObject, operation: Operation) -> Sequence[Script]:
        scripts = self.scripts.get((kind_of(resource), operation))
        if not scripts:
            raise NoRule(f"no script answers {operation} for {kind_of(resource).kind}")
        return scripts


def _same(answer: Any) -> Any:
    return answer


def _needs(answer: Any) -> ReplicaNeeds:
    count, needs = answer
    return ReplicaNeeds(count, None if needs is None else _convert(_spelled(needs), ReplicaRequirements))


def _components(answer: Any) -> tuple[Component, ...]:
    if isinstance(answer, list):
        answer = [_component(part) if isinstance(part, dict) else part for part in answer]
    return _convert(answer or [], tuple[Component, ...])


def _component(part: JSONObject) -> JSONObject:
    _spelled(part.get("replicaRequirements"))
    replicas = part.get("replicas", 0)
    if isinstance(replicas, int | float) and not -(2**31) <= replicas < 2**31:
        raise ScriptError(ErrorClass.CONVERT, f"the script's answer does not fit: {replicas} replicas")
    return {"name": "", "replicas": 0, **part}


def _dependencies(answer: Any) -> Sequence[DependentObjectReference]:
    """What a dependency lacks is found out when it is checked, with words that name the field."""
    if isinstance(answer, list):
        answer = [{"apiVersion": "", "kind": "", **entry} if isinstance(entry, dict) else entry for entry in answer]
    return checked(_convert(answer or [], tuple[DependentObjectReference, ...]))


def _resource(answer: Any) -> JSONObject:
    if not isinstance(answer, dict) or not answer.get("kind"):
        raise ScriptError(ErrorClass.CONVERT, "the script's answer is no resource: its kind is missing")
    return answer


def _convert(tree: Any, type_: type[T]) -> T:
    try:
        return from_tree(tree, type_, complete=True)
    except DecodeError as error:
        raise ScriptError(ErrorClass.CONVERT, f"the script's answer does not fit: {error}") from error


def _spelled(requirements: Any) -> Any:
    """Amounts may be numbers or text; either way they have to be quantities."""
    amounts = requirements.get("resourceRequest") if isinstance(requirements, dict) else None
    if isinstance(amounts, dict) and not any(isinstance(amount, bool | dict | list) for amount in amounts.values()):
        try:
            requirements["resourceRequest"] = respelled(amounts)
        except QuantityError as error:
            raise ScriptError(ErrorClass.CONVERT, f"the script's answer does not fit: {error}") from error
    return requirements
