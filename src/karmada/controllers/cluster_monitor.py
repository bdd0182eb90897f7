"""Cluster monitor: notices that the agent of a pull cluster has gone silent.

A sign of life is a new Ready condition or a renewed lease. Only changes count, by this process's own clock: an agent
whose clock is wrong is as alive as any other. After a restart every agent has its full grace period again.
"""

from dataclasses import dataclass

import msgspec

from karmada.api import conditions, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import Condition, find_condition, set_condition
from karmada.controllers.context import Context
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.errors import NotFound
from karmada.machinery.flags import seconds
from karmada.machinery.informers.cache import Change, is_older
from karmada.machinery.informers.informer import Informer
from karmada.machinery.leader import LEASES
from karmada.machinery.options import flag
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject

COMPONENT = "cluster-monitor"
NEVER = "Cluster status controller never posted cluster status."
STOPPED = "Cluster status controller stopped posting cluster status."


@dataclass(frozen=True, slots=True)
class MonitorOptions:
    """How often to look, and how long an agent may be silent."""

    period: float = flag(5.0, seconds, "How often leases of agents are checked.", "--cluster-monitor-period")
    grace: float = flag(40.0, seconds, "How long an agent may be silent.", "--cluster-monitor-grace-period")
    startup_grace: float = flag(60.0, seconds, "How long a new agent may be silent.", "--cluster-startup-grace-period")


@dataclass(slots=True)
class Sign:
    """The last sign of life of an agent, and when it was seen here."""

    ready: Condition | None
    renewed: str
    version: str
    """The state of the lease that said so."""
    at: float


class ClusterMonitor:
    """Sets Ready to Unknown on pull clusters whose agent has stopped reporting."""

    def __init__(self, context: Context, options: MonitorOptions) -> None:
        self._clock = context.clock
        self._options = options
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._leases: Informer[JSONObject] = context.informers.resource(LEASES, Scope(names.CLUSTER_NAMESPACE))
        self._server = context.client.resource(LEASES)
        self._commit = Committer(context.client.of(Cluster))
        self._signs: dict[str, Sign] = {}
        self.controller: Controller[str] = Controller(
            COMPONENT,
            self.reconcile,
            workers=5,
            needs=(self._clusters, self._leases),
            # An API server that was away must not make this check less often than configured.
            retries=BackoffPolicy(initial=0.005, maximum=options.period, jitter=0.1),
            clock=context.clock,
        )
        self.controller.watch(self._clusters, _new_cluster)

    async def reconcile(self, name: str) -> Result:
        """Look at one cluster, and again after a while."""
        cluster = self._clusters.get(name)
        if cluster is None or cluster.spec.sync_mode != "Pull":
            self._signs.pop(name, None)
            return DONE
        sign = self._observe(cluster, self._leases.get(name, names.CLUSTER_NAMESPACE))
        if self._is_silent(cluster, sign):
            # A watch that has stalled looks like an agent that has: the server knows.
            sign = self._observe(cluster, await self._lease(name), is_certain=True)
        if self._is_silent(cluster, sign):
            if sign.ready is None:
                await self._give_up(cluster, sign, conditions.REASON_STATUS_NEVER_UPDATED, NEVER)
            else:
                await self._give_up(cluster, sign, conditions.REASON_STATUS_UNKNOWN, STOPPED)
        return RequeueAfter(self._options.period)

    def _is_silent(self, cluster: Cluster, sign: Sign) -> bool:
        """Whether an agent has not given a sign of life for too long."""
        silent = self._clock.monotonic() - sign.at
        if sign.ready is not None:
            return silent > self._options.grace and sign.ready.status != "Unknown"
        age = self._clock.now() - parse_rfc3339(cluster.metadata.creation_timestamp or rfc3339(0))
        return min(silent, age) > self._options.startup_grace or (bool(sign.renewed) and silent > self._options.grace)

    async def _lease(self, name: str) -> JSONObject | None:
        try:
            return await self._server.get(name, names.CLUSTER_NAMESPACE)
        except NotFound:
            return None

    def _observe(self, cluster: Cluster, lease: JSONObject | None, *, is_certain: bool = False) -> Sign:
        """The last sign of life, be it this one. A lease older than one that was seen is none, unless the server itself
        shows it, restored from a backup."""
        name = cluster.metadata.name
        ready = _ready(cluster)
        renewed, version = ("", "") if lease is None else (_renewed(lease), lease["metadata"]["resourceVersion"])
        known = self._signs.get(name)
        if known is not None and (lease is None or (not is_certain and is_older(version, known.version))):
            renewed, version = known.renewed, known.version
        if known is None or (known.ready, known.renewed) != (ready, renewed):
            known = Sign(ready, renewed, version, self._clock.monotonic())
        self._signs[name] = known
        return known

    async def _give_up(self, cluster: Cluster, sign: Sign, reason: str, message: str) -> None:
        unknown = Condition(
            type=conditions.READY,
            status="Unknown",
            reason=reason,
            message=message,
            last_transition_time=rfc3339(self._clock.now()),
        )

        def decide(current: Cluster) -> Cluster:
            if _ready(current) != sign.ready:
                return current  # the agent spoke up just now
            found = set_condition(current.status.conditions, unknown)
            status = msgspec.structs.replace(current.status, conditions=found)
            return msgspec.structs.replace(current, status=status)

        await self._commit.commit(cluster, decide)


def _renewed(lease: JSONObject) -> str:
    return str((lease.get("spec") or {}).get("renewTime", ""))


def _ready(cluster: Cluster) -> Condition | None:
    return find_condition(cluster.status.conditions, conditions.READY)


def _new_cluster(change: Change[Cluster]) -> list[str]:
    if change.new is None or change.old is None:
        return [change.key.name]
    before, after = change.old.value.spec.sync_mode, change.new.value.spec.sync_mode
    return [change.key.name] if before != after else []
