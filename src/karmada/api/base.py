"""What every API type is made of: the frozen base struct, wire aliases, and the facts only a CRD needs.

Contract:

* A struct decodes what the reference's Go types decode: strings that have a vocabulary stay open (an unknown word is
  data, not an error), absent stays absent. Limits, enums and defaults live in `Schema` marks, which msgspec ignores and
  the CRD generator reads; the API server enforces them, readers do not.
* A field without a Python default is required on the wire and is always written. One with `always(...)` is required
  and written too, but readers accept its absence. Any other is omitted when it holds its default, as by `omitempty`.
* Lists are tuples: decoded objects are shared between readers and never changed in place.
"""

from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")


class Struct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Base of all API types. No reference cycle can be built from a JSON tree, so no instance is tracked."""


class Schema(NamedTuple):
    """What a CRD says about a field or a struct beyond its type. Names follow OpenAPI and `x-kubernetes-*`."""

    format: str | None = None
    default: Any = None
    enum: type[StrEnum] | None = None
    pattern: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    list_type: str | None = None
    list_map_keys: tuple[str, ...] = ()
    map_type: str | None = None
    open_object: bool = False
    """The value is an arbitrary object whose fields are kept as they are."""
    open_value: bool = False
    """The value is arbitrary JSON of any type."""
    rules: tuple[tuple[str, str], ...] = ()
    """CEL validations as (rule, message)."""


def always(value: T) -> T:
    """A default for a field that is required on the wire, and therefore written even when nothing changed it."""
    default: T = msgspec.field(default_factory=lambda: value)
    return default


NAME_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
REASON_PATTERN = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

Int32 = Annotated[int, Schema(format="int32")]
Int64 = Annotated[int, Schema(format="int64")]

Time = Annotated[str, Schema(format="date-time")]
"""A moment as RFC 3339 text with second precision, in UTC."""

Base64 = Annotated[str, Schema(format="byte")]

IntOrString = int | str
"""A number or a text, such as a port given by number or name."""

Quantity = Annotated[int | str, Schema(pattern=QUANTITY_PATTERN)]
"""An amount of a resource as written by the user (`karmada.api.quantity` computes with it)."""

ResourceList = dict[str, Quantity]
"""Amounts by resource name (`cpu`, `memory`, `nvidia.com/gpu`)."""

OpenObject = Annotated[msgspec.Raw, Schema(open_object=True)]
"""An object of any kind, kept as the bytes it came in (`karmada.api.codec.tree` parses it)."""

OpenValue = Annotated[msgspec.Raw, Schema(open_value=True)]
"""Any JSON value, kept as the bytes it came in."""

ABSENT = msgspec.Raw()
"""The value of an open field that is not there."""

AtomicStrings = Annotated[tuple[str, ...], Schema(list_type="atomic")]
"""A list of strings that server-side apply replaces as a whole."""
