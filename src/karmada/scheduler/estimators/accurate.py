"""The accurate estimator: asks the estimators of all members at once, under one deadline.

A member without an answer keeps the general estimate; those that answer are not held back by it. Negative answers are
no opinion. (The reference drops all answers when one is missing; that makes decisions depend on the worst member.)
"""

import asyncio
from collections.abc import Sequence

from karmada.api.cluster.v1alpha1 import ClusterSyncMode
from karmada.api.protobuf_wire import ProtobufError
from karmada.api.quantity import QuantityError
from karmada.scheduler.core.amounts import NO_OPINION
from karmada.scheduler.core.facts import Estimates
from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.estimators.connections import Connections
from karmada.scheduler.estimators.messages import (
    MAX_REPLICAS,
    MAX_SETS,
    UNSCHEDULABLE,
    Answer,
    ReplicasRequest,
    SetsRequest,
    UnschedulableRequest,
)


class GrpcEstimator:
    """Asks the estimators of all members at once, under one deadline."""

    def __init__(self, connections: Connections, skip_pull_mode: bool = False) -> None:
        self._connections = connections
        self._skip_pull_mode = skip_pull_mode

    async def estimate(self, snapshot: Snapshot, binding: Binding, clusters: Sequence[str], sets: bool) -> Estimates:
        """What fits, by member; members without an opinion are left out."""
        names = [name for name in clusters if not (self._skip_pull_mode and _pulls(snapshot, name))]
        try:
            questions = [(name, self._question(snapshot, binding, name, sets)) for name in names]
        except QuantityError:
            return {}
        method = MAX_SETS if sets else MAX_REPLICAS
        answers = await asyncio.gather(*(self._ask(name, method, question) for name, question in questions))
        return {name: answer for name, answer in zip(names, answers, strict=True) if answer >= 0}

    async def unschedulable(self, request: UnschedulableRequest) -> int:
        """Replicas that wait for a node; -1 when unknown."""
        return await self._ask(request.cluster, UNSCHEDULABLE, request.encode())

    def forget(self, cluster: str) -> None:
        """The member is gone."""
        self._connections.forget(cluster)

    async def _ask(self, cluster: str, method: str, question: bytes) -> int:
        data = await self._connections.ask(cluster, method, question)
        if data is None:
            return NO_OPINION
        try:
            return Answer.decode(data).number
        except ProtobufError:
            return NO_OPINION

    def _question(self, snapshot: Snapshot, binding: Binding, cluster: str, sets: bool) -> bytes:
        assumed = snapshot.assumed.get(cluster, ())
        spec = binding.spec
        if sets:
            return SetsRequest(cluster, spec.components, spec.resource.namespace, assumed).encode()
        return ReplicasRequest(cluster, spec.replica_requirements, assumed).encode()


def _pulls(snapshot: Snapshot, name: str) -> bool:
    cluster = snapshot.clusters.get(name)
    return cluster is not None and cluster.spec.sync_mode == ClusterSyncMode.PULL
