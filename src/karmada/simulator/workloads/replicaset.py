"""ReplicaSets and ReplicationControllers: as many pods as asked for, the least useful ones deleted first."""

from typing import Any

from karmada.machinery.clock import parse_rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result, Retry
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.adoption import Adoption, orphaned
from karmada.simulator.workloads.conditions import find, with_condition, without_condition
from karmada.simulator.workloads.context import OWNER, Workloads, foreign_changes
from karmada.simulator.workloads.kinds import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS
from karmada.simulator.workloads.pod_making import PodMaker, from_template, is_refusal, owner_name
from karmada.simulator.workloads.views import Pod

BURST = 500
"""Pods made or deleted in one go."""
COST = "controller.kubernetes.io/pod-deletion-cost"


class ReplicaSetController:
    """Reconciles ReplicaSets, deleting the least useful pods first."""

    COMPONENT = "replicaset-controller"
    KIND, TYPE = "ReplicaSet", REPLICA_SETS

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._sets = context.trees(self.TYPE)
        self._commit = Committer(context.client.resource(self.TYPE))
        self._maker = PodMaker(context, self.COMPONENT)
        self._adoption = Adoption(context.pods, context.client.resource(PODS))
        self.controller = context.controller(self.COMPONENT, self.reconcile, (self._sets, context.pods))
        self.controller.watch(self._sets, foreign_changes(self._commit))
        self.controller.watch(context.pods, self._owners)

    def _owners(self, change: Change[Pod]) -> list[Key]:
        if change.old is not None and change.new is not None and _face(change.old.value) == _face(change.new.value):
            return []
        self._maker.expectations.gone(change)
        owners = [Key(*which) for which in owner_name(change, self.KIND)]
        if change.new is None or not orphaned(change.new) or not self._sets.has_synced:
            return owners
        return [*owners, *(item.key for item in self._sets.all_items(change.key.namespace))]

    async def reconcile(self, key: Key) -> Result:
        """Bring one set to its size and report."""
        replica_set = self._sets.get(key.name, key.namespace)
        if replica_set is None:
            return DONE
        metadata, spec = replica_set["metadata"], replica_set["spec"]
        if await self._adoption.adopt(replica_set):
            return DONE
        strays = self._strays(replica_set)
        if strays and await self._adoption.release(replica_set, strays):
            return DONE
        pods = self._maker.owned(metadata["uid"])
        active = [pod for pod in pods if pod.is_active]
        failure: ApiError | None = None
        if not metadata.get("deletionTimestamp") and self._maker.expectations.satisfied(metadata["uid"], pods):
            missing = (1 if spec.get("replicas") is None else spec["replicas"]) - len(active)
            if missing > 0:
                failure = await self._grow(replica_set, min(missing, BURST))
            elif missing < 0:
                await self._maker.delete(replica_set, to_delete(active, -missing)[:BURST])
        now = self._context.clock.now()
        soonest = next_available(active, spec.get("minReadySeconds") or 0, now)
        stamp = self._context.now()
        await self._commit.commit(
            replica_set, lambda seen: seen | {"status": status_of(seen, pods, now, failure, stamp)}
        )
        if failure is not None:
            return Retry(failure)
        return RequeueAfter(soonest) if soonest is not None else DONE

    def _strays(self, replica_set: JSONObject) -> list[Item[Pod]]:
        """Pods of a set whose labels are not those of its template any more."""
        wanted = (replica_set["spec"]["template"].get("metadata") or {}).get("labels") or {}
        owned = self._context.pods.indexed_items(OWNER, replica_set["metadata"]["uid"])
        return [item for item in owned if not wanted.items() <= (item.value.metadata.labels or {}).items()]

    async def _grow(self, replica_set: JSONObject, count: int) -> ApiError | None:
        template = replica_set["spec"]["template"]
        prefix = f"{replica_set['metadata']['name']}-"
        pods = [from_template(replica_set, template, generateName=prefix) for _ in range(count)]
        return await self._maker.create(replica_set, pods)


class ReplicationControllerController(ReplicaSetController):
    """Reconciles ReplicationControllers, which are ReplicaSets with another form of selector."""

    COMPONENT = "replication-controller"
    KIND, TYPE = "ReplicationController", REPLICATION_CONTROLLERS


def _face(pod: Pod) -> tuple[object, ...]:
    """What a set sees of a pod; that it was assigned to a node, for example, changes nothing for it."""
    meta = pod.metadata
    return meta.owner_references, meta.labels, pod.is_deleted, pod.is_finished, pod.ready_since


_ALWAYS = frozenset({"replicas", "terminatingReplicas", "observedGeneration"})


def to_delete(active: list[Pod], count: int) -> list[Pod]:
    """The pods that are missed least: unassigned before assigned, pending before running, not ready before ready,
    cheap before dear, ready for a short time before ready for long, young before old."""

    def rank(pod: Pod) -> tuple[Any, ...]:
        cost = (pod.metadata.annotations or {}).get(COST, "0")
        ready = pod.ready_since
        return (
            bool(pod.spec.node_name),
            {"Pending": 0, "Unknown": 1}.get(pod.status.phase, 2),
            ready is not None,
            int(cost) if cost.lstrip("+-").isdecimal() else 0,
            Newest(ready or ""),
            Newest(pod.metadata.creation_timestamp or ""),
            pod.metadata.name,
        )

    return sorted(active, key=rank)[:count]


class Newest(str):
    """Timestamps, latest first."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def is_available(pod: Pod, min_ready: int, now: float) -> bool:
    """Whether a pod has been ready for long enough."""
    since = pod.ready_since
    return since is not None and (not min_ready or not since or parse_rfc3339(since) + min_ready <= now)


def next_available(pods: list[Pod], min_ready: int, now: float) -> float | None:
    """Seconds until the next ready pod counts as available; None when none is waiting."""
    if not min_ready:
        return None
    waits = [parse_rfc3339(since) + min_ready - now for pod in pods if (since := pod.ready_since)]
    return min((wait for wait in waits if wait > 0), default=None)


def status_of(replica_set: JSONObject, pods: list[Pod], now: float, failure: ApiError | None, stamp: str) -> JSONObject:
    """The status of a set with these pods."""
    active = [pod for pod in pods if pod.is_active]
    spec, old = replica_set["spec"], replica_set.get("status") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    wanted = labels.items()
    status: JSONObject = {
        "replicas": len(active),
        "fullyLabeledReplicas": sum(wanted <= (pod.metadata.labels or {}).items() for pod in active),
        "readyReplicas": sum(pod.is_ready for pod in active),
        "availableReplicas": sum(is_available(pod, spec.get("minReadySeconds") or 0, now) for pod in active),
        "terminatingReplicas": sum(pod.is_deleted for pod in pods),
        "observedGeneration": replica_set["metadata"].get("generation", 0),
    }
    if replica_set["kind"] == ReplicationControllerController.KIND:
        del status["terminatingReplicas"]
    status = {name: value for name, value in status.items() if value or name in _ALWAYS}
    conditions = old.get("conditions") or []
    if failure is not None and is_refusal(failure):
        # Only the first refusal is reported: each names another pod, and writing them all would never end.
        conditions = (
            conditions
            if find(conditions, "ReplicaFailure")
            else with_condition(conditions, "ReplicaFailure", "True", "FailedCreate", failure.message, stamp)
        )
    elif failure is None and len(active) >= (spec.get("replicas") or 0):
        conditions = without_condition(conditions, "ReplicaFailure")
    if conditions:
        status["conditions"] = conditions
    return status
