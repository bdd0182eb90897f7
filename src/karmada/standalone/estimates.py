"""What fits into members, asked in this process instead of from estimators beside them.

A member's nodes, pods and quotas are followed from the first question about it on; a federation that never asks pays
nothing. A member that is not reached in time has no opinion, and the general estimate stands.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import FeatureGates
from karmada.estimator.estimate import Answers, EstimateError
from karmada.estimator.main import Waiting
from karmada.estimator.state import MemberState
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.informer import Informer
from karmada.machinery.supervisor import Supervisor
from karmada.membership.members import Member, Members, MemberUnavailable
from karmada.scheduler.core.amounts import NO_OPINION
from karmada.scheduler.core.facts import Estimates
from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.estimators.connections import PENALTY
from karmada.scheduler.estimators.messages import ReplicasRequest, SetsRequest, UnschedulableRequest

log = logging.getLogger(__name__)

TIMEOUT = 3.0
COUNTING_GATES = ("ResourceQuotaEstimate", "SchedulingOvercommitProtection")
"""Gates that are about what estimates count: with one of them on members are asked, whatever else is configured."""


@dataclass(slots=True)
class _Followed:
    """A member whose state is kept; `left` ends that."""

    client: Client
    ready: "asyncio.Future[tuple[MemberState, Answers]]"
    left: asyncio.Event = field(default_factory=asyncio.Event)


class MemberEstimates:
    """Implements `scheduler.service.AccurateEstimator`, and answers the descheduler."""

    def __init__(
        self, members: Members, clusters: Informer[Cluster], supervisor: Supervisor, gates: FeatureGates, clock: Clock
    ) -> None:
        self._members = members
        self._clusters = clusters
        self._supervisor = supervisor
        self._gates = gates
        self._clock = clock
        self._followed: dict[str, _Followed] = {}
        self._silent: dict[str, float] = {}
        """Members that let a question wait in vain, and until when nobody waits for them again."""
        self._started = 0

    async def estimate(self, snapshot: Snapshot, binding: Binding, clusters: Sequence[str], sets: bool) -> Estimates:
        """What fits, by member; members without an opinion are left out."""
        answers = await asyncio.gather(*(self._room(snapshot, binding, name, sets) for name in clusters))
        return {name: answer for name, answer in zip(clusters, answers, strict=True) if answer >= 0}

    async def unschedulable(self, request: UnschedulableRequest) -> int:
        """Replicas that wait for a node; -1 when unknown."""
        known = await self._known(request.cluster)
        try:
            return NO_OPINION if known is None else Waiting(known[0], request.cluster, self._clock)(request)
        except EstimateError as error:
            log.debug("no answer for %s: %s", request.cluster, error)
            return NO_OPINION

    def forget(self, cluster: str) -> None:
        """The member is gone."""
        self._silent.pop(cluster, None)
        followed = self._followed.pop(cluster, None)
        if followed is not None:
            followed.left.set()

    async def _room(self, snapshot: Snapshot, binding: Binding, cluster: str, sets: bool) -> int:
        known = await self._known(cluster)
        if known is None:
            return NO_OPINION
        spec, assumed = binding.spec, snapshot.assumed.get(cluster, ())
        answers = known[1]
        try:
            if sets:
                return answers.sets(SetsRequest(cluster, spec.components, spec.resource.namespace, assumed))
            return answers.replicas(ReplicasRequest(cluster, spec.replica_requirements, assumed))
        except EstimateError as error:
            log.debug("no estimate of %s: %s", cluster, error)
            return NO_OPINION

    async def _known(self, name: str) -> tuple[MemberState, Answers] | None:
        cluster = self._clusters.get(name)
        if cluster is None or not self._members.concerns(cluster) or self._is_silent(name):
            return None
        try:
            async with asyncio.timeout(TIMEOUT):
                member = await self._members.connect(cluster)
                followed = self._followed.get(name)
                if followed is None or followed.client is not member.client:
                    self.forget(name)
                    followed = self._followed[name] = self._follow(name, member)
                return await asyncio.shield(followed.ready)
        except (ApiError, MemberUnavailable, TimeoutError) as error:
            log.debug("%s cannot be asked: %s", name, error)
            if isinstance(error, TimeoutError):
                self._silent[name] = self._clock.monotonic() + PENALTY
            return None

    def _is_silent(self, name: str) -> bool:
        """Whether a member has not loaded that a question waited for: it must not slow every decision down."""
        followed = self._followed.get(name)
        is_loaded = followed is not None and followed.ready.done()
        return not is_loaded and self._clock.monotonic() < self._silent.get(name, 0.0)

    def _follow(self, name: str, member: Member) -> _Followed:
        followed = _Followed(member.client, asyncio.get_running_loop().create_future())

        async def run() -> None:
            # On the caches of the connection: where estimates are asked for, counting keeps the same of nodes and pods.
            state = MemberState(member.informer)
            loading = asyncio.gather(*(informer.synced() for informer in state.informers))
            leaving = asyncio.ensure_future(followed.left.wait())
            try:
                await asyncio.wait((loading, leaving), return_when=asyncio.FIRST_COMPLETED)
                if loading.done() and not followed.ready.done():
                    followed.ready.set_result((state, Answers(name, state.member, self._gates)))
            finally:
                loading.cancel()
                leaving.cancel()

        self._started += 1
        self._supervisor.start(f"estimates of {name} {self._started}", run)
        return followed
