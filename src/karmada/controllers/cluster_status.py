"""Cluster status controller: asks each member how it is and writes what it says.

Probes run apart: a member that hangs delays no other, and costs nothing but its own deadline. A change of readiness is
published only when it has lasted (`membership.thresholds`); while a member is not ready nothing but its condition is
written, and what was known about it stays. A cluster that leaves is asked until it is gone: its Works are released once
it is seen not to be ready. What a member does not report keeps its last value; an event says why. A member that sends
what no API server may send is not ready from then on: it is cut off, and its condition and an event say for what.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import TypeVar

import msgspec

from karmada.api import conditions, events, finalizers
from karmada.api.cluster.v1alpha1 import APIEnablement, APIResource, Cluster, ClusterStatus
from karmada.api.meta import Condition, find_condition, set_condition
from karmada.controllers.context import Context
from karmada.controllers.objects import with_condition
from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.clock import rfc3339
from karmada.machinery.codec import reading
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import ApiError, BadAnswer, NotFound, Timeout, Unavailable
from karmada.machinery.events import ObjectReference
from karmada.machinery.flags import seconds
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.limits import ENABLEMENTS, printable
from karmada.machinery.options import flag
from karmada.machinery.os_errors import spelled
from karmada.machinery.sharding.ownership import Ownership
from karmada.machinery.throttle import ThrottledLog
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.members import Member, Members, MemberUnavailable
from karmada.membership.thresholds import ReadinessThreshold

log = logging.getLogger(__name__)
T = TypeVar("T")
COMPONENT = "cluster-status-controller"
DEFINITIONS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
LONGEST_VERSION = 100
READY_MESSAGE = "cluster is healthy and ready to accept workloads"


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""


_version = msgspec.json.Decoder(_Version)


@dataclass(frozen=True, slots=True)
class StatusOptions:
    """How often members are asked, and how long a change must last."""

    period: float = flag(10.0, seconds, "How often members are probed.", "--cluster-status-update-frequency")
    success_threshold: float = flag(
        30.0, seconds, "How long a cluster must be healthy to become Ready.", "--cluster-success-threshold"
    )
    failure_threshold: float = flag(
        30.0, seconds, "How long a cluster must be unhealthy to become not Ready.", "--cluster-failure-threshold"
    )
    probe_timeout: float = 10.0
    count_timeout: float = 10.0
    """How long the first count of a member's nodes and pods may take before its status goes without."""
    modeling: bool = flag(
        True, str, "Count nodes by the grades of resource models.", "--enable-cluster-resource-modeling"
    )


@dataclass(frozen=True, slots=True)
class Health:
    """What one probe saw."""

    status: str
    reason: str
    message: str


class ClusterStatusController:
    """Probes members and writes their status."""

    def __init__(self, context: Context, members: Members, options: StatusOptions) -> None:
        self._context = context
        self._members = members
        self._options = options
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._commit = Committer(context.client.of(Cluster))
        self._recorder = context.recorder(COMPONENT)
        self._log = ThrottledLog(log, context.clock.monotonic)
        self._threshold = ReadinessThreshold(options.success_threshold, options.failure_threshold)
        self._definitions: dict[str, Informer[JSONObject]] = {}
        self._enablements: dict[str, tuple[tuple[ApiResource, ...], tuple[APIEnablement, ...]]] = {}
        """What each member's discovery said last, and how it is reported."""
        self.controller: Controller[str] = Controller(
            COMPONENT,
            self.reconcile,
            workers=64,
            # A lane each: those who do not answer hold up no look at the others, however many they are.
            lane=lambda name: name,
            lane_limit=1,
            needs=(self._clusters,),
            deadline=options.probe_timeout + options.count_timeout + 60,
            # A report that could not be written is no reason to fall silent: that would make the cluster unknown.
            retries=BackoffPolicy(initial=0.005, maximum=options.period, jitter=0.1),
            clock=context.clock,
        )
        self.controller.watch(self._clusters, _changed)

    async def reconcile(self, name: str) -> Result:
        """Ask one member and write its status."""
        cluster = self._clusters.get(name)
        if cluster is None:
            self._forget(name)
            await self._members.forget(name)
            return DONE
        if not self._members.concerns(cluster) or finalizers.CLUSTER not in cluster.metadata.finalizers:
            return DONE
        try:
            member = await self._members.connect(cluster)
        except MemberUnavailable as error:
            health = Health(
                "False", conditions.REASON_STATUS_COLLECTION_FAILED, f"failed to get cluster client: {error}"
            )
            await self._write(cluster, health, None)
            return RequeueAfter(self._options.period)
        member.on_offence(lambda: self.controller.enqueue(name))
        self._follow_definitions(member)
        started = perf_counter()
        health, collected = await self._look(member, cluster)
        self._context.metrics.cluster_status.observe(perf_counter() - started, name)
        await self._write(cluster, health, collected)
        return RequeueAfter(self._options.period)

    def _forget(self, name: str) -> None:
        self._threshold.forget(name)
        self._definitions.pop(name, None)
        self._enablements.pop(name, None)

    async def lost(self, ownership: Ownership, shard: int) -> None:
        """The clusters of a shard are another replica's now. What is not divided may follow any of them, in the replica
        that holds the first shard."""
        for item in self._clusters.all_items():
            name = item.key.name
            if ownership.shard(name) == shard:
                self._forget(name)
                if not ownership.holds(0):
                    await self._members.forget(name)

    async def _look(self, member: Member, cluster: Cluster) -> tuple[Health, ClusterStatus | None]:
        """How a member is, and what it says of itself if it is well."""
        if complaint := member.complaint():
            return self._misbehaving(cluster, complaint), None
        try:
            health = await self._probe(member)
            if health.status != "True":
                return health, None
            return health, await self._collect(member, cluster)
        except BadAnswer as error:
            member.blame(error)
            return self._misbehaving(cluster, printable(str(error))), None

    def _misbehaving(self, cluster: Cluster, complaint: str) -> Health:
        text = f"cluster is cut off because it misbehaves: {complaint}"
        reason = conditions.REASON_CLUSTER_MISBEHAVING
        self._recorder.event(ObjectReference.to(cluster), events.WARNING, reason, text)
        self._log.warning(cluster.metadata.name, "%s: %s", cluster.metadata.name, text)
        return Health("False", reason, text)

    def _follow_definitions(self, member: Member) -> None:
        """Look again as soon as a kind that was sent there is served: what is of that kind waits for it."""
        informer = member.managed(DEFINITIONS)
        if self._definitions.get(member.name) is not informer:
            self._definitions[member.name] = informer
            informer.add_handler(lambda changes: self._definitions_changed(member.name, changes))

    def _definitions_changed(self, cluster: str, changes: list[Change[JSONObject]]) -> None:
        if not all(change.initial for change in changes):
            self.controller.enqueue(cluster)

    async def _probe(self, member: Member) -> Health:
        try:
            async with asyncio.timeout(self._options.probe_timeout):
                try:
                    await member.client.transport.raw("GET", "/readyz")
                except NotFound:
                    await member.client.transport.raw("GET", "/healthz")
        except (Timeout, Unavailable, TimeoutError) as error:
            why = printable(spelled(error)) or f"no answer within {self._options.probe_timeout:g} s"
            return Health("False", conditions.REASON_CLUSTER_NOT_REACHABLE, f"cluster is not reachable: {why}")
        except BadAnswer:
            raise
        except ApiError as error:
            text = f"cluster is reachable but health endpoint responded without ok: {printable(str(error))}"
            return Health("False", conditions.REASON_CLUSTER_NOT_READY, text)
        return Health("True", conditions.REASON_CLUSTER_READY, READY_MESSAGE)

    async def _collect(self, member: Member, cluster: Cluster) -> ClusterStatus:
        status = cluster.status
        version = status.kubernetes_version
        found = status.conditions
        enablements = status.api_enablements
        try:
            answer = await member.client.transport.raw("GET", "/version")
            version = printable(reading(_version.decode, answer).git_version, LONGEST_VERSION)
            mapper = member.client.mapper
            await mapper.refresh()
            enablements = self._enabled(member.name, mapper.known)
            found = _enablement_condition(found, len(enablements), mapper.stale, self._context.clock.now())
        except BadAnswer:
            raise
        except ApiError as error:
            self._record(cluster, f"Failed to collect versions and APIs: {printable(str(error))}")
        changed = msgspec.structs.replace(
            status, kubernetes_version=version, api_enablements=enablements, conditions=found
        )
        try:
            async with asyncio.timeout(self._options.count_timeout):
                summary = await member.count(cluster.spec.resource_models if self._options.modeling else ())
        except TimeoutError:
            reason = member.trouble() or f"they are not all read after {self._options.count_timeout:g} s"
            self._record(cluster, f"Failed to count nodes and pods: {printable(reason)}")
            return changed
        return msgspec.structs.replace(changed, node_summary=summary.nodes, resource_summary=summary.resources)

    def _enabled(self, cluster: str, resources: tuple[ApiResource, ...]) -> tuple[APIEnablement, ...]:
        """What `enablements_of` says, worked out anew only when discovery said something new."""
        before = self._enablements.get(cluster)
        if before is None or before[0] is not resources:
            listed = enablements_of(resources)
            if len(msgspec.json.encode(listed)) > ENABLEMENTS:
                raise BadAnswer(f"the list of what the cluster serves has more than {ENABLEMENTS} bytes")
            before = self._enablements[cluster] = (resources, listed)
        return before[1]

    def _record(self, cluster: Cluster, text: str) -> None:
        self._recorder.event(
            ObjectReference.to(cluster), events.WARNING, conditions.REASON_STATUS_COLLECTION_FAILED, text
        )

    async def _write(self, cluster: Cluster, health: Health, collected: ClusterStatus | None) -> None:
        now = self._context.clock.now()
        shown = find_condition(cluster.status.conditions, conditions.READY)
        word = self._threshold.publish(
            cluster.metadata.name, health.status, shown.status if shown else None, self._context.clock.monotonic()
        )
        if health.reason == conditions.REASON_CLUSTER_MISBEHAVING:
            word = health.status  # one such answer is enough, unlike a probe that failed
        if word != health.status and shown is not None:
            ready = shown
        else:
            ready = Condition(
                type=conditions.READY,
                status=word,
                reason=health.reason,
                message=health.message,
                last_transition_time=rfc3339(now),
            )
        base = collected if collected is not None and word == "True" else None

        def decide(current: Cluster) -> Cluster:
            status = current.status
            if base is not None:
                status = _taken_over(status, base)
            found = set_condition(status.conditions, ready)
            return msgspec.structs.replace(current, status=msgspec.structs.replace(status, conditions=found))

        await self._commit.commit(cluster, decide)


def enablements_of(resources: Iterable[ApiResource]) -> tuple[APIEnablement, ...]:
    """What a member serves, by group version, resources by name."""
    grouped: dict[str, list[APIResource]] = {}
    for resource in resources:
        grouped.setdefault(resource.api_version, []).append(
            APIResource(name=resource.type.resource, kind=resource.kind)
        )
    return tuple(
        APIEnablement(group_version=version, resources=tuple(sorted(grouped[version], key=lambda r: r.name)))
        for version in sorted(grouped)
    )


def _enablement_condition(
    found: tuple[Condition, ...], number: int, stale: frozenset[str], now: float
) -> tuple[Condition, ...]:
    complete = bool(number) and not stale
    if complete:
        reason, text = conditions.REASON_API_COMPLETE, "collected complete APIEnablements from the cluster"
    elif number:
        missing = ", ".join(sorted(stale)[:10])
        text = f"collected {number} APIEnablements from the cluster; no answer about: {missing}"
        reason = conditions.REASON_API_PARTIAL
    else:
        reason, text = conditions.REASON_API_EMPTY, "collected no APIEnablements from the cluster"
    return with_condition(found, conditions.COMPLETE_API_ENABLEMENTS, complete, reason, text, now)


def _taken_over(status: ClusterStatus, collected: ClusterStatus) -> ClusterStatus:
    """A status with what was collected. The rest is others', and may have changed while the member was asked."""
    found = status.conditions
    for condition in collected.conditions:
        if condition.type == conditions.COMPLETE_API_ENABLEMENTS:
            found = set_condition(found, condition)
    return msgspec.structs.replace(
        status,
        kubernetes_version=collected.kubernetes_version,
        api_enablements=_same(status.api_enablements, collected.api_enablements),
        node_summary=_same(status.node_summary, collected.node_summary),
        resource_summary=_same(status.resource_summary, collected.resource_summary),
        conditions=found,
    )


def _same(before: T, now: T) -> T:
    """What is there already if it says the same: then nobody encodes both to find that out, for every cluster every ten
    seconds."""
    return before if before == now else now


def _changed(change: Change[Cluster]) -> list[str]:
    if change.new is None:
        return [change.key.name]
    if change.old is not None:
        before, after = change.old.value.metadata, change.new.value.metadata
        if before.generation == after.generation and before.finalizers == after.finalizers:
            return []
    return [change.key.name]
