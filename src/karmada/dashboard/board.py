"""What one credential sees, kept up to date: rows of clusters and workloads, and who is to hear of their changes.

One set of watches serves all tabs of a credential. Changes are gathered for a quarter of a second and encoded once,
however many streams there are; a reader that falls behind loses its queue and begins again with a snapshot. Rights may
be taken away while a watch is open: they are asked for again every few seconds, and a board without them ends.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import orjson

from karmada.apiserver.times import rfc3339
from karmada.dashboard import rows
from karmada.dashboard.answers import Refusal
from karmada.dashboard.feed import Feed, message
from karmada.dashboard.moves import move_sentence
from karmada.dashboard.problems import problems
from karmada.dashboard.rows import JSONObject, Ref, key_of, ref
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.codec import BYTES
from karmada.machinery.errors import ApiError, Forbidden, Timeout
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource

_log = logging.getLogger(__name__)
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
WIDE_BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
TEMPLATES = {
    GroupVersionResource("apps", "v1", "deployments"): ("apps/v1", "Deployment"),
    GroupVersionResource("apps", "v1", "statefulsets"): ("apps/v1", "StatefulSet"),
    GroupVersionResource("apps", "v1", "daemonsets"): ("apps/v1", "DaemonSet"),
    GroupVersionResource("batch", "v1", "jobs"): ("batch/v1", "Job"),
    GroupVersionResource("batch", "v1", "cronjobs"): ("batch/v1", "CronJob"),
}
"""Kinds of which those that no policy propagates are shown too."""
REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
RECHECK = 10.0
"""Seconds for which rights are believed."""
LOADING = 10.0
MOVES = 50
SHOWN_AT_ONCE = 1000
"""Rows of workloads in a snapshot; who has more asks for pages."""


class Board:
    """Rows that one credential may see, in all namespaces or in one."""

    def __init__(self, hub: Client, clock: Clock, check: Callable[[], Any], namespace: str = "") -> None:
        """`check` is awaited now and then; it raises when the credential counts no more."""
        self._hub = hub
        self._clock = clock
        self._check = check
        self._namespace = namespace
        self._supervisor = Supervisor(clock)
        self._informers: dict[GroupVersionResource, Informer[bytes]] = {}
        self.refused: dict[GroupVersionResource, str] = {}
        """What may not be read, and how that was said."""
        self.clusters: dict[str, JSONObject] = {}
        self._bindings: dict[str, JSONObject] = {}
        self._templates: dict[str, JSONObject] = {}
        self._held: dict[str, int] = {}
        """Workloads by cluster."""
        self.moves: deque[JSONObject] = deque(maxlen=MOVES)
        self.feed = Feed(clock, self._change)
        self.closed = False

    async def start(self) -> None:
        """Follow what may be read."""
        kinds = [CLUSTERS, BINDINGS, *TEMPLATES] + ([] if self._namespace else [WIDE_BINDINGS])
        allowed = await asyncio.gather(*(self._may(kind) for kind in kinds))
        for kind, may in zip(kinds, allowed, strict=True):
            if may:
                self._follow(kind)
        self._supervisor.start("rights", self._recheck, restart=False)

    async def stop(self) -> None:
        """End, and all streams with it."""
        self.closed = True
        self.feed.end()
        await self._supervisor.stop()

    async def ready(self, *kinds: GroupVersionResource) -> None:
        """Wait until kinds are loaded; raises what keeps them from it."""
        for kind in kinds:
            if kind in self.refused:
                raise Forbidden(self.refused[kind])
        for kind in (*kinds, *TEMPLATES):
            informer = self._informers.get(kind)
            if informer is None or await informer.is_loaded(LOADING) or kind in TEMPLATES:
                continue
            failure = informer.reflector.failure
            raise failure if isinstance(failure, ApiError) else Timeout(f"{kind.resource} could not be read in time")

    def cluster_rows(self) -> list[JSONObject]:
        """All clusters by name."""
        return [self._cluster(name) for name in sorted(self.clusters)]

    def cluster(self, name: str) -> JSONObject | None:
        """One cluster."""
        return self._cluster(name) if name in self.clusters else None

    def workload_rows(self) -> list[JSONObject]:
        """All workloads, by namespace, kind and name."""
        return sorted(self._all(), key=_order)

    def workload(self, key: str) -> JSONObject | None:
        """One workload."""
        return self._bindings.get(key) or self._templates.get(key)

    def labels(self, key: str) -> dict[str, str]:
        """The labels of a template, as far as its kind is followed."""
        row = self._templates.get(key)
        found: dict[str, str] = row["labels"] if row is not None else {}
        return found

    def overview(self) -> JSONObject:
        """Everything at a glance."""
        clusters = self.cluster_rows()
        return {
            "clusters": clusters,
            "workloads": rows.counts_of(self._all()),
            "problems": problems(clusters, self._all()),
            "moves": list(reversed(self.moves)),
        }

    def snapshot(self, topic: str) -> bytes:
        """A topic as it is."""
        whole: list[Any] = []
        more = False
        if topic == "overview":
            whole = [self.overview()]
        elif topic == "clusters":
            whole = self.cluster_rows()
        elif topic == "workloads":
            whole = self.workload_rows()
            if more := len(whole) > SHOWN_AT_ONCE:
                whole = []
        elif (row := self.workload(topic.partition(":")[2])) is not None:
            whole = [row]
        return message({"topic": topic, "rows": whole, "gone": [], "snapshot": True, "refetch": more})

    def _all(self) -> Iterator[JSONObject]:
        yield from self._bindings.values()
        for key, row in self._templates.items():
            if key not in self._bindings:
                yield row

    async def _may(self, kind: GroupVersionResource) -> bool:
        """Whether the credential may list and watch a kind."""
        for verb in ("list", "watch"):
            said = {"verb": verb, "group": kind.group, "version": kind.version, "resource": kind.resource}
            if self._namespace and kind != CLUSTERS:
                said["namespace"] = self._namespace
            answer = await self._hub.resource(REVIEWS).create(
                {
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectAccessReview",
                    "spec": {"resourceAttributes": said},
                }
            )
            if not (answer.get("status") or {}).get("allowed"):
                where = f" in the namespace {self._namespace}" if self._namespace else " in all namespaces"
                place = "" if kind in (CLUSTERS, WIDE_BINDINGS) else where
                hint = "; choose a namespace that you may read" if place and not self._namespace else ""
                self.refused[kind] = f"you may not {verb} {kind.resource}.{kind.group}{place}{hint}"
                return False
        self.refused.pop(kind, None)
        return True

    async def _recheck(self) -> None:
        """End this board when the credential, or the right to something that is shown, is gone."""
        while True:
            await self._clock.sleep(RECHECK)
            try:
                await self._check()
                allowed = [await self._may(kind) for kind in self._informers]
            except (ApiError, Refusal) as error:
                if isinstance(error, ApiError) and error.transient:
                    continue
                break
            if not all(allowed):
                break
        self.closed = True
        self.feed.end()

    def _follow(self, kind: GroupVersionResource) -> None:
        scope = Scope("" if kind in (CLUSTERS, WIDE_BINDINGS) else self._namespace)
        taken, handle = _projection(kind), self._cluster_changed if kind == CLUSTERS else self._workload_changed
        informer = Informer(self._hub.transport, kind, BYTES, scope, project=taken, clock=self._clock)
        informer.add_handler(lambda changes: handle(kind, changes))
        self._informers[kind] = informer
        self._supervisor.start(kind.resource, informer.run)

    def _cluster_changed(self, kind: GroupVersionResource, changes: list[Change[bytes]]) -> None:
        for change in changes:
            name = change.key.name
            if change.new is None:
                self.clusters.pop(name, None)
            else:
                self.clusters[name] = orjson.loads(change.new.body)
        self.feed.touch({change.key.name for change in changes}, {})

    def _workload_changed(self, kind: GroupVersionResource, changes: list[Change[bytes]]) -> None:
        clusters: set[str] = set()
        touched: dict[str, Ref] = {}
        for change in changes:
            before = orjson.loads(change.old.body) if change.old is not None else None
            after = orjson.loads(change.new.body) if change.new is not None else None
            row = after or before
            assert row is not None
            key = key_of(row["ref"])
            table = self._templates if kind in TEMPLATES else self._bindings
            if after is None:
                table.pop(key, None)
            else:
                table[key] = after
            if kind not in TEMPLATES:
                clusters |= self._count(before, -1) | self._count(after, 1)
                if not change.initial:
                    self._moved(before, after)
            elif key in self._bindings:
                continue
            touched[key] = row["ref"]
        self.feed.touch(clusters, touched)

    def _count(self, row: JSONObject | None, step: int) -> set[str]:
        """Count a workload in (or out of) its clusters; which they are."""
        names = {one["name"] for one in row["clusters"]} if row is not None else set()
        for name in names:
            self._held[name] = self._held.get(name, 0) + step
        return names

    def _moved(self, before: JSONObject | None, after: JSONObject | None) -> None:
        old, new = _shares(before), _shares(after)
        if old == new:
            return
        row = after or before
        assert row is not None
        self.moves.append(
            {
                "ref": row["ref"],
                "before": old,
                "after": new,
                "sentence": move_sentence(old, new),
                "time": rfc3339(self._clock.now()),
            }
        )

    def _cluster(self, name: str) -> JSONObject:
        return {**self.clusters[name], "workloads": self._held.get(name, 0)}

    def _change(self, topic: str, clusters: set[str], workloads: dict[str, Ref]) -> bytes:
        """What changed of a topic, encoded; empty if nothing did."""
        if topic == "overview":
            if not clusters and not workloads:
                return b""
            return message({"topic": topic, "rows": [self.overview()], "gone": []})
        if topic == "clusters":
            there = [self._cluster(name) for name in sorted(clusters) if name in self.clusters]
            lost = [ref(rows.CLUSTER_VERSION, "Cluster", "", name) for name in clusters if name not in self.clusters]
            return message({"topic": topic, "rows": there, "gone": lost}) if there or lost else b""
        if topic == "workloads":
            if not workloads:
                return b""
            found = {key: self.workload(key) for key in workloads}
            there = [row for row in found.values() if row is not None]
            lost = [workloads[key] for key, row in found.items() if row is None]
            return message({"topic": topic, "rows": there, "gone": lost})
        key = topic.partition(":")[2]
        if key not in workloads:
            return b""
        row = self.workload(key)
        return message(
            {"topic": topic, "rows": [row] if row is not None else [], "gone": [] if row else [workloads[key]]}
        )


def _shares(row: JSONObject | None) -> dict[str, int]:
    return {one["name"]: one["replicas"] or 0 for one in row["clusters"]} if row is not None else {}


def _projection(kind: GroupVersionResource) -> Callable[[bytes], bytes]:
    if kind == CLUSTERS:
        return lambda body: rows.encoded(rows.cluster_row(orjson.loads(body)))
    if kind not in TEMPLATES:
        return lambda body: rows.encoded(rows.binding_row(orjson.loads(body)))
    api_version, name = TEMPLATES[kind]
    return lambda body: rows.encoded(rows.template_row({**orjson.loads(body), "apiVersion": api_version, "kind": name}))


def _order(row: JSONObject) -> tuple[str, str, str]:
    said = row["ref"]
    return said["namespace"], said["kind"], said["name"]
