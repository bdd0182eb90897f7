"""Detects changes that a member made itself: what was written last, and whether an event shows something else."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from karmada.machinery.codec import TREE, identity, reading
from karmada.machinery.errors import BadAnswer
from karmada.machinery.informers.cache import Change, Key, is_back_in_time, is_older
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.works.prune import prune


class ObjectKey(NamedTuple):
    """Names an object in a member."""

    cluster: str
    type: GroupVersionResource
    key: Key


class _Applied(NamedTuple):
    version: str
    work: Key


class AppliedVersions:
    """The resourceVersion each object had after our last write, and the Work that it was written for."""

    def __init__(self) -> None:
        self._applied: dict[str, dict[GroupVersionResource, dict[Key, _Applied]]] = {}
        """By cluster, kind and object."""

    def record(self, which: ObjectKey, answer: bytes, work: Key) -> None:
        """Remember a write by the server's answer."""
        self.note(which, identity(answer).resource_version, work)

    def note(self, which: ObjectKey, version: str, work: Key) -> None:
        """Remember a state that needs no write."""
        self._applied.setdefault(which.cluster, {}).setdefault(which.type, {})[which.key] = _Applied(version, work)

    def is_noted(self, which: ObjectKey, version: str, work: Key) -> bool:
        """Whether a state is the one that is known to be as a Work says."""
        return self._of(which).get(which.key) == (version, work)

    def forget(self, which: ObjectKey) -> None:
        """The object is being deleted by us: its disappearance is no drift."""
        self._of(which).pop(which.key, None)

    def forget_cluster(self, name: str) -> None:
        """The cluster is gone, and all that was written there."""
        self._applied.pop(name, None)

    def unseen(self, cluster: str, type_: GroupVersionResource, shown: Callable[[Key], object]) -> list[Key]:
        """The Works of objects that a complete load does not show: created and deleted, perhaps,
        between two events of the watch, which then shows neither."""
        known = self._applied.get(cluster, {}).get(type_, {})
        return [applied.work for key, applied in known.items() if shown(key) is None]

    def _of(self, which: ObjectKey) -> dict[Key, _Applied]:
        return self._applied.get(which.cluster, {}).get(which.type, {})

    def drifted(self, which: ObjectKey, change: Change[JSONObject]) -> bool:
        """Whether an event shows a state that may differ from ours in more than status.

        Compared are two neighbouring states of which the older is known to be ours. Where a watch missed what lies
        between them, nothing can be said by looking at both: a member may have undone our write meanwhile.
        """
        applied = self._of(which).get(which.key)
        if applied is None:
            return False
        known = applied.version
        if change.new is None:
            self.forget(which)
            return True
        version = change.new.resource_version
        if is_back_in_time(change):
            return True
        if version == known or is_older(version, known):
            return False
        if change.old is None or change.old.resource_version != known:
            return True
        before, after = change.old.body, change.new.body
        try:
            if not _is_same_generation(before, after) and _content(before) != _content(after):
                return True
        except BadAnswer:
            return True  # whoever looks at it says what is wrong
        self.note(which, version, applied.work)
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
    old, new = reading(_head.decode, before).metadata, reading(_head.decode, after).metadata
    return old.generation > 0 and old == new


def _content(body: bytes) -> JSONObject:
    tree = reading(TREE.decode, body)
    prune(tree)
    return tree
