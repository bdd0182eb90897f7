"""Tells a member's own changes from ours: what was written last, and whether an event shows something else."""

from typing import NamedTuple

import msgspec
import orjson

from karmada.machinery.codec import identity
from karmada.machinery.informers.cache import Change, Key, is_back_in_time, is_older
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.works.prune import prune


class ObjectKey(NamedTuple):
    """Names an object in a member."""

    cluster: str
    type: GroupVersionResource
    key: Key


class AppliedVersions:
    """The resourceVersion each object had after our last write."""

    def __init__(self) -> None:
        self._versions: dict[ObjectKey, str] = {}

    def record(self, which: ObjectKey, answer: bytes) -> None:
        """Remember a write by the server's answer."""
        self._versions[which] = identity(answer).resource_version

    def note(self, which: ObjectKey, version: str) -> None:
        """Remember a state that needs no write."""
        self._versions[which] = version

    def forget(self, which: ObjectKey) -> None:
        """The object is being deleted by us: its disappearance is no drift."""
        self._versions.pop(which, None)

    def forget_cluster(self, name: str) -> None:
        """The cluster is gone, and all that was written there."""
        self._versions = {which: version for which, version in self._versions.items() if which.cluster != name}

    def drifted(self, which: ObjectKey, change: Change[JSONObject]) -> bool:
        """Whether an event shows a state that may differ from ours in more than status.

        Compared are two neighbouring states of which the older is known to be ours. Where a watch missed what lies
        between them, nothing can be said by looking at both: a member may have undone our write meanwhile.
        """
        known = self._versions.get(which)
        if known is None:
            return False
        if change.new is None:
            del self._versions[which]
            return True
        version = change.new.resource_version
        if is_back_in_time(change):
            return True
        if version == known or is_older(version, known):
            return False
        if change.old is None or change.old.resource_version != known:
            return True
        before, after = change.old.body, change.new.body
        if not _is_same_generation(before, after) and _content(before) != _content(after):
            return True
        self._versions[which] = version
        return False


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


_head = msgspec.json.Decoder(_Head)


def _is_same_generation(before: bytes, after: bytes) -> bool:
    """Whether the server itself says that nothing but status changed; many kinds have no generation and say nothing."""
    old, new = _head.decode(before).metadata, _head.decode(after).metadata
    return old.generation > 0 and old == new


def _content(body: bytes) -> JSONObject:
    tree: JSONObject = orjson.loads(body)
    prune(tree)
    return tree
