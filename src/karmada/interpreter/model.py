"""The questions one can ask about a resource, and the two shapes in which answers are kept.

`KindRules` is the knowledge about one kind as plain functions on trees: every native and bundled kind is one such
record. `Interpreter` is the facade callers use: it asks the levels in order (customised Lua, customised webhook,
bundled, native); the first level that has a rule answers, and its error is the answer too.

Trees given to rules belong to the rule (it may change and return them), except `observed` and status items.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem, Component, ReplicaRequirements

JSONObject = dict[str, Any]


class Operation(StrEnum):
    """The questions, by the names that webhook configurations use."""

    REPLICAS = "InterpretReplica"
    COMPONENTS = "InterpretComponent"
    REVISE = "ReviseReplica"
    RETAIN = "Retain"
    REFLECT = "InterpretStatus"
    AGGREGATE = "AggregateStatus"
    HEALTH = "InterpretHealth"
    DEPENDENCIES = "InterpretDependency"


class GroupVersionKind(NamedTuple):
    """A kind as objects name it."""

    group: str
    version: str
    kind: str


class ReplicaNeeds(NamedTuple):
    """How many replicas a resource wants and what one of them needs."""

    replicas: int
    requirements: ReplicaRequirements | None = None


class InterpretError(Exception):
    """A rule failed on this resource; the message says which rule and why."""

    source: str = ""
    """The customisation whose rule it is, as `Kind/name`; empty for rules that come with the product."""


class Unavailable(InterpretError):
    """A customisation that has a rule but cannot be asked; the level below answers in its place."""


class NoRule(InterpretError):
    """No level has a rule for this kind and operation; callers ask `enabled` first."""


@dataclass(frozen=True, slots=True)
class KindRules:
    """Everything known about one kind; None where the kind has no such rule."""

    replicas: Callable[[JSONObject], ReplicaNeeds] | None = None
    components: Callable[[JSONObject], tuple[Component, ...]] | None = None
    revise: Callable[[JSONObject, int], JSONObject] | None = None
    retain: Callable[[JSONObject, JSONObject], JSONObject] | None = None
    """(desired, observed) -> the object to send."""
    reflect: Callable[[JSONObject], JSONObject | None] | None = None
    aggregate: Callable[[JSONObject, Sequence[AggregatedStatusItem]], JSONObject] | None = None
    health: Callable[[JSONObject], bool] | None = None
    dependencies: Callable[[JSONObject], Sequence[DependentObjectReference]] | None = None


class Interpreter(Protocol):
    """The facade. Every call raises `InterpretError` when the rule that answers fails."""

    def enabled(self, kind: GroupVersionKind, operation: Operation) -> bool:
        """Whether any level has a rule."""
        ...

    async def replicas(self, resource: JSONObject) -> ReplicaNeeds:
        """Replicas wanted and what one needs."""
        ...

    async def components(self, resource: JSONObject) -> tuple[Component, ...]:
        """The parts of a workload with several pod templates."""
        ...

    async def revise(self, resource: JSONObject, replicas: int) -> JSONObject:
        """The resource with another number of replicas."""
        ...

    async def retain(self, desired: JSONObject, observed: JSONObject) -> JSONObject:
        """The desired object with what belongs to the member taken over from the observed one."""
        ...

    async def reflect(self, observed: JSONObject) -> JSONObject | None:
        """The part of a member object's status worth reporting; every kind has an answer."""
        ...

    async def aggregate(self, template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
        """The template with its status put together from the members'."""
        ...

    async def healthy(self, observed: JSONObject) -> bool:
        """Whether a member's object is healthy."""
        ...

    async def dependencies(self, resource: JSONObject) -> Sequence[DependentObjectReference]:
        """What the resource refers to and needs."""
        ...


def kind_of(resource: JSONObject) -> GroupVersionKind:
    """The kind of a tree."""
    return gvk(str(resource.get("apiVersion", "")), str(resource.get("kind", "")))


@lru_cache(maxsize=1024)
def gvk(api_version: str, kind: str) -> GroupVersionKind:
    """A kind by its two names on the wire."""
    group, _, version = api_version.rpartition("/")
    return GroupVersionKind(group, version, kind)
