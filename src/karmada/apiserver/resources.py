"""What the server serves: resource types, their names, scope, verbs, schema and the rules of their lifecycle.

A `ResourceType` is one served version of one resource; its objects are stored once under (group, plural) in
the storage version. Built-ins are declared in `apiserver.builtin`, custom ones come from CRDs, aggregated ones
from in-process handlers. The `Strategy` holds what clients notice beyond the schema: defaulting, validation,
immutability, what an update through each subresource may change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from karmada.api.field_errors import FieldError as FieldError
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.selectable import Reader

JSONObject = dict[str, Any]


def same_but(new: JSONObject, old: JSONObject, apart: tuple[str, ...]) -> bool:
    """Whether two objects have the same members, apart from some; null counts as absent."""
    for key, value in new.items():
        if old.get(key) != value and key not in apart:
            return False
    return old.keys() <= new.keys() or all(key in new or key in apart or old[key] is None for key in old)


def _same(obj: JSONObject) -> None:
    return None


def _valid(obj: JSONObject, old: JSONObject | None) -> list[FieldError]:
    return []


def _keep(obj: JSONObject, old: JSONObject) -> None:
    return None


def _no_warnings(obj: JSONObject, old: JSONObject | None) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Strategy:
    """Rules of a kind beyond its schema. Functions change the given tree in place; `old` is never changed."""

    default: Callable[[JSONObject], None] = _same
    """Fill in what Kubernetes fills in after decoding."""
    prepare_create: Callable[[JSONObject], None] = _same
    """Server-owned fields of a new object (e.g. clear status)."""
    prepare_update: Callable[[JSONObject, JSONObject], None] = _keep
    """What an update may not change silently is taken over from `old`."""
    prepare_status: Callable[[JSONObject, JSONObject], None] = _keep
    """The same for the status subresource."""
    validate: Callable[[JSONObject, JSONObject | None], list[FieldError]] = _valid
    """Validation incl. immutability; `old` is None on create."""
    validate_status: Callable[[JSONObject, JSONObject | None], list[FieldError]] = _valid
    generation: bool = True
    """metadata.generation counts changes of anything but metadata and status."""
    graceful_seconds: Callable[[JSONObject], int] | None = None
    """Default grace period of deletions; None for immediate ones."""
    unconditional_update: bool = True
    """Whether an update without resourceVersion is allowed."""
    create_on_update: bool = False
    """Whether PUT creates an absent object."""
    create_by_status: bool = False
    """Whether a configuration applied to the status creates an absent object."""
    warnings: Callable[[JSONObject, JSONObject | None], list[str]] = _no_warnings
    """Warnings about an object that is valid, on create and update."""
    selectable: Mapping[str, Reader] = field(default_factory=dict)
    """Fields usable in field selectors besides metadata.name and metadata.namespace, read from what is stored."""
    selected_as: Mapping[str, str] = field(default_factory=dict)
    """Further names for fields that the storage version has selectable."""


class Subresource(NamedTuple):
    """A subresource as discovery shows it; verbs by their wire names."""

    name: str
    verbs: tuple[str, ...]
    kind: str
    group: str = ""
    version: str = ""


class Column(NamedTuple):
    """A table column; `priority` above 0 shows in wide output only. `path` is a JSONPath for custom columns."""

    name: str
    type: str
    format: str = ""
    description: str = ""
    priority: int = 0
    path: str = ""


class ScalePaths(NamedTuple):
    """Dotted paths of a custom kind's scale subresource, with a leading dot; `selector` may be empty."""

    spec: str
    status: str
    selector: str = ""


ANY = "*"
"""As a plural: whatever resource of the group version no other type names."""
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, eq=False)
class ResourceType:
    """One served version of one resource."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    schema: Schema
    singular: str = ""
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    strategy: Strategy = field(default_factory=Strategy)
    columns: tuple[Column, ...] = ()
    row: Callable[[JSONObject, float], list[Any]] | None = None
    """Cells of an object at a time, one per column, where paths do not say enough."""
    storage_version: str = ""
    """Version in which objects are stored; the served version when empty."""
    custom: bool = False
    """Defined by a CRD: structural schema, pruning, no strategic merge patch."""
    has_status: bool = True
    """Whether the status is changed only through the status subresource."""
    stored_in: str | None = None
    """Group whose objects these are, where it is another one: events.k8s.io events are core events."""
    scale: ScalePaths | None = None
    """Where the scale subresource of a custom kind finds its values."""
    deprecation: str = ""
    """Warning that every answer of a deprecated version carries."""
    open: bool = False
    """Not stored, with any subresource and in any scope: the handler of `(group, plural, "")` answers every path."""
    described: Callable[[], JSONObject] | None = None
    """The schema with the texts of its fields, where no stored CRD has it."""
    stored_as: tuple[str, str] = field(init=False)
    """Where objects live in the store: one place for all served versions."""

    def __post_init__(self) -> None:
        place = (self.group if self.stored_in is None else self.stored_in, self.plural)
        object.__setattr__(self, "stored_as", place)

    @property
    def api_version(self) -> str:
        """As objects spell it: `v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version
