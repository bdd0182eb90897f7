"""Namespaces that end: their content is deleted, pods first, then their own finalizer, then they are gone.

How far it has come is reported in the namespace's conditions. A namespace is looked at again whenever something in it
changes, so nothing waits for a timer; but its content may be given a while first, as Kubernetes does: other servers on
the same storage learn meanwhile that it ends, and clients can still tidy up in it. One in which thousands of objects
are held back rests between two looks: each counts all of them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import NamedTuple

import msgspec
import orjson

from karmada.apiserver.controllers.pauses import Pauses
from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.limits import printable
from karmada.machinery.transport import EventType

_KIND: Kind = ("", "namespaces")
_PODS: Kind = ("", "pods")
FINALIZER = "kubernetes"
KUBERNETES_GRACE = 5.0
"""Seconds that Kubernetes leaves a namespace as it is."""
_WIDTH = 10
"""Namespaces that are emptied at the same time: a webhook may be slow in one, and the others do not wait for it."""
_TOGETHER = 50
"""Deletions at the same time in each of them: durable stores commit them together."""
_NAMES = 500
"""Finalizers that are counted by name: a condition has room for fewer."""
_FEW = 1_000
"""Objects that are held back and are counted whenever one of them changes; for each so many more it rests a second."""
_LONGEST_REST = 10.0
_REFUSED = 10
"""How many times longer it rests for objects that could not be deleted: each try asks for all of them once more."""
_LONGEST_AFTER_REFUSALS = 60.0
_WORDS = 512
"""Characters of one reason in a condition: it may be a webhook's."""
_MESSAGE = 4096
"""Characters of what a condition lists: it is written with the namespace, and sent to all who watch it."""


class _Held(msgspec.Struct):
    finalizers: list[str] | None = None


class _Object(msgspec.Struct):
    metadata: _Held


_object = msgspec.json.Decoder(_Object)


class Remaining(NamedTuple):
    """What is still in a namespace."""

    resources: Counter[str]
    finalizers: Counter[str]
    others: bool
    """Whether there are more finalizers than are counted by name."""
    refused: int
    """Objects that could not be deleted."""
    failures: list[str]
    """One for each kind of which objects could not be deleted."""


class ContentStays(Exception):
    """Objects of a namespace could not be deleted: their deletion is tried again after a growing pause."""


class NamespaceController:
    """Empties and removes namespaces marked for deletion."""

    def __init__(self, context: Context, grace: float = 0.0) -> None:
        self._context = context
        self._grace = grace
        self._store = context.store
        self._writer = Writer(context, "namespace-controller")
        self._worker: Worker[str] = Worker("namespaces", self._process, width=_WIDTH)
        self._ending: set[str] = set()
        self._resting: dict[str, bool] = {}
        """Namespaces that are being counted, or rest after it, and whether something in them changed meanwhile."""

    def start(self) -> None:
        """Look at everything once, then follow events."""
        self._store.subscribe(self._changed)
        for item in self._store.list(_KIND).items:
            self._consider(item)
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        item = event.item
        if kind == _KIND:
            if event.type is EventType.DELETED:
                self._ending.discard(item.name)
                self._resting.pop(item.name, None)  # another of the name owes it nothing
            else:
                self._consider(item)
        elif item.namespace in self._ending:
            self._stir(item.namespace)

    def _consider(self, item: Item) -> None:
        if item.ends:
            self._ending.add(item.name)
            self._stir(item.name)

    def _stir(self, name: str) -> None:
        if name in self._resting:
            self._resting[name] = True
        else:
            self._worker.add(name)

    async def _process(self, name: str) -> None:
        item = self._store.get(_KIND, "", name)
        if not self._resting.pop(name, True) or item is None or not item.ends:
            return
        namespace = orjson.loads(item.body)
        left = parse_rfc3339(namespace["metadata"]["deletionTimestamp"]) + self._grace - self._context.now()
        if self._grace and left > 0:
            self._worker.add_later(name, left)
            return
        if FINALIZER in ((namespace.get("spec") or {}).get("finalizers") or ()) and await self._is_left(name):
            return
        await self._finalize(name)

    async def _is_left(self, name: str) -> bool:
        """Delete the content, count and report what is held back; whether there is any."""
        self._resting[name] = False
        pause = 0.0
        try:
            remaining = await self._empty(name)
            await self._report(name, remaining)
            left = remaining.resources.total()
            pause = rest(left, remaining.refused)
            if remaining.refused:
                # A rest ends with another try; without one the worker makes a pause, and no report shortens it.
                self._resting[name] = pause > 0
                if not pause:
                    raise ContentStays(_listed(remaining.failures))
            return left > 0
        finally:
            if pause:
                self._worker.add_later(name, pause)
            elif self._resting.pop(name, False):
                self._worker.add(name)

    async def _empty(self, namespace: str) -> Remaining:
        """Delete pods, and when they are gone everything else: what pods rely on outlives them."""
        resources: Counter[str] = Counter()
        finalizers: Counter[str] = Counter()
        others = False
        refused = 0
        failures: list[str] = []
        pauses = Pauses()
        for served in sorted(self._context.catalog.storage_resources(), key=lambda one: one.key != _PODS):
            if not served.type.namespaced or "delete" not in served.type.verbs:
                continue
            items = self._store.list(served.key, namespace).items
            name = f"{served.type.plural}.{served.type.group}"
            stayed, why = await self._delete(served.key, items, pauses)
            if stayed:
                refused += stayed
                failures.append(f"{name}: {stayed} could not be deleted: {why}")
            for item in items:
                left = self._store.get(served.key, namespace, item.name)
                if left is None:
                    continue
                resources[name] += 1
                for finalizer in _object.decode(left.body).metadata.finalizers or ():
                    if finalizer in finalizers or len(finalizers) < _NAMES:
                        finalizers[finalizer] += 1
                    else:
                        others = True
                await pauses.after(left)
            if served.key == _PODS and resources:
                break
        return Remaining(resources, finalizers, others, refused, failures)

    async def _delete(self, kind: Kind, items: list[Item], pauses: Pauses) -> tuple[int, str]:
        """Delete objects, many at the same time; how many could not be deleted, and why the first of them could not."""
        refused, why = 0, ""
        async for together in _not_ending(items, pauses):
            deletions = [self._writer.delete(kind, item.namespace, item.name, item.index.uid) for item in together]
            results = await asyncio.gather(*deletions, return_exceptions=True)
            problems = [result for result in results if isinstance(result, Exception)]
            if problems and not refused:
                why = str(problems[0])
            refused += len(problems)
        return refused, why

    async def _report(self, name: str, remaining: Remaining) -> None:
        conditions = _conditions(remaining)
        now = rfc3339(self._context.now())

        def edit(obj: JSONObject) -> None:
            status = obj.setdefault("status", {})
            old = {condition["type"]: condition for condition in status.get("conditions") or ()}
            status["conditions"] = [_transition(old.get(condition["type"]), condition, now) for condition in conditions]

        await self._writer.change(_KIND, "", name, edit, "status")

    async def _finalize(self, name: str) -> None:
        def edit(obj: JSONObject) -> None:
            spec = obj.setdefault("spec", {})
            spec["finalizers"] = [item for item in spec.get("finalizers") or () if item != FINALIZER]
            if not spec["finalizers"]:
                del spec["finalizers"]

        await self._writer.change(_KIND, "", name, edit, "finalize")


async def _not_ending(items: list[Item], pauses: Pauses) -> AsyncIterator[list[Item]]:
    """Objects that are not marked for deletion, so many at once as are deleted at the same time."""
    together: list[Item] = []
    for item in items:
        await pauses.after(item)
        if not item.ends:
            together.append(item)
        if len(together) == _TOGETHER:
            yield together
            together = []
    if together:
        yield together


def rest(left: int, refused: int = 0) -> float:
    """Seconds between two looks at a namespace in which so many objects are held back, and so many of them could not be
    deleted: ten at most for those, sixty for these."""
    if left <= _FEW:
        return 0.0
    return max(min(left / _FEW, _LONGEST_REST), min(_REFUSED * refused / _FEW, _LONGEST_AFTER_REFUSALS))


def _transition(old: JSONObject | None, new: JSONObject, now: str) -> JSONObject:
    changed = old is None or old.get("status") != new["status"]
    time = now if changed or old is None else old.get("lastTransitionTime", now)
    return {"type": new["type"], "status": new["status"], "lastTransitionTime": time, **_words(new)}


def _words(condition: JSONObject) -> JSONObject:
    return {"reason": condition["reason"], "message": condition["message"]}


def _listed(entries: Sequence[str], others: bool = False) -> str:
    """Entries as a text of bounded length, which says how many it leaves out, or that there are others besides."""
    text = ""
    for number, entry in enumerate(entries):
        longer = f"{text}, {printable(entry, _WORDS)}" if text else printable(entry, _WORDS)
        if len(longer) > _MESSAGE:
            return f"{text} and {'over ' if others else ''}{len(entries) - number} more"
        text = longer
    return text


def _conditions(remaining: Remaining) -> list[JSONObject]:
    def condition(kind: str, failed: bool, bad: tuple[str, str], good: tuple[str, str]) -> JSONObject:
        reason, message = bad if failed else good
        return {"type": kind, "status": "True" if failed else "False", "reason": reason, "message": message}

    left = _listed([f"{name} has {count} resource instances" for name, count in sorted(remaining.resources.items())])
    names = [f"{name} in {count} resource instances" for name, count in sorted(remaining.finalizers.items())]
    held = _listed(names, remaining.others)
    failed = _listed(remaining.failures)
    return [
        condition(
            "NamespaceDeletionDiscoveryFailure",
            False,
            ("", ""),
            ("ResourcesDiscovered", "All resources successfully discovered"),
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            False,
            ("", ""),
            ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
        ),
        condition(
            "NamespaceDeletionContentFailure",
            bool(remaining.failures),
            (
                "ContentDeletionFailed",
                f"Failed to delete all resource types, {len(remaining.failures)} remaining: {failed}",
            ),
            ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
        ),
        condition(
            "NamespaceContentRemaining",
            bool(remaining.resources),
            ("SomeResourcesRemain", f"Some resources are remaining: {left}"),
            ("ContentRemoved", "All content successfully removed"),
        ),
        condition(
            "NamespaceFinalizersRemaining",
            bool(remaining.finalizers),
            ("SomeFinalizersRemain", f"Some content in the namespace has finalizers remaining: {held}"),
            ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
        ),
    ]
