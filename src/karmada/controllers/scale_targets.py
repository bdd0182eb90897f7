"""Scales what a CronFederatedHPA names: the bounds of a FederatedHPA, or the replicas of any kind that has a scale."""

import msgspec

from karmada.api.autoscaling.v1alpha1 import CronFederatedHPARule, CrossVersionObjectReference, FederatedHPA
from karmada.machinery.client import Client
from karmada.machinery.committer import Absent, Committer

AUTOSCALING = "autoscaling.karmada.io/v1alpha1"


class ScaleError(Exception):
    """A target that a rule cannot scale; the message says why."""


class ScaleTargets:
    """Scales targets; writes only what differs."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._autoscalers = Committer(client.of(FederatedHPA))

    async def scale(self, target: CrossVersionObjectReference, namespace: str, rule: CronFederatedHPARule) -> None:
        """Do to a target what a rule says; raises `ScaleError` and `ApiError`."""
        if target.api_version == AUTOSCALING:
            await self._bound(target, namespace, rule)
        else:
            await self._replicate(target, namespace, rule)

    async def _bound(self, target: CrossVersionObjectReference, namespace: str, rule: CronFederatedHPARule) -> None:
        if target.kind != "FederatedHPA":
            raise ScaleError(f"spec.scaleTargetRef.kind: {target.kind} of {AUTOSCALING} has no replicas to scale")
        seen = await self._client.of(FederatedHPA).get(target.name, namespace)

        def bounded(current: FederatedHPA) -> FederatedHPA:
            spec = current.spec
            if rule.target_max_replicas is not None:
                spec = msgspec.structs.replace(spec, max_replicas=rule.target_max_replicas)
            if rule.target_min_replicas is not None:
                spec = msgspec.structs.replace(spec, min_replicas=rule.target_min_replicas)
            return current if spec == current.spec else msgspec.structs.replace(current, spec=spec)

        if isinstance(await self._autoscalers.commit(seen, bounded), Absent):
            raise ScaleError(f"FederatedHPA {namespace}/{target.name} was deleted")

    async def _replicate(self, target: CrossVersionObjectReference, namespace: str, rule: CronFederatedHPARule) -> None:
        if rule.target_replicas is None:
            raise ScaleError(f"rule {rule.name}: targetReplicas is missing, which a {target.kind} is scaled to")
        served = await self._client.mapper.of_kind(target.api_version, target.kind)
        if not served.namespaced:
            raise ScaleError(f"spec.scaleTargetRef.kind: {target.kind} is cluster-scoped; name a namespaced workload")
        if "scale" not in served.subresources:
            raise ScaleError(f"spec.scaleTargetRef.kind: {target.kind} has no scale; name a kind that has replicas")
        workloads = self._client.resource(served.type)
        if await workloads.scale(target.name, namespace) != rule.target_replicas:
            await workloads.set_scale(target.name, rule.target_replicas, namespace)
