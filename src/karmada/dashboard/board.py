"""What some credentials see, kept up to date: rows of clusters and workloads, and who is to hear of their changes.

One set of watches serves everybody whose rights to list and watch are the same (see `view`), and changes are encoded
once for all of them. A reader that falls behind loses its queue and begins again with a snapshot.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Any

import orjson

from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.dashboard.feed import Changes, Feed, Subscription, message
from karmada.dashboard.kinds import CLUSTERS, EVENTS, ON_DEMAND, POLICIES, TEMPLATES, WIDE_POLICIES, WORKS, scope_of
from karmada.dashboard.moves import move_sentence
from karmada.dashboard.problems import problems
from karmada.dashboard.relay import Relay
from karmada.dashboard.rows import CLUSTER_VERSION, JSONObject, Ref, key_of, ref
from karmada.dashboard.shapes import row_maker
from karmada.dashboard.tally import Tally
from karmada.machinery.clock import Clock, rfc3339
from karmada.machinery.codec import Codec, digests, structs
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.policies.election import Policy

MOVES = 50
SHOWN_AT_ONCE = 1000
"""Rows of workloads in a snapshot; who has more asks for pages."""
EVENTS_AT_ONCE = 200
"""Events in a message; when there were more, readers read all anew."""


class Board:
    """Rows of all namespaces, or of one."""

    def __init__(self, clock: Clock, kinds: Collection[GroupVersionResource], namespace: str = "") -> None:
        """`kinds` may be followed by every credential that takes part in `relay`."""
        self._clock = clock
        self._namespace = namespace
        self._kinds = kinds
        self.relay = Relay()
        self._supervisor = Supervisor(clock)
        self.informers: dict[GroupVersionResource, Informer[Any]] = {}
        self.clusters: dict[str, JSONObject] = {}
        self._bindings: dict[str, JSONObject] = {}
        self._templates: dict[str, JSONObject] = {}
        self._tally = Tally()
        self._held: dict[str, int] = {}
        """Workloads by cluster."""
        self.moves: deque[JSONObject] = deque(maxlen=MOVES)
        self._moved = False
        """Whether something moved since the last message."""
        self._problems: list[JSONObject] = []
        """Those of the last message."""
        self._policies: bytes = b""
        self._policies_version = 0
        """How often policies, or what they hold, changed."""
        self._making_policies = asyncio.Lock()
        self.feed = Feed(clock, self._change)

    def start(self) -> None:
        """Follow everything but what is followed on demand."""
        for kind in self._kinds:
            if kind not in ON_DEMAND.values():
                self._follow(kind)

    async def stop(self) -> None:
        """End, and all streams with it."""
        self.feed.end()
        await self._supervisor.stop()

    def subscribe(self, topics: frozenset[str]) -> Subscription:
        """Begin to hear of changes."""
        for kind in (ON_DEMAND[topic] for topic in topics & ON_DEMAND.keys()):
            if kind in self._kinds and kind not in self.informers:
                self._follow(kind)
        return self.feed.subscribe(topics)

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

    def policies(self) -> list[Policy]:
        """All policies that may be read."""
        informers = (self.informers.get(kind) for kind in (POLICIES, WIDE_POLICIES))
        return [policy for one in informers if one is not None and one.has_synced for policy in one.values()]

    async def policy_rows(self, make: Callable[["Board"], Awaitable[Any]]) -> bytes:
        """What `make` says of policies, encoded; made again when policies, or what they hold, changed."""
        async with self._making_policies:
            if self._policies:
                return self._policies
            version, made = self._policies_version, orjson.dumps(await make(self))
            if version == self._policies_version:
                self._policies = made
            return made

    def _forget_policies(self) -> None:
        self._policies = b""
        self._policies_version += 1

    def overview(self) -> JSONObject:
        """Everything at a glance."""
        clusters = self.cluster_rows()
        return {
            "clusters": clusters,
            "workloads": self._tally.counts(),
            "problems": problems(clusters, self._tally.ill.values()),
            "moves": list(reversed(self.moves)),
        }

    def snapshot(self, topic: str) -> bytes:
        """A topic as it is."""
        whole: list[Any] = []
        more = topic in ON_DEMAND or topic == "policies"
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

    def _follow(self, kind: GroupVersionResource) -> None:
        scope = Scope(scope_of(kind, self._namespace))
        codec = _CODECS.get(kind) or digests(row_maker(kind))
        informer = Informer(self.relay, kind, codec, scope, clock=self._clock)
        handle = self._handlers().get(kind, self._workload_changed)
        informer.add_handler(lambda changes: handle(kind, changes))
        self.informers[kind] = informer
        self._supervisor.start(kind.resource, informer.run)

    def _handlers(self) -> dict[GroupVersionResource, Callable[[GroupVersionResource, list[Change[Any]]], None]]:
        return {
            CLUSTERS: self._cluster_changed,
            POLICIES: self._policy_changed,
            WIDE_POLICIES: self._policy_changed,
            EVENTS: self._event_changed,
            WORKS: self._work_changed,
        }

    def _cluster_changed(self, kind: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        for change in changes:
            name = change.key.name
            if change.new is None:
                self.clusters.pop(name, None)
            else:
                self.clusters[name] = change.new.value
        self.feed.touch(clusters={change.key.name for change in changes})

    def _policy_changed(self, kind: GroupVersionResource, changes: list[Change[Policy]]) -> None:
        self._forget_policies()
        self.feed.touch(topics=("policies",))

    def _event_changed(self, kind: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        events = [one.new.value for one in changes if one.new is not None and not one.initial]
        self.feed.touch(events={row["id"]: row for row in events})

    def _work_changed(self, kind: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        if any(not one.initial and (one.new and one.new.value) != (one.old and one.old.value) for one in changes):
            self.feed.touch(topics=("drift",))

    def _workload_changed(self, kind: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        clusters: set[str] = set()
        touched: dict[str, Ref] = {}
        claimed = False
        for change in changes:
            before = change.old.value if change.old is not None else None
            after = change.new.value if change.new is not None else None
            row = after or before
            assert row is not None
            key = key_of(row["ref"])
            table = self._templates if kind in TEMPLATES else self._bindings
            if after is None:
                table.pop(key, None)
            else:
                table[key] = after
            claimed = claimed or _claim(before) != _claim(after)
            self._tally.note(key, self.workload(key))
            if kind not in TEMPLATES:
                clusters |= self._count(before, -1) | self._count(after, 1)
                if not change.initial:
                    self._note_move(before, after)
            elif key in self._bindings:
                continue
            touched[key] = row["ref"]
        if claimed:
            self._forget_policies()
        self.feed.touch(clusters, touched, topics=("policies",) if claimed else ())

    def _count(self, row: JSONObject | None, step: int) -> set[str]:
        """Count a workload in (or out of) its clusters; which they are."""
        names = {one["name"] for one in row["clusters"]} if row is not None else set()
        for name in names:
            self._held[name] = self._held.get(name, 0) + step
        return names

    def _note_move(self, before: JSONObject | None, after: JSONObject | None) -> None:
        old, new = _shares(before), _shares(after)
        if old == new:
            return
        row = after or before
        assert row is not None
        self._moved = True
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

    def _change(self, topic: str, changes: Changes) -> bytes:
        """What changed of a topic, encoded; empty if nothing did."""
        match topic:
            case "overview":
                return self._overview_change(changes)
            case "clusters":
                return self._rows(topic, *self._cluster_changes(changes))
            case "workloads":
                return self._rows(topic, *self._workload_changes(changes.workloads))
            case "events":
                whole = len(changes.events) <= EVENTS_AT_ONCE
                return self._rows(topic, [*changes.events.values()] if whole else [], [], not whole)
            case "policies" | "drift":
                return self._rows(topic, [], [], topic in changes.topics)
        key = topic.partition(":")[2]
        wanted = {key: changes.workloads[key]} if key in changes.workloads else {}
        return self._rows(topic, *self._workload_changes(wanted))

    def _rows(self, topic: str, there: list[JSONObject], lost: list[Ref], refetch: bool = False) -> bytes:
        if not there and not lost and not refetch:
            return b""
        return message({"topic": topic, "rows": there, "gone": lost, "refetch": refetch})

    def _cluster_changes(self, changes: Changes) -> tuple[list[JSONObject], list[Ref]]:
        there = [self._cluster(name) for name in sorted(changes.clusters) if name in self.clusters]
        gone = sorted(changes.clusters - self.clusters.keys())
        return there, [ref(CLUSTER_VERSION, "Cluster", "", name) for name in gone]

    def _workload_changes(self, wanted: dict[str, Ref]) -> tuple[list[JSONObject], list[Ref]]:
        found = {key: self.workload(key) for key in wanted}
        there = [row for row in found.values() if row is not None]
        return there, [wanted[key] for key, row in found.items() if row is None]

    def _overview_change(self, changes: Changes) -> bytes:
        """Clusters that changed, counts, and what else is not as in the message before."""
        if not changes.clusters and not changes.workloads:
            return b""
        there, lost = self._cluster_changes(changes)
        row: JSONObject = {"clusters": there, "workloads": self._tally.counts()}
        ill = problems(self.clusters.values(), self._tally.ill.values())
        if ill != self._problems:
            self._problems = row["problems"] = ill
        if self._moved:
            self._moved = False
            row["moves"] = list(reversed(self.moves))
        return message({"topic": "overview", "rows": [row], "gone": lost})


def _shares(row: JSONObject | None) -> dict[str, int]:
    return {one["name"]: one["replicas"] or 0 for one in row["clusters"]} if row is not None else {}


def _claim(row: JSONObject | None) -> Any:
    """What of a workload decides which policies choose it and which holds it."""
    return (row["policy"], row.get("labels")) if row is not None else None


_CODECS: dict[GroupVersionResource, Codec[Any]] = {
    POLICIES: structs(PropagationPolicy),
    WIDE_POLICIES: structs(ClusterPropagationPolicy),
}


def _order(row: JSONObject) -> tuple[str, str, str]:
    reference = row["ref"]
    return reference["namespace"], reference["kind"], reference["name"]
