"""Topic `detector`: which policy a resource belongs to, who may take it over, and the binding made of it."""

import asyncio
import copy
from typing import Any

from karmada.api.codec import from_tree, to_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.interpreter.facade import native_interpreter
from karmada.interpreter.model import Operation, kind_of
from karmada.policies.binding import BindingRefused, Workload, build_spec, new_binding
from karmada.policies.claims import Claim, claim_metadata, claim_of, claimed, read_claim
from karmada.policies.election import Policy, elect
from karmada.policies.matching import subject_of
from karmada.policies.preemption import may_preempt
from karmada.testing.golden.case import Failed, Topic


def _elect(given: dict[str, Any]) -> dict[str, Any]:
    subject = subject_of(given["object"])
    policies = [_read(policy, PropagationPolicy) for policy in given.get("propagationPolicies") or []]
    wide = [_read(policy, ClusterPropagationPolicy) for policy in given.get("clusterPropagationPolicies") or []]
    winner = elect([policy for policy in policies if policy.metadata.namespace == subject.namespace], subject)
    wide_winner = elect(wide, subject)
    outcome: dict[str, Any] = {"winner": "none"}
    if wide_winner:
        outcome["clusterPropagationPolicy"] = wide_winner.metadata.name
        outcome["winner"] = f"ClusterPropagationPolicy/{wide_winner.metadata.name}"
    if winner:
        outcome["propagationPolicy"] = winner.metadata.name
        outcome["winner"] = f"PropagationPolicy/{winner.metadata.name}"
    return outcome


def _preempt(given: dict[str, Any]) -> dict[str, Any]:
    metadata = given["object"]["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    outcome: dict[str, Any] = {"labels": labels or None, "annotations": annotations or None, "events": []}
    policy: Policy
    if "propagationPolicy" in given:
        policy = _read(given["propagationPolicy"], PropagationPolicy)
    else:
        policy = _read(given["clusterPropagationPolicy"], ClusterPropagationPolicy)
    holder = read_claim(labels, annotations)

    def find(claim: Claim) -> Policy:
        existing: list[Policy] = [
            *(_read(item, PropagationPolicy) for item in given.get("existingPropagationPolicies") or []),
            *(_read(item, ClusterPropagationPolicy) for item in given.get("existingClusterPropagationPolicies") or []),
        ]
        for candidate in existing:
            if (candidate.metadata.namespace, candidate.metadata.name) == (claim.namespace, claim.name):
                return candidate
        plural = "clusterpropagationpolicies" if claim.is_cluster_wide else "propagationpolicies"
        raise Failed(f'{plural}.policy.karmada.io "{claim.name}" not found')

    try:
        if not may_preempt(policy, holder, find):
            return outcome
    except Failed as error:
        return {**outcome, "error": str(error)}
    taken = claimed(labels, annotations, claim_of(policy))
    return {
        "labels": taken.labels,
        "annotations": taken.annotations,
        "events": [
            f"Normal PreemptPolicySucceed {_named(claim_of(policy), True)} preempted {_named(holder)} successfully"
        ],
    }


def _build(given: dict[str, Any]) -> dict[str, Any]:
    gates = FeatureGates().with_overrides(given.get("featureGates") or {})
    template = given["object"]
    policy: Policy
    if "propagationPolicy" in given:
        policy = _read(given["propagationPolicy"], PropagationPolicy)
    else:
        policy = _read(given["clusterPropagationPolicy"], ClusterPropagationPolicy)
    interpreter = native_interpreter(gates)
    workload = Workload()
    if interpreter.enabled(kind_of(template), Operation.REPLICAS):
        workload = Workload(*asyncio.run(interpreter.replicas(copy.deepcopy(template))))

    def priority(name: str) -> int:
        known = given.get("priorityClasses") or {}
        if name not in known:
            raise BindingRefused(f'priorityclasses.scheduling.k8s.io "{name}" not found')
        return int(known[name])

    try:
        spec = build_spec(template, policy, workload, priority, gates)
    except BindingRefused as error:
        raise Failed(str(error)) from error
    binding = new_binding(template, spec, claim_metadata(claim_of(policy)))
    tree = to_tree(binding)
    key = "resourceBinding" if isinstance(binding, ResourceBinding) else "clusterResourceBinding"
    return {key: {"metadata": tree["metadata"], "spec": tree["spec"]}}


def _named(claim: Claim | None, first: bool = False) -> str:
    assert claim is not None
    kind = "cluster propagation policy" if claim.is_cluster_wide else "propagation policy"
    where = claim.name if claim.is_cluster_wide else f"{claim.namespace}/{claim.name}"
    return f"{kind.capitalize() if first else kind}({where})"


def _read(policy: dict[str, Any], kind: type[Any]) -> Any:
    """Recorded policies may lack the selectors the type requires."""
    return from_tree({**policy, "spec": {"resourceSelectors": [], **policy["spec"]}}, kind)


TOPIC = Topic("detector", {"detector.Elect": _elect, "detector.Preempt": _preempt, "detector.BuildBinding": _build})
