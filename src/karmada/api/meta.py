"""The metadata, conditions, selectors and error objects that all Kubernetes kinds share."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import field, structs

from karmada.api.base import (
    NAME_PATTERN,
    REASON_PATTERN,
    AtomicStrings,
    Int32,
    Int64,
    OpenObject,
    Schema,
    Struct,
    Time,
    always,
)

LONGEST_MESSAGE = 32768
ANNOTATIONS_LIMIT = 256 * 1024
"""Bytes of all annotations of an object, keys included."""
"""Characters of a condition's message."""


class ConditionStatus(StrEnum):
    """The three answers a condition can give."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class OwnerReference(Struct, frozen=True, kw_only=True):
    """The object that owns this one; when all owners are gone the garbage collector removes it."""

    api_version: str
    """API version of the owner."""
    kind: str
    """Kind of the owner."""
    name: str
    """Name of the owner."""
    uid: str
    """UID of the owner."""
    controller: bool | None = None
    """Whether the owner is the controller that manages this object."""
    block_owner_deletion: bool | None = None
    """Whether foreground deletion of the owner waits for this object."""


class ObjectMeta(Struct, frozen=True, kw_only=True):
    """Identity and bookkeeping of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    managed_fields: tuple[OpenObject, ...] = ()
    self_link: str = ""


class ListMeta(Struct, frozen=True, kw_only=True):
    """Bookkeeping of a list answer."""

    resource_version: str = ""
    continue_: str = field(default="", name="continue")
    remaining_item_count: int | None = None


class Condition(Struct, frozen=True, kw_only=True):
    """One observed aspect of an object's state."""

    type: Annotated[str, Schema(max_length=316, pattern=NAME_PATTERN)]
    """Which aspect this is, in CamelCase."""
    status: Annotated[str, Schema(enum=ConditionStatus)]
    """Whether the aspect holds: True, False or Unknown."""
    last_transition_time: Time = always("")
    """When the status last changed."""
    reason: Annotated[str, Schema(min_length=1, max_length=1024, pattern=REASON_PATTERN)] = always("")
    """Why the status is what it is, as one CamelCase word for programs."""
    message: Annotated[str, Schema(max_length=LONGEST_MESSAGE)] = always("")
    """The same for people."""
    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation of the object that was looked at."""


def find_condition(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """The condition of a type."""
    for condition in conditions:
        if condition.type == type_:
            return condition
    return None


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    """Whether there is the condition of a type, and it is True."""
    found = find_condition(conditions, type_)
    return found is not None and found.status == "True"


def set_condition(existing: tuple[Condition, ...], new: Condition) -> tuple[Condition, ...]:
    """The conditions with one of them as given, in the place it had.

    Its transition time moves only when its status does. Servers refuse messages that are too long: better half of one.
    """
    if len(new.message) > LONGEST_MESSAGE:
        new = structs.replace(new, message=new.message[: LONGEST_MESSAGE - 3] + "...")
    changed = []
    found = False
    for condition in existing:
        if condition.type == new.type:
            found = True
            if condition.status == new.status:
                new = structs.replace(new, last_transition_time=condition.last_transition_time)
            condition = new
        changed.append(condition)
    return tuple(changed) if found else (*existing, new)


class LabelSelectorRequirement(Struct, frozen=True, kw_only=True):
    """One test of a label."""

    key: str
    """The label to look at."""
    operator: str
    """How to compare: In, NotIn, Exists or DoesNotExist."""
    values: AtomicStrings = ()
    """The values to compare with; empty for Exists and DoesNotExist."""


class LabelSelector(Struct, frozen=True, kw_only=True):
    """Chooses objects by their labels. All parts must hold; an empty selector chooses everything."""

    SCHEMA: ClassVar[Schema] = Schema(map_type="atomic")

    match_labels: dict[str, str] = field(default_factory=dict)
    """Labels that must be present with exactly these values."""
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], Schema(list_type="atomic")] = ()
    """Tests that must all hold."""


class Toleration(Struct, frozen=True, kw_only=True):
    """A taint that is put up with."""

    key: str = ""
    """Key of the taint; empty together with operator Exists tolerates every key."""
    operator: str = ""
    """Exists, or Equal (the default)."""
    value: str = ""
    """Value of the taint for Equal."""
    effect: str = ""
    """Effect of the taint; empty tolerates every effect."""
    toleration_seconds: Int64 | None = None
    """How long a NoExecute taint is tolerated; forever if absent."""


class StatusCause(Struct, frozen=True, kw_only=True):
    """One of the reasons a request failed."""

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(Struct, frozen=True, kw_only=True):
    """What a failed request was about."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: Int32 = 0


class Status(Struct, frozen=True, kw_only=True):
    """The answer to a request that returns no object, and to every request that fails."""

    api_version: str = always("v1")
    kind: str = always("Status")
    metadata: ListMeta = always(ListMeta())
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: Int32 = 0
