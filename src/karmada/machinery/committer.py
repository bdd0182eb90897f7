"""The one place that writes decisions: the smallest change, guarded, and decided again when the world has moved on.

The caller gives what it saw and a pure function from an object to the object as it should be. Then:

- Nothing differs: nothing is written. If what the caller saw is older than this committer's own last write, the object
  is read again first: a cache that has not caught up must not make a decision look done.
- Something differs: one merge patch with exactly the differences and the resourceVersion they were decided on, to the
  object or to its status, never to both (`MixedChange`): a status reporter must not be able to undo a spec, nor the
  reverse. What holds nulls goes as a JSON patch: merge patches cannot say them, and servers drop them even in lists.
- Somebody else wrote meanwhile: the object is read again and *decided again* on its present state. A write is
  never repeated blindly, so nobody's update is lost, whole-list replacements included.
- The object was deleted, or is another one of the same name: `Absent`, and nothing is written.

Transient errors are raised: the outcome is unknown. The next commit of that object believes no cache in that nothing
is left to do: the write may have happened, and not be seen there yet.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

import msgspec
import orjson

from karmada.api import json_patch, merge_patch
from karmada.machinery.codec import BYTES, Identity, identity
from karmada.machinery.errors import AlreadyExists, Conflict, NotFound, ServerError, Timeout, Unavailable
from karmada.machinery.resource import Propagation, Resource
from karmada.machinery.transport import JSONObject, PatchType

T = TypeVar("T")

RECENT = 4096
"""Own writes that are remembered, until the caller is seen to know them."""
ATTEMPTS = 5
"""Decisions per commit; after that the conflict is raised and the key is retried with a pause."""


@dataclass(frozen=True, slots=True)
class Unchanged(Generic[T]):
    """The object is already as decided."""

    value: T


class Written(Generic[T]):
    """The change was made; `value` is the server's answer, read when somebody asks for it."""

    __slots__ = ("_body", "_decode", "_value", "resource_version")

    def __init__(self, body: bytes, resource_version: str, decode: Callable[[bytes], T]) -> None:
        self.resource_version = resource_version
        """The state that was written."""
        self._body: bytes | None = body
        self._decode = decode
        self._value: T

    @property
    def value(self) -> T:
        """The object as it was written."""
        if self._body is not None:
            self._value, self._body = self._decode(self._body), None
        return self._value


@dataclass(frozen=True, slots=True)
class Created(Generic[T]):
    """The object was made; `value` is the server's answer."""

    value: T


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no such object (any more), and none is wanted."""


class MixedChange(ValueError):
    """A decision changed both the status and the rest: decide them apart."""


class Committer(Generic[T]):
    """Writes decisions about objects of one collection."""

    def __init__(self, resource: Resource[T], *, status_subresource: bool = True) -> None:
        self._resource = resource
        self._encoded = Resource(resource.transport, resource.type, BYTES, resource.field_manager, resource.timeout)
        self._status_apart = status_subresource
        self._recent: dict[str, str] = {}
        """The resourceVersion of the last write by uid, oldest first."""
        self._doubtful: set[str] = set()
        """Uids of objects whose last write may or may not have happened."""

    async def commit(self, seen: T, decide: Callable[[T], T]) -> Unchanged[T] | Written[T] | Absent:
        """Make an object what `decide` says it should be."""
        which = self._resource.codec.identity(seen)
        current = seen
        for attempt in range(1, ATTEMPTS + 1):
            decided = decide(current)
            state = which if current is seen else self._resource.codec.identity(current)
            before, after, has_nulls = self._difference(state, current, decided)
            patch = merge_patch.create(before, after)
            if not patch and not (current is seen and self._is_outdated(which)):
                if current is not seen:
                    # It may be our own write whose answer was lost: the caller has not seen it either.
                    self._remember(state)
                return Unchanged(current)
            try:
                if patch:
                    exact = json_patch.create(before, after) if has_nulls else None
                    return await self._write(state, patch, exact)
            except NotFound:
                return Absent()
            except Conflict:
                if attempt == ATTEMPTS:
                    raise
            except (ServerError, Timeout, Unavailable):
                self._doubtful.add(which.uid)
                raise
            present = await self._present(which)
            if present is None:
                return Absent()
            current = present
        raise AssertionError("the last attempt returns or raises")

    async def ensure(
        self, name: str, namespace: str, decide: Callable[[T | None], T | None], seen: T | None = None
    ) -> Unchanged[T] | Written[T] | Created[T] | Absent:
        """Make an object what `decide` says, creating it when it is missing; None from `decide` means leave it alone.

        `seen` may come from a cache. Its absence there proves nothing: a create that finds the object after all ends
        in an update of it.
        """
        for attempt in range(1, ATTEMPTS + 1):
            if seen is not None:
                outcome = await self.commit(seen, lambda current: _or_same(decide(current), current))
                if not isinstance(outcome, Absent):
                    return outcome
            wanted = decide(None)
            if wanted is None:
                return Absent()
            try:
                return Created(await self._resource.create(wanted, namespace))
            except AlreadyExists:
                if attempt == ATTEMPTS:
                    raise
            seen = await self._get(name, namespace)
        raise AssertionError("the last attempt returns or raises")

    async def remove(
        self, seen: T, unwanted: Callable[[T], bool], *, propagation: Propagation | None = None
    ) -> Unchanged[T] | Absent:
        """Delete an object if it is unwanted in the very state it has at that moment."""
        which = self._resource.codec.identity(seen)
        current: T | None = seen
        for attempt in range(1, ATTEMPTS + 1):
            if current is None:
                return Absent()
            if not unwanted(current):
                if current is not seen or not self._is_outdated(which):
                    return Unchanged(current)
                current = await self._present(which)
                continue
            state = self._resource.codec.identity(current)
            try:
                await self._resource.delete(which.name, which.namespace, only_if=state, propagation=propagation)
            except NotFound:
                return Absent()
            except Conflict:
                if attempt == ATTEMPTS:
                    raise
            else:
                return Absent()
            current = await self._present(which)
        raise AssertionError("the last attempt returns or raises")

    def _difference(self, which: Identity, current: T, decided: T) -> tuple[JSONObject, JSONObject, bool]:
        """The parts of two states that may differ, and whether the second has nulls."""
        if decided is current:
            return {}, {}, False
        answered = self._resource.codec.identity(decided)
        if (which.namespace, which.name, which.uid) != (answered.namespace, answered.name, answered.uid):
            raise ValueError(f"a decision about {_described(which)} was answered with {_described(answered)}")
        return _changed_parts(current, decided, self._resource.codec.encode)

    async def _write(self, state: Identity, patch: JSONObject, exact: list[JSONObject] | None) -> Written[T]:
        """Send a merge patch, or the operations that say the same and more."""
        status = self._status_apart and "status" in patch
        if status and len(patch) > 1:
            raise MixedChange(f"a decision about {_described(state)} changes status and {', '.join(patch)}")
        guard = {"uid": state.uid, "resourceVersion": state.resource_version}
        subresource = "status" if status else ""
        if exact is None:
            patch["metadata"] = patch.get("metadata", {}) | guard
            written = await self._encoded.patch(state.name, patch, state.namespace, subresource=subresource)
        else:
            exact += [{"op": "add", "path": f"/metadata/{field}", "value": value} for field, value in guard.items()]
            written = await self._encoded.patch(
                state.name, exact, state.namespace, kind=PatchType.JSON, subresource=subresource
            )
        state = identity(written)
        self._remember(state)
        return Written(written, state.resource_version, self._resource.codec.decode)

    def _remember(self, state: Identity) -> None:
        """What is older than this state is out of date."""
        self._recent.pop(state.uid, None)
        if len(self._recent) >= RECENT:
            del self._recent[next(iter(self._recent))]
        self._recent[state.uid] = state.resource_version

    def wrote(self, uid: str, resource_version: str) -> bool:
        """Whether a state is exactly what was written here last: its event brings nothing new to the writer."""
        return self._recent.get(uid) == resource_version

    def _is_outdated(self, seen: Identity) -> bool:
        """Whether a state is older than what was written here, or may be."""
        if seen.uid in self._doubtful:
            return True
        written = self._recent.get(seen.uid)
        if written is None:
            return False
        if _revision(seen.resource_version) >= _revision(written):
            del self._recent[seen.uid]
            return False
        return True

    async def _present(self, which: Identity) -> T | None:
        """The object as it is now, if it still is the same one."""
        present = await self._get(which.name, which.namespace)
        self._doubtful.discard(which.uid)
        if present is None or self._resource.codec.identity(present).uid != which.uid:
            return None
        return present

    async def _get(self, name: str, namespace: str) -> T | None:
        try:
            return await self._resource.get(name, namespace)
        except NotFound:
            return None


def _revision(version: str) -> int:
    """Versions grow with every write; one that is no number is older than any."""
    return int(version) if version.isdecimal() else 0


def _or_same(decided: T | None, current: T) -> T:
    return current if decided is None else decided


def _described(which: Identity) -> str:
    return f"{which.namespace}/{which.name} ({which.uid})"


def _changed_parts(current: T, decided: T, encode: Callable[[T], bytes]) -> tuple[JSONObject, JSONObject, bool]:
    """Both states as trees, without the top-level parts that a decision left alone, and whether the second has nulls.

    Decisions replace the part they are about and share the rest, so most of an object need not be looked at.
    """
    if isinstance(current, msgspec.Struct) and isinstance(decided, msgspec.Struct):
        before, after = {}, {}
        for attribute, name, _ in _fields(type(current)):
            old, new = getattr(current, attribute), getattr(decided, attribute)
            if old is not new:
                before[name], after[name] = _narrowed(old, new)
        old_bytes, new_bytes = msgspec.json.encode(before), msgspec.json.encode(after)
    elif isinstance(current, dict) and isinstance(decided, dict):
        same = [key for key, value in current.items() if key in decided and decided[key] is value]
        old_bytes = orjson.dumps({key: value for key, value in current.items() if key not in same})
        new_bytes = orjson.dumps({key: value for key, value in decided.items() if key not in same})
    else:
        old_bytes, new_bytes = encode(current), encode(decided)
    if old_bytes == new_bytes:
        return {}, {}, False
    tree = orjson.loads(new_bytes)
    # Parts that are kept as they came may have spaces.
    return orjson.loads(old_bytes), tree, b"null" in new_bytes and b":null" in orjson.dumps(tree)


def _narrowed(old: object, new: object) -> tuple[object, object]:
    """Two structs without the optional fields they share; anything else as it is."""
    if not isinstance(old, msgspec.Struct) or type(old) is not type(new) or hasattr(old, "__post_init__"):
        return old, new
    kind: type[msgspec.Struct] = type(old)
    before, after = {}, {}
    for attribute, _, required in _fields(kind):
        was, is_ = getattr(old, attribute), getattr(new, attribute)
        if required or was is not is_:
            before[attribute], after[attribute] = was, is_
    return kind(**before), kind(**after)


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, bool], ...]:
    """The fields of a struct: attribute, name on the wire, and whether a struct cannot be made without it."""
    return tuple((field.name, field.encode_name, field.required) for field in msgspec.structs.fields(kind))
