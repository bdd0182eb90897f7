"""PodDisruptionBudgets: how many pods may be evicted now."""

from karmada.api import label_selector
from karmada.machinery.clock import parse_rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Result, own_key
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.conditions import with_condition
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import BUDGETS, REPLICA_SETS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from karmada.simulator.workloads.rollout import replicas_of, resolved
from karmada.simulator.workloads.views import Pod

COMPONENT = "disruption-controller"
PATIENCE = 120.0
"""Seconds that an eviction may take before it is forgotten."""


class BudgetController:
    """Reconciles PodDisruptionBudgets."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._budgets = context.trees(BUDGETS)
        self._sets = {
            "ReplicaSet": context.trees(REPLICA_SETS),
            "ReplicationController": context.trees(REPLICATION_CONTROLLERS),
            "StatefulSet": context.trees(STATEFUL_SETS),
        }
        self._commit = Committer(context.client.resource(BUDGETS))
        self.controller = context.controller(
            COMPONENT, self.reconcile, (self._budgets, context.pods, *self._sets.values())
        )
        self.controller.watch(self._budgets, own_key)
        self.controller.watch(context.pods, self._of_pod)

    def _of_pod(self, change: Change[Pod]) -> list[Key]:
        """The budgets of the pod's namespace; only those that exist cost anything."""
        if not self._budgets.has_synced:
            return []
        return [item.key for item in self._budgets.all_items(change.key.namespace)]

    async def reconcile(self, key: Key) -> Result:
        """Count for one budget."""
        budget = self._budgets.get(key.name, key.namespace)
        if budget is None:
            return DONE
        selector = label_selector.from_json(budget["spec"].get("selector"))
        pods = [
            pod
            for pod in self._context.pods.values(key.namespace)
            if not pod.is_finished and selector.matches(pod.metadata.labels or {})
        ]
        now = self._context.clock.now()
        expected = self._expected(pods)
        stamp = self._context.now()
        await self._commit.commit(budget, lambda seen: seen | {"status": status_of(seen, pods, expected, now, stamp)})
        return DONE

    def _expected(self, pods: list[Pod]) -> int:
        """How many pods there should be: what the owners ask for."""
        owners: dict[tuple[str, str, str], int] = {}
        for pod in pods:
            owner = pod.metadata.controller
            informer = self._sets.get(owner.kind) if owner is not None else None
            found = informer.get(owner.name, pod.metadata.namespace) if informer is not None and owner else None
            which = (owner.kind, pod.metadata.namespace, owner.name) if owner else ("", "", pod.metadata.name)
            owners[which] = replicas_of(found) if found is not None else owners.get(which, 0) + 1
        return sum(owners.values())


def status_of(budget: JSONObject, pods: list[Pod], expected: int, now: float, stamp: str) -> JSONObject:
    """The status of a budget for these pods."""
    spec, old = budget["spec"], budget.get("status") or {}
    if spec.get("maxUnavailable") is not None:
        desired = max(0, expected - resolved(spec["maxUnavailable"], expected, up=True))
    else:
        least = spec.get("minAvailable", 1)
        if isinstance(least, int):
            expected = len(pods)
        desired = resolved(least, expected, up=True)
    present = {pod.metadata.name: pod for pod in pods}
    going = {
        name: since
        for name, since in (old.get("disruptedPods") or {}).items()
        if name in present and not present[name].is_deleted and parse_rfc3339(since) + PATIENCE > now
    }
    healthy = sum(pod.is_ready and not pod.is_deleted and pod.metadata.name not in going for pod in pods)
    allowed = max(0, healthy - desired)
    holds, reason = ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    status: JSONObject = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
        "observedGeneration": budget["metadata"].get("generation", 0),
        "conditions": with_condition(
            old.get("conditions"),
            "DisruptionAllowed",
            holds,
            reason,
            "",
            stamp,
            observedGeneration=budget["metadata"].get("generation", 0),
        ),
    }
    if going:
        status["disruptedPods"] = going
    return status
