"""ClusterTaintPolicy controller: taints that policies put on clusters, and take off them, by their conditions.

Runs with the gate Failover. Deleting a policy leaves its taints; what others put on a cluster is never touched.
"""

import msgspec

from karmada.api import events
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import ClusterTaintPolicy
from karmada.controllers.cluster import spelled
from karmada.controllers.context import Context
from karmada.machinery.clock import rfc3339
from karmada.machinery.committer import Committer, Written
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.errors import ApiError
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.membership.taint_policies import apply_taint_policies

COMPONENT = "cluster-taint-policy-controller"


class ClusterTaintPolicyController:
    """Adds and removes the taints that ClusterTaintPolicies ask for."""

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._policies: Informer[ClusterTaintPolicy] = context.informers.of(ClusterTaintPolicy)
        self._recorder = context.recorder(COMPONENT)
        self._commit = Committer(context.client.of(Cluster))
        self.controller: Controller[str] = Controller(
            COMPONENT,
            self.reconcile,
            workers=5,
            needs=(self._clusters, self._policies),
            clock=context.clock,
        )
        self.controller.watch(self._clusters, _conditions_changed)
        self.controller.watch(self._policies, self._policy_changed)

    async def reconcile(self, name: str) -> Result:
        """Bring one cluster's taints in line with all policies."""
        cluster = self._clusters.get(name)
        policies = self._policies.values()
        if cluster is None or cluster.metadata.deletion_timestamp is not None or not policies:
            return DONE
        now = rfc3339(self._clock.now())

        def decide(current: Cluster) -> Cluster:
            taints = apply_taint_policies(current, policies, now)
            if taints == current.spec.taints:
                return current
            return msgspec.structs.replace(current, spec=msgspec.structs.replace(current.spec, taints=taints))

        try:
            outcome = await self._commit.commit(cluster, decide)
        except ApiError as error:
            text = f"Update Cluster({name}) with taints failed: {error}"
            self._recorder.event(ObjectReference.to(cluster), events.WARNING, events.TAINT_CLUSTER.failed, text)
            raise
        if isinstance(outcome, Written):
            text = f"Update Cluster({name}) with taints(cluster now {spelled(outcome.value.spec.taints)}) succeed"
            self._recorder.event(ObjectReference.to(cluster), events.NORMAL, events.TAINT_CLUSTER.succeeded, text)
        return DONE

    def _policy_changed(self, change: Change[ClusterTaintPolicy]) -> list[str]:
        if change.new is None or not self._clusters.has_synced:
            return []
        return [item.key.name for item in self._clusters.all_items()]


def _conditions_changed(change: Change[Cluster]) -> list[str]:
    if change.new is None:
        return []
    if change.old is not None:
        before, after = change.old.value, change.new.value
        if [(c.type, c.status) for c in before.status.conditions] == [
            (c.type, c.status) for c in after.status.conditions
        ]:
            return []
    return [change.key.name]
