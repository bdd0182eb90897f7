"""Keeps copies that run where they are when only labels of their clusters speak against it, and the policy asks so."""

import msgspec

from karmada.api.decision import Decision, NoClusterFits, Placed
from karmada.api.feature_gates import FeatureGates
from karmada.api.policy.v1alpha1 import RescheduleTrigger
from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.trigger import Need, may_move

AFFINITY = "ClusterAffinity"


def steady(binding: Binding, decision: Decision, reason: Need) -> Decision:
    """The decision, with the clusters that it would leave only because they no longer match an unchanged placement.

    New clusters of the affinity term in use are taken all the same; another term is not.
    """
    if reason is not Need.DUPLICATED or not isinstance(decision.outcome, Placed | NoClusterFits):
        return decision
    in_use = decision.attempts[0]
    chosen = in_use.outcome.clusters if isinstance(in_use.outcome, Placed) else ()
    left = [one for one in binding.spec.clusters if all(one.name != target.name for target in chosen)]
    kept = tuple(
        one for one in left if {rejection.plugin for rejection in in_use.rejections.get(one.name, ())} == {AFFINITY}
    )
    if not kept:
        return decision
    placed = msgspec.structs.replace(in_use, outcome=Placed(clusters=(*chosen, *kept)))
    return msgspec.structs.replace(
        decision, attempts=(placed,), outcome=placed.outcome, affinity=in_use.affinity or decision.affinity
    )


def is_steady(binding: Binding, gates: FeatureGates) -> bool:
    """Whether labels of clusters may not move the binding."""
    return not may_move(binding, gates, RescheduleTrigger.CLUSTER_LABELS)
