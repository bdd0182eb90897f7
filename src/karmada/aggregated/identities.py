"""No two Clusters have the same identity (`spec.id`), however many servers write at the same moment.

Looking for another one and then writing would let two writers pass each other. So a writer first claims the identity: a
record in the same storage, whose key only one can create. With the claim in hand it looks for others, and nobody stores
that identity under another name meanwhile. The claim is dropped once the Cluster is visible. One left by a server that
died is taken over after nothing happened to it for a while, by the clock of whoever looks.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import orjson

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import already_exists, forbidden
from karmada.apiserver.storage.base import Mismatch, StorageFailed, Value
from karmada.apiserver.watchcache import Item, Kind, StoreEvent, WatchCache
from karmada.apiserver.watchcache.model import NO_INDEX
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import EventType

CLUSTERS: Kind = ("cluster.karmada.io", "clusters")
CLAIMS: Kind = ("cluster.karmada.io", "identityclaims")
PATIENCE = 60.0
"""A write takes less than this from its claim to the storage, webhooks included."""


class _Claim(NamedTuple):
    identity: str
    key: str
    revision: int


class _Spec(msgspec.Struct):
    id: str = ""


class _Cluster(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_decode = msgspec.json.Decoder(_Cluster).decode


class ClusterIdentities:
    """An `AdmissionPlugin`; `connect` comes before the first request."""

    kinds = (CLUSTERS,)
    _store: WatchCache

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._own: dict[str, _Claim] = {}
        """Claims to be dropped when the Cluster of this name is stored."""
        self._foreign: dict[str, tuple[int, float]] = {}
        """Since when a claim of somebody else is known: its revision and the moment."""
        self._tasks: set[asyncio.Task[None]] = set()

    def connect(self, store: WatchCache) -> None:
        """Where Clusters are kept."""
        self._store = store
        store.subscribe(self._seen, CLUSTERS, CLAIMS)

    def applies(self, request: AdmissionRequest) -> bool:
        """Clusters whose identity is new."""
        kind = (request.type.group, request.type.plural)
        if kind != CLUSTERS or request.subresource or request.object is None:
            return False
        identity = _id(request.object)
        return bool(identity) and (request.operation is Operation.CREATE or identity != _id(request.old or {}))

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing is changed."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Claim the identity, and look for another cluster that has it."""
        identity, name = _id(request.object or {}), request.name
        if request.operation is Operation.CREATE and self._store.get(CLUSTERS, "", name) is not None:
            raise already_exists(*CLUSTERS, name)
        self._refuse_known(identity, name)
        claim = None if request.dry_run else await self._claim(identity, name)
        await self._store.sync()
        try:
            self._refuse_known(identity, name)
        except Failure:
            if claim is not None:
                await self._drop(claim)
            raise
        if claim is not None:
            self._own[name] = claim

    def _refuse_known(self, identity: str, name: str) -> None:
        for item in self._store.list(CLUSTERS).items:
            if item.name != name and _is(item, identity):
                raise forbidden(*CLUSTERS, name, f"the cluster ID {identity} has been registered as {item.name}")

    async def _claim(self, identity: str, name: str) -> _Claim:
        key = hashlib.sha256(identity.encode()).hexdigest()
        while True:
            known = self._store.get(CLAIMS, "", key)
            if known is not None and not self._may_take(known, name):
                holder = orjson.loads(known.body)["cluster"]
                raise forbidden(*CLUSTERS, name, f"the cluster ID {identity} is being registered as {holder}")
            try:
                made = await self._store.update(
                    CLAIMS, "", key, _record(key, name), NO_INDEX, known.revision if known is not None else 0
                )
                return _Claim(identity, key, made.revision)
            except Mismatch:
                await self._store.sync()

    def _may_take(self, known: Item, name: str) -> bool:
        """Whether a claim is one's own, or forgotten by its owner."""
        if orjson.loads(known.body)["cluster"] == name:
            return True
        revision, since = self._foreign.get(known.name, (0, 0.0))
        if revision != known.revision:
            self._foreign[known.name] = (known.revision, self._monotonic())
            return False
        return self._monotonic() - since > PATIENCE

    def _seen(self, kind: Kind, event: StoreEvent) -> None:
        if kind == CLAIMS and event.type is EventType.DELETED:
            self._foreign.pop(event.item.name, None)
            return
        claim = self._own.get(event.item.name) if kind == CLUSTERS else None
        if claim is not None and event.type is not EventType.DELETED and _is(event.item, claim.identity):
            del self._own[event.item.name]
            task = asyncio.get_running_loop().create_task(self._drop(claim))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _drop(self, claim: _Claim) -> None:
        # A claim that somebody renewed, or that cannot be dropped now, is left: it is taken over in time.
        with suppress(Mismatch, StorageFailed):
            await self._store.delete(CLAIMS, "", claim.key, _record(claim.key, ""), claim.revision)


def _record(key: str, cluster: str) -> Value:
    head = b'{"metadata":{"name":"%s","resourceVersion":"' % key.encode()
    return Value(head, b'"},"cluster":%s}' % orjson.dumps(cluster))


def _is(cluster: Item, identity: str) -> bool:
    return _decode(cluster.body).spec.id == identity


def _id(tree: dict[str, Any]) -> str:
    return (tree.get("spec") or {}).get("id") or ""
