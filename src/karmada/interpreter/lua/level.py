"""The level of customised scripts: which script answers which question about a kind, and what its answer means."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from karmada.api.codec import DecodeError, from_tree, to_tree
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component, ReplicaRequirements
from karmada.interpreter.dependencies import checked, merged
from karmada.interpreter.lua.pool import Pool, Script, ScriptError
from karmada.interpreter.lua.protocol import ErrorClass, Result
from karmada.interpreter.model import GroupVersionKind, JSONObject, NoRule, Operation, ReplicaNeeds, kind_of
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
        count, needs = await self._ask(resource, Operation.REPLICAS, Result.REPLICAS)
        return ReplicaNeeds(count, None if needs is None else _convert(_spelled(needs), ReplicaRequirements))

    async def components(self, resource: JSONObject) -> tuple[Component, ...]:
        parts = await self._ask(resource, Operation.COMPONENTS, Result.TABLE_OR_NIL)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict):
                _spelled(part.get("replicaRequirements"))
        return _convert(parts or [], tuple[Component, ...])

    async def revise(self, resource: JSONObject, replicas: int) -> JSONObject:
        return _resource(await self._ask(resource, Operation.REVISE, Result.TABLE, replicas, references=1))

    async def retain(self, desired: JSONObject, observed: JSONObject) -> JSONObject:
        return _resource(await self._ask(desired, Operation.RETAIN, Result.TABLE, observed, references=2))

    async def reflect(self, observed: JSONObject) -> JSONObject | None:
        status: JSONObject = await self._ask(observed, Operation.REFLECT, Result.TABLE)
        return status

    async def aggregate(self, template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
        statuses = [to_tree(item) for item in items]
        return _resource(await self._ask(template, Operation.AGGREGATE, Result.TABLE, statuses))

    async def healthy(self, observed: JSONObject) -> bool:
        is_healthy: bool = await self._ask(observed, Operation.HEALTH, Result.BOOLEAN)
        return is_healthy

    async def dependencies(self, resource: JSONObject) -> Sequence[DependentObjectReference]:
        answers = [
            checked(_convert(_named(found or []), tuple[DependentObjectReference, ...]))
            for script in self._scripts(resource, Operation.DEPENDENCIES)
            for found in [await self._run(script, Operation.DEPENDENCIES, Result.TABLE, [resource], 0)]
        ]
        return answers[0] if len(answers) == 1 else merged(answers)

    async def _ask(
        self, resource: JSONObject, operation: Operation, result: Result, *others: Any, references: int = 0
    ) -> Any:
        script = self._scripts(resource, operation)[0]
        return await self._run(script, operation, result, [resource, *others], references)

    async def _run(
        self, script: Script, operation: Operation, result: Result, arguments: list[Any], references: int
    ) -> Any:
        return await self.pool.call(script, FUNCTIONS[operation], arguments, references, result)

    def _scripts(self, resource: JSONObject, operation: Operation) -> Sequence[Script]:
        scripts = self.scripts.get((kind_of(resource), operation))
        if not scripts:
            raise NoRule(f"no script answers {operation} for {kind_of(resource).kind}")
        return scripts


def _convert(tree: Any, type_: type[T]) -> T:
    try:
        return from_tree(tree, type_)
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


def _named(dependencies: Any) -> Any:
    """What a dependency lacks is found out when dependencies are checked, with words that name the field."""
    if not isinstance(dependencies, list):
        return dependencies
    return [{"apiVersion": "", "kind": "", **entry} if isinstance(entry, dict) else entry for entry in dependencies]


def _resource(tree: Any) -> JSONObject:
    if not isinstance(tree, dict) or not tree.get("kind"):
        raise ScriptError(ErrorClass.CONVERT, "the script's answer is no resource: its kind is missing")
    return tree
