"""How objects of a kind look in Python: a frozen struct, a tree of dicts, or the bytes themselves.

A codec says how to read and write one of these forms and where its identity is. `shareable` says whether
caches may keep a decoded value and hand it to several readers: structs are frozen, trees are not.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar, get_args
from weakref import ReferenceType

import msgspec
import orjson

from karmada.api import codec
from karmada.machinery.errors import BadAnswer
from karmada.machinery.limits import MESSAGE, printable
from karmada.machinery.transport import JSONObject

T = TypeVar("T")
R = TypeVar("R")
DEPTH = 254
"""Levels of maps and lists that can be written again; objects of Kubernetes have about 20."""


class Identity(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Which object, and which state of it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: Identity = Identity()


_head = msgspec.json.Decoder(_Head)


def identity(body: bytes) -> Identity:
    """The identity of an encoded object; the rest is skipped, not decoded. Raises `BadAnswer` for what has none."""
    try:
        return _head.decode(body).metadata
    except (ValueError, RecursionError) as error:
        raise unreadable(error) from error


def unreadable(error: Exception) -> BadAnswer:
    """What is said of an answer that has not the shape of an object."""
    return BadAnswer(printable(f"the server's answer cannot be read: {error}", MESSAGE))


def reading(decode: Callable[[bytes], R], body: bytes) -> R:
    """Decode what a server sent; whatever is wrong with it is a `BadAnswer`."""
    try:
        return decode(body)
    except (ValueError, RecursionError, OverflowError) as error:
        raise unreadable(error) from error


class _ObjectMeta(Identity, frozen=True, gc=False, rename="camel"):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[dict[str, Any]] | None = None


class _Object(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    api_version: str
    kind: str
    metadata: _ObjectMeta


_object = msgspec.json.Decoder(_Object)


def untrusted_tree(body: bytes) -> JSONObject:
    """An object that a member sent, as a tree: it has a kind, metadata of the usual shape, and can be written again."""
    reading(_object.decode, body)
    return writable_tree(body)


def writable_tree(body: bytes, within: int = 0) -> JSONObject:
    """What a server sent as a tree that can be written again, also inside of so many levels of others."""
    tree = reading(_tree, body)
    if body.count(b"{") + body.count(b"[") > DEPTH - within:
        wrapped: Any = tree
        for _ in range(within):
            wrapped = [wrapped]
        try:
            orjson.dumps(wrapped)
        except TypeError as error:
            raise unreadable(error) from error
    return tree


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """One Python form of objects."""

    decode: Callable[[bytes], T]
    encode: Callable[[T], bytes]
    identity: Callable[[T], Identity]
    shareable: bool
    """Whether a decoded value may be kept and given to several readers."""
    digest: bool = False
    """Whether caches keep the decoded value in place of the encoded object."""
    same_but_status: Callable[[T, T], bool] | None = None
    """Whether two states of one object differ in nothing but status and bookkeeping; None where nobody can say."""
    kept: deque[ReferenceType[Any]] = field(default_factory=deque, compare=False)
    """The items of caches that keep their decoded value. Weak: one that was replaced or deleted goes at once."""


def _tree_identity(tree: JSONObject) -> Identity:
    metadata: dict[str, Any] = tree.get("metadata") or {}
    return Identity(
        name=metadata.get("name") or "",
        namespace=metadata.get("namespace") or "",
        uid=metadata.get("uid") or "",
        resource_version=metadata.get("resourceVersion") or "",
    )


def _same(body: bytes) -> bytes:
    return body


def _tree(body: bytes) -> JSONObject:
    tree = orjson.loads(body)
    if not isinstance(tree, dict):
        raise ValueError("it is no object")
    return tree


TREE: Codec[JSONObject] = Codec(_tree, orjson.dumps, _tree_identity, shareable=False)
"""Trees of dicts and lists, parsed anew for every reader."""

BYTES: Codec[bytes] = Codec(_same, _same, identity, shareable=True)
"""Encoded objects as they are."""


def digests(make: Callable[[bytes], T]) -> Codec[T]:
    """The codec of values that stand for objects in caches: made once for each state, and nothing is written from
    them."""

    def unwritable(value: T) -> Any:
        raise TypeError("a digest is not the whole object")

    return Codec(make, unwritable, unwritable, shareable=True, digest=True)


RECENT = 64
"""Decoded objects that are remembered for who comes next with the very same bytes."""


@cache
def structs(kind: type[T]) -> Codec[T]:
    """The codec of a struct type of `karmada.api`, one for all.

    In the server's own process the answer to a write and the event about it are the same bytes: they are read once.
    """
    recent: dict[int, tuple[bytes, T]] = {}

    def decode(body: bytes) -> T:
        known = recent.get(id(body))
        if known is not None and known[0] is body:
            return known[1]
        value = codec.decode(body, kind)
        if len(recent) >= RECENT:
            recent.clear()
        recent[id(body)] = (body, value)
        return value

    def struct_identity(value: T) -> Identity:
        metadata = getattr(value, "metadata")  # noqa: B009 - T is any kind, and every kind has metadata
        return Identity(metadata.name, metadata.namespace, metadata.uid, metadata.resource_version)

    same_but_status = _same_generation if _counts_generations(kind) else None
    return Codec(decode, codec.encode, struct_identity, shareable=True, same_but_status=same_but_status)


def _counts_generations(kind: Any) -> bool:
    """Whether API servers count a new generation whenever anything but metadata and status of an object changes: they
    do for custom kinds, and not for all of their own."""
    versions = [get_args(one.type) for one in msgspec.structs.fields(kind) if one.name == "api_version"]
    return any(".karmada.io/" in str(version) for version in versions)


def _same_generation(old: Any, new: Any) -> bool:
    before, after = old.metadata, new.metadata
    return bool(
        after.generation
        and before.generation == after.generation
        and before.labels == after.labels
        and before.annotations == after.annotations
        # A server that was restored from a backup counts the same generations again.
        and getattr(old, "spec", None) == getattr(new, "spec", None)
    )
