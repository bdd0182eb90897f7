"""A served resource: its type together with everything derived from it once, and its encoded form.

Encoded form of every stored object: `{"apiVersion":…,"kind":…,"metadata":{"resourceVersion":"` | `",…},…}`. The cut
lets the store put the revision in without a search, lists of built-ins drop apiVersion and kind by their constant
length, and no reader ever parses an object to find its version.
"""

from sys import intern
from typing import Any, Protocol

import msgspec
import orjson

from karmada.apiserver import selectable
from karmada.apiserver.resources import JSONObject, ResourceType
from karmada.apiserver.storage.base import Value
from karmada.apiserver.watchcache import Index, Selected


class Converter(Protocol):
    """Converts objects between the versions of one resource."""

    async def convert(self, objects: list[JSONObject], version: str) -> list[JSONObject]:
        """The objects in another served version; the given trees may be changed."""
        ...


class Relabel:
    """Versions that differ in name only: the conversion strategy None of CRDs."""

    def __init__(self, group: str) -> None:
        self._group = group

    async def convert(self, objects: list[JSONObject], version: str) -> list[JSONObject]:
        """Change apiVersion and nothing else."""
        api_version = f"{self._group}/{version}" if self._group else version
        return [{**obj, "apiVersion": api_version} for obj in objects]


class Served:
    """One served version of one resource, ready for requests."""

    __slots__ = (
        "_positions",
        "_read",
        "api_version",
        "bare",
        "converter",
        "head",
        "is_storage_version",
        "key",
        "kind",
        "list_kind",
        "routed",
        "since",
        "type",
    )

    def __init__(self, type_: ResourceType, converter: Converter | None = None, since: int = 0) -> None:
        """`since` is the revision from which on all writes conformed to this very schema."""
        self.type = type_
        self.since = since
        self.routed: set[tuple[str, str, str, bool, bool]] = set()
        """Forms of requests that were found to mean something: methods, verbs and subresources are few."""
        self.api_version = type_.api_version
        self.kind = type_.kind
        self.list_kind = type_.list_kind or type_.kind + "List"
        self.key = type_.stored_as
        self.converter: Converter = converter or Relabel(type_.group)
        own_group = type_.stored_in in (None, type_.group)
        self.is_storage_version = own_group and type_.storage_version in ("", type_.version)
        prefix = b'{"apiVersion":%b,"kind":%b,' % (orjson.dumps(self.api_version), orjson.dumps(self.kind))
        self.bare = len(prefix)
        self.head = prefix + b'"metadata":{"resourceVersion":"'
        selectable_fields = type_.strategy.selectable
        self._positions = {name: position for position, name in enumerate(selectable_fields)}
        self._read = selectable.together(selectable_fields.values()) if selectable_fields else None

    def encode(self, obj: JSONObject) -> Value:
        """Encode an object of this version for the store; its resourceVersion is left out."""
        metadata = dict(obj["metadata"])
        metadata.pop("resourceVersion", None)
        rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
        tail = b'",' + orjson.dumps(metadata)[1:]
        return Value(self.head, tail + b"," + orjson.dumps(rest)[1:] if rest else tail + b"}")

    @property
    def selects(self) -> bool:
        """Whether clients select objects by more than their names and labels."""
        return self._read is not None

    def index(self, obj: JSONObject) -> Index:
        """What the store indexes of an object."""
        metadata = obj["metadata"]
        owners = metadata.get("ownerReferences")
        read = self._read
        return Index(
            metadata.get("uid", ""),
            metadata.get("labels") or _NONE,
            tuple([owner["uid"] for owner in owners]) if owners else (),
            Selected(self._positions, read(obj)) if read is not None else _NONE,
        )


_NONE: dict[str, str] = {}


class _Owner(msgspec.Struct, frozen=True, gc=False):
    uid: str


class _Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    uid: str = ""
    labels: dict[str, str] | None = None
    owner_references: tuple[_Owner, ...] | None = None


class _Object(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


_object = msgspec.json.Decoder(_Object)


def metadata_index(body: bytes) -> Index:
    """The index of an encoded object by its metadata alone: at a start there are hundreds of thousands of them."""
    metadata = _object.decode(body).metadata
    labels = {intern(key): value for key, value in metadata.labels.items()} if metadata.labels else _NONE
    return Index(metadata.uid, labels, tuple([one.uid for one in metadata.owner_references or ()]), _NONE)


def dig(obj: JSONObject, path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    return selectable.dig(obj, path.lstrip(".").split("."))
