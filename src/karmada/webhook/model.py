"""What an admission function gets, and how it refuses.

A handler is for one resource. `mutate` changes `review.object` in place; `validate` judges the final object. Both are
pure but for what `review.lookup` finds and the identifiers `review.new_id` makes; they refuse by raising `Denied`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar

from karmada.api import annotations
from karmada.api.base import Struct
from karmada.api.codec import DecodeError, from_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.field_errors import FieldError, aggregate
from karmada.api.ranges import out_of_range

JSONObject = dict[str, Any]
T = TypeVar("T", bound=Struct)


class Operation(StrEnum):
    """What is being done to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


class Denied(Exception):
    """The request is refused; `message` is for the user."""

    def __init__(self, message: str, code: int = 403, reason: str = "Forbidden") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason


class Lookup(Protocol):
    """What judging some kinds needs to know about others."""

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[JSONObject]:
        """All objects of a kind, of one namespace where one is given."""
        ...

    async def replace_status(self, api_version: str, kind: str, tree: JSONObject, dry_run: bool) -> None:
        """Write the status of an object that was read; raises a conflict when it changed meanwhile."""
        ...

    async def labels_of(self, namespace: str) -> Mapping[str, str]:
        """The labels of a namespace; none of one that is not there."""
        ...


class Inventory(Protocol):
    """What exists: for advice about names that lead nowhere."""

    async def has_cluster(self, name: str) -> bool:
        """Whether there is a cluster of a name."""
        ...

    async def serves(self, api_version: str, kind: str) -> bool:
        """Whether the control plane has a kind."""
        ...


@dataclass(slots=True)
class Review:
    """One object on its way in, out, or to another state. `old` must not be changed."""

    operation: Operation
    namespace: str
    name: str
    object: JSONObject
    old: JSONObject | None
    new_id: Callable[[], str]
    now: Callable[[], float]
    gates: FeatureGates
    lookup: Lookup
    dry_run: bool = False
    allow_no_execute: bool = False
    """`--allow-no-execute-taint-policy`."""
    warnings: list[str] = field(default_factory=list)
    inventory: Inventory | None = None
    """None where nobody can say what exists."""

    @property
    def keeps_lists(self) -> bool:
        """Whether client-side apply compares the lists of the object with those it sent.

        It replaces a list that differs as a whole, so a default written into one looks like a change for ever. Such
        objects keep their lists as sent; whoever reads a policy (`policies.matching.fit`, `policies.legacy_fields`)
        applies the same defaults.
        """
        return annotations.LAST_APPLIED_CONFIGURATION in ((self.object.get("metadata") or {}).get("annotations") or {})


Mutate = Callable[[Review], None]
Validate = Callable[[Review], Awaitable[None]]


class Handler(NamedTuple):
    """The admission of one resource, as webhook configurations name it."""

    name: str
    """Name of the webhook: prefixes its refusals."""
    group: str
    version: str
    resource: str
    mutate: Mutate | None = None
    mutate_on: frozenset[Operation] = frozenset({Operation.CREATE, Operation.UPDATE})
    validate: Validate | None = None
    validate_on: frozenset[Operation] = frozenset({Operation.CREATE, Operation.UPDATE})

    @property
    def mutate_path(self) -> str:
        """Where a webhook server completes objects."""
        return f"/mutate-{self._word}"

    @property
    def validate_path(self) -> str:
        """Where a webhook server judges objects."""
        return f"/validate-{self._word}"

    @property
    def _word(self) -> str:
        word = self.name.removesuffix(".karmada.io")
        return "resourceinterpreterwebhookconfiguration" if word == "config" else word


def items(holder: JSONObject, key: str) -> list[JSONObject]:
    """The objects in a list that a mutation changes in place; null among them is an empty object, as to Go."""
    found: list[JSONObject] = [{} if entry is None else entry for entry in holder.get(key) or []]
    if found:
        holder[key] = found
    return found


def refuse_if_any(errors: list[FieldError]) -> None:
    """Raise `Denied` with all field errors in one message."""
    if errors:
        raise Denied(aggregate(errors))


def decoded(tree: JSONObject, kind: type[T]) -> T:
    """The object as a type, absent fields as zero values; one that has another shape is refused."""
    try:
        found = from_tree(tree, kind, complete=True)
    except DecodeError as error:
        raise Denied(str(error), code=400, reason="") from error
    if place := out_of_range(tree, kind):
        raise Denied(f"{place}: the number does not fit the field", code=400, reason="")
    return found


def stored(tree: JSONObject, kind: type[T]) -> T:
    """An object as it is stored, as a type: what is judged of new ones was judged of it."""
    try:
        return from_tree(tree, kind, complete=True)
    except DecodeError as error:
        raise Denied(str(error), code=400, reason="") from error
