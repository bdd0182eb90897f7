"""Topics `native`, `thirdparty` and `lua`, the folders of `interpreter`: what each level of the interpreter answers.

The reference converts a resource to the Go type of its kind and back when it aggregates a status or retains a pod. That
adds empty objects and respells quantities; we leave what we do not change alone. Both are the same resource to
Kubernetes, so native objects are compared without empty parts and with quantities in their canonical spelling.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

import orjson

from karmada.api import feature_gates
from karmada.api.codec import from_tree, to_tree
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter import native
from karmada.interpreter.dependencies import InvalidDependency
from karmada.interpreter.facade import LayeredInterpreter, native_interpreter, wall_clock
from karmada.interpreter.lua.level import LuaLevel
from karmada.interpreter.lua.pool import Pool, Script, ScriptError
from karmada.interpreter.model import InterpretError, Operation, ReplicaNeeds, kind_of
from karmada.interpreter.rules_level import RulesLevel
from karmada.interpreter.thirdparty import bundled_rules
from karmada.interpreter.types import known
from karmada.testing.golden import known as wanted
from karmada.testing.golden.bare import AMOUNTS, bare, without_empty
from karmada.testing.golden.case import Case, Excuse, Failed, Record, Topic, read_case
from karmada.testing.golden.case import Operation as Run
from karmada.testing.golden.compare import first_difference
from karmada.testing.golden.topics.left_open import LEFT_OPEN
from karmada.works.prune import prune

T = TypeVar("T")
Outcome = dict[str, Any]
Ask = Callable[[LayeredInterpreter, Outcome], Awaitable[Outcome]]


async def _replicas(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    needs: ReplicaNeeds = await interpreter.replicas(given["object"])
    requirements = to_tree(needs.requirements) if needs.requirements else None
    return {"replicas": needs.replicas, "requirements": requirements}


async def _components(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    return {"components": [to_tree(part) for part in await interpreter.components(given["object"])]}


async def _revise(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    return {"object": await interpreter.revise(given["object"], given["replica"])}


async def _retain(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    return {"object": await interpreter.retain(given["desired"], given["observed"])}


async def _aggregate(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    return {"object": await interpreter.aggregate(given["object"], _items(given))}


async def _reflect(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    return {"status": await interpreter.reflect(given.get("object") or given["observed"])}


async def _health(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    return {"healthy": await interpreter.healthy(given["object"])}


async def _dependencies(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    return {"dependencies": _sorted(await interpreter.dependencies(given["object"]))}


async def _enabled(interpreter: LayeredInterpreter, given: Outcome) -> Outcome:
    return {"enabled": interpreter.enabled(kind_of(given["object"]), Operation(given["operation"]))}


ASK: dict[str, Ask] = {
    "GetReplicas": _replicas,
    "GetComponents": _components,
    "ReviseReplica": _revise,
    "Retain": _retain,
    "AggregateStatus": _aggregate,
    "ReflectStatus": _reflect,
    "InterpretHealth": _health,
    "GetDependencies": _dependencies,
    "HookEnabled": _enabled,
}


def _items(given: Outcome) -> list[AggregatedStatusItem]:
    return [from_tree({"clusterName": "", **item}, AggregatedStatusItem) for item in given.get("statusItems") or ()]


def _sorted(dependencies: Sequence[DependentObjectReference]) -> list[Outcome]:
    return distinct([to_tree(dependency) for dependency in dependencies])


def distinct(dependencies: Sequence[Outcome]) -> list[Outcome]:
    """Dependencies as a set; the reference repeats those with a selector, which it compares by their addresses."""
    by_text = {orjson.dumps(tree, option=orjson.OPT_SORT_KEYS): tree for tree in dependencies}
    return [by_text[text] for text in sorted(by_text)]


def _distinct(outcome: Any) -> Any:
    found = outcome.get("dependencies")
    return outcome if found is None else {**outcome, "dependencies": distinct(found)}


def run(ask: Coroutine[Any, Any, T]) -> T:
    """Run a call that never waits."""
    return asyncio.run(ask)


def _native(ask: Ask) -> Run:
    def operation(given: Outcome) -> Outcome:
        gates = feature_gates.DEFAULTS.with_overrides(given.get("featureGates") or {})

        async def call() -> Outcome:
            return await ask(native_interpreter(gates), given)

        try:
            return run(call())
        except InterpretError as error:
            raise Failed(str(error)) from error

    return operation


def _bundled(name: str, ask: Ask) -> Run:
    level = RulesLevel("bundled", bundled_rules(wall_clock))

    def operation(given: Outcome) -> Outcome:
        resource = given.get("object") or given.get("desired") or given["observed"]
        wanted = Operation(given["operation"]) if name == "HookEnabled" else _OPERATIONS[name]
        enabled = level.enabled(kind_of(resource), wanted)
        if name == "HookEnabled" or not enabled:
            return {"enabled": enabled}

        async def call() -> Outcome:
            return await ask(LayeredInterpreter(level), given)

        try:
            outcome = run(call())
        except InterpretError as error:
            raise Failed(str(error)) from error
        if name == "GetComponents":
            outcome["components"].sort(key=lambda part: str(part["name"]))
        return {"status": outcome["object"].get("status")} if name == "AggregateStatus" else outcome

    return operation


_OPERATIONS = {
    "GetReplicas": Operation.REPLICAS,
    "GetComponents": Operation.COMPONENTS,
    "ReviseReplica": Operation.REVISE,
    "Retain": Operation.RETAIN,
    "AggregateStatus": Operation.AGGREGATE,
    "ReflectStatus": Operation.REFLECT,
    "InterpretHealth": Operation.HEALTH,
    "GetDependencies": Operation.DEPENDENCIES,
}


def _read_bundled(record: Record) -> Case:
    """Of an aggregation only the status is used; the reference's rules leave out or fill in other parts at will."""
    case = read_case(record)
    if case.operation != "thirdparty.AggregateStatus" or "object" not in record["expect"]:
        return case
    return replace(case, alternatives=({"status": record["expect"]["object"].get("status")},))


def _compare_bundled(expected: Any, actual: Any) -> str | None:
    """Texts of errors come from the Lua engine; empty tables have no shape there and vanish."""
    if "error" in expected and "error" in actual:
        return None
    return first_difference(without_empty(_rounded(_distinct(expected))), without_empty(_rounded(_distinct(actual))))


def _prune(given: Outcome) -> Outcome:
    prune(given["object"])
    return {"object": given["object"]}


def _compare_native(expected: Any, actual: Any) -> str | None:
    """Errors that name what is missing are texts of the interpreter; those of conversions come from Go libraries."""
    if "error" in expected and "error" in actual:
        return first_difference(expected, actual) if expected["error"].endswith("not found") else None
    return first_difference(bare(_distinct(expected)), bare(_distinct(actual)))


_CONVERTED = ("native.AggregateStatus", "native.Retain")
"""Operations of the reference that read a resource into its Go type and write it again."""


def _read_native(record: Record) -> Case:
    case = read_case(record)
    if case.operation not in _CONVERTED or "object" not in record["expect"]:
        return case
    return replace(case, alternatives=(_converted(record["expect"]),))


def _convert(run_it: Run) -> Run:
    return lambda given: _converted(run_it(given))


def _converted(outcome: Outcome) -> Outcome:
    """What a Go type keeps of an object: the fields it has, and of those that may be absent no zeros."""
    found = outcome["object"]
    type_ = native.TYPES.get(kind_of(found))
    return {"object": _without_zeros(known(found, type_))} if type_ else outcome


def _without_zeros(value: Any) -> Any:
    match value:
        case dict():
            parts = {key: _without_zeros(_filled(part) if key in AMOUNTS else part) for key, part in value.items()}
            return {key: part for key, part in parts.items() if not _is_zero(key, part)}
        case list():
            return [part for entry in value if not _is_zero("", part := _without_zeros(entry))]
    return value


def _filled(amounts: Any) -> Any:
    """An amount that is null is one of zero."""
    if not isinstance(amounts, dict):
        return amounts
    return {name: "0" if amount is None else amount for name, amount in amounts.items()}


def _is_zero(key: str, part: Any) -> bool:
    return part in ("", 0, None, {}, []) or (key in ("divisor", "storage") and part == "0")


def _lacks_class(case: Case) -> bool:
    if case.operation != "native.Retain" or case.input["desired"].get("kind") != "PersistentVolumeClaim":
        return False
    desired, observed = (case.input[side].get("spec") or {} for side in ("desired", "observed"))
    if not isinstance(desired, dict) or not isinstance(observed, dict):
        return False
    return desired.get("storageClassName") is None and isinstance(observed.get("storageClassName"), str)


def _has_adjacent_tokens(case: Case) -> bool:
    if case.operation != "native.Prune" or case.input["object"].get("kind") != "ServiceAccount":
        return False
    account = case.input["object"]
    token = f"{account['metadata'].get('name', '')}-token-"
    generated = [str(secret.get("name", "")).startswith(token) for secret in account.get("secrets") or ()]
    return any(one and other for one, other in pairwise(generated))


def _selects_nothing(case: Case) -> bool:
    """A pod with a selector that is there and empty, as no API server keeps it."""
    if case.operation != "native.GetReplicas":
        return False
    spec = case.input["object"].get("spec")
    if isinstance(spec, dict) and spec.get("nodeSelector") == {}:
        return bool(case.input["object"].get("kind") == "Pod")
    template = spec.get("template") if isinstance(spec, dict) else None
    pod = template.get("spec") if isinstance(template, dict) else None
    return isinstance(pod, dict) and pod.get("nodeSelector") == {}


def _operations(name: str, wrap: Callable[[Ask], Run]) -> dict[str, Run]:
    return {f"{name}.{operation}": wrap(ask) for operation, ask in ASK.items()}


NATIVE = Topic(
    "native",
    {
        name: _convert(operation) if name in _CONVERTED else operation
        for name, operation in {**_operations("native", _native), "native.Prune": _prune}.items()
    },
    excuses=[
        Excuse("of two generated tokens in a row the reference leaves the second", _has_adjacent_tokens),
        Excuse("the reference takes away the class that the member gave to a claim", _lacks_class),
        *wanted.NATIVE,
        Excuse("an empty nodeSelector asks for nothing", _selects_nothing, "$.requirements"),
    ],
    read=_read_native,
    compare=_compare_native,
)
THIRDPARTY = Topic(
    "thirdparty",
    {f"thirdparty.{name}": _bundled(name, ask) for name, ask in ASK.items()},
    excuses=LEFT_OPEN,
    read=_read_bundled,
    compare=_compare_bundled,
)


def _scripted(name: str, ask: Ask) -> Run:
    def operation(given: Outcome) -> Outcome:
        texts = given["scripts"] if "scripts" in given else [given["script"]]
        resource = given.get("object") or given.get("desired") or given["observed"]
        kind = (kind_of(resource), _OPERATIONS[name])

        async def call() -> Outcome:
            pool = _pools.setdefault("shared", Pool())
            return await ask(LayeredInterpreter(LuaLevel(pool, {kind: [Script.of(text) for text in texts]})), given)

        try:
            outcome = _runner.run(call())
        except ScriptError as error:
            return {"error": str(error), "errorClass": error.error_class.value}
        except InvalidDependency as error:
            return {"error": str(error), "errorClass": "invalid-dependency"}
        return {"status": outcome["object"].get("status")} if name == "AggregateStatus" else outcome

    return operation


_runner = asyncio.Runner()
_pools: dict[str, Pool] = {}
"""Started with the first case; the workers end with this process."""


def _read_scripted(record: Record) -> Case:
    """As for bundled kinds, only the status of an aggregation is looked at."""
    case = read_case(record)
    if case.operation != "lua.AggregateStatus" or "object" not in record["expect"]:
        return case
    return replace(case, alternatives=({"status": record["expect"]["object"].get("status")},))


def _compare_scripted(expected: Any, actual: Any) -> str | None:
    """Of failures the class counts.

    The reference rounds every large number and drops nulls from lists, we only what a script reads; and which of JSON's
    two empty values a table becomes is open where the arguments have both.
    """
    if "error" in expected and "error" in actual:
        return first_difference(expected["errorClass"], actual["errorClass"])
    found = first_difference(_rounded(_distinct(expected)), _rounded(_distinct(actual)))
    if found and b"null" in orjson.dumps(actual):
        # The reference drops nulls, and then some of what they were in; we pass on what a script does not change.
        return first_difference(*(without_empty(_rounded(_distinct(one))) for one in (expected, actual)))
    return found


def _rounded(value: Any) -> Any:
    match value:
        case dict() if value:
            return {key: _rounded(part) for key, part in value.items() if not _is_null(part)}
        case dict():
            return []
        case list():
            return [_rounded(entry) for entry in value if not _is_null(entry)]
        case int() if abs(value) > 2**53:
            return float(value)
    return value


def _is_null(value: Any) -> bool:
    """Null, or an object that holds nothing else."""
    return value is None or (isinstance(value, dict) and value != {} and all(map(_is_null, value.values())))


LUA = Topic(
    "lua",
    {f"lua.{name}": _scripted(name, ask) for name, ask in ASK.items()},
    excuses=wanted.LUA,
    read=_read_scripted,
    compare=_compare_scripted,
)
