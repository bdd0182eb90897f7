"""What is to be placed: templates of files under the policies that would choose them, and bindings that exist."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster, Taint
from karmada.api.codec import from_tree
from karmada.api.evictions import PRODUCER_TAINT_MANAGER, REASON_TAINT_UNTOLERATED
from karmada.api.feature_gates import FeatureGates
from karmada.api.meta import Toleration
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.api.taints import (
    NO_EXECUTE,
    ToleratedForever,
    ToleratedUntil,
    Untolerated,
    endurance,
    first_untolerated,
)
from karmada.api.work.v1alpha2 import ClusterResourceBinding, GracefulEvictionTask, ResourceBinding, ResourceBindingSpec
from karmada.interpreter.facade import LayeredInterpreter, native_level, wall_clock
from karmada.interpreter.model import Operation, kind_of
from karmada.interpreter.rules_level import RulesLevel
from karmada.policies.binding import Workload, build_spec, merge_spec, new_binding
from karmada.policies.claims import ClaimMetadata, read_claim
from karmada.policies.election import Policy, elect
from karmada.policies.matching import fit, subject_of

JSONObject = dict[str, Any]
Binding = ResourceBinding | ClusterResourceBinding
POLICY_KINDS = {"PropagationPolicy": PropagationPolicy, "ClusterPropagationPolicy": ClusterPropagationPolicy}
_ADDED = datetime(2000, 1, 1, tzinfo=UTC)
"""When simulated taints are added: any time, as only differences count."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing to be placed."""

    name: str
    """For people: `Deployment default/nginx`."""
    before: Binding | None
    """As it is."""
    wanted: Binding | None
    """As it would be before it is scheduled; None: no policy chooses it."""


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies that would be there."""

    namespaced: Sequence[PropagationPolicy]
    wide: Sequence[ClusterPropagationPolicy]

    def winner(self, template: JSONObject, before: Binding | None) -> Policy | None:
        """The one that would propagate a template: whoever holds it keeps it as long as it selects it."""
        subject = subject_of(template)
        claim = read_claim(before.metadata.labels, before.metadata.annotations) if before is not None else None
        everybody: list[Policy] = [*self.namespaced, *self.wide]
        for policy in everybody if claim is not None else ():
            held = claim is not None and (policy.metadata.namespace, policy.metadata.name) == claim[:2]
            if held and fit(policy, subject):
                return policy
        own = [policy for policy in self.namespaced if policy.metadata.namespace == subject.namespace]
        return elect(own, subject) or elect(self.wide, subject)


def with_files(existing: Policies, items: Iterable[JSONObject], namespace: str) -> Policies:
    """The policies with those of files added, or in the place of those of the same name."""
    namespaced = {(one.metadata.namespace, one.metadata.name): one for one in existing.namespaced}
    wide = {one.metadata.name: one for one in existing.wide}
    for item in items:
        if item["kind"] == "PropagationPolicy":
            placed = {**item, "metadata": {"namespace": namespace, **item["metadata"]}}
            policy = from_tree(_defaulted(placed), PropagationPolicy)
            namespaced[policy.metadata.namespace, policy.metadata.name] = policy
        elif item["kind"] == "ClusterPropagationPolicy":
            cluster_policy = from_tree(item, ClusterPropagationPolicy)
            wide[cluster_policy.metadata.name] = cluster_policy
    return Policies(list(namespaced.values()), list(wide.values()))


def _defaulted(policy: JSONObject) -> JSONObject:
    """A namespaced policy chooses in its own namespace."""
    spec = policy.get("spec") or {}
    namespace = policy["metadata"]["namespace"]
    selectors = [
        {**selector, "namespace": selector.get("namespace") or namespace}
        for selector in spec.get("resourceSelectors") or ()
    ]
    return {**policy, "spec": {**spec, "resourceSelectors": selectors}}


async def subject(
    template: JSONObject, policies: Policies, before: Binding | None, replicas: int | None, gates: FeatureGates
) -> Subject:
    """A template under the policy that would win."""
    policy = policies.winner(template, before)
    about = template["metadata"]
    name = f"{template['kind']} {names.namespaced_key(about.get('namespace', ''), about['name'])}"
    if policy is None:
        return Subject(name, before, None)
    workload = await _workload(template, before)
    if replicas is not None:
        workload = workload._replace(replicas=replicas)
    spec = build_spec(template, policy, workload, lambda _: 0, gates)
    if before is not None:
        return Subject(name, before, msgspec.structs.replace(before, spec=merge_spec(before.spec, spec)))
    return Subject(name, None, new_binding(template, spec, ClaimMetadata({}, {})))


def existing(binding: Binding, replicas: int | None) -> Subject:
    """A binding as it is, perhaps with another number of replicas."""
    about = binding.spec.resource
    name = f"{about.kind} {names.namespaced_key(about.namespace, about.name)}"
    if replicas is None or not binding.spec.replicas:
        return Subject(name, binding, binding)
    return Subject(name, binding, msgspec.structs.replace(binding, spec=_resized(binding.spec, replicas)))


def _resized(spec: ResourceBindingSpec, replicas: int) -> ResourceBindingSpec:
    return msgspec.structs.replace(spec, replicas=replicas)


class Displaced(NamedTuple):
    """A binding without the clusters it would be driven from."""

    binding: Binding
    evicted: dict[str, int]
    """By cluster, for how many seconds the taints that drive it from there are tolerated."""


def displaced(binding: Binding, clusters: Sequence[Cluster], *, evicts: bool) -> Displaced:
    """A binding without clusters that are gone, and (where taints evict) without those it does not tolerate for ever.

    What is evicted after a while does not come back either: the eviction keeps it away.
    """
    by_name = {cluster.metadata.name: cluster for cluster in clusters}
    placement = binding.spec.placement
    tolerations = placement.cluster_tolerations if placement is not None else ()
    there = [target for target in binding.spec.clusters if target.name in by_name]
    limits = {target.name: _limit(by_name[target.name].spec.taints, tolerations) for target in there if evicts}
    evicted = {name: limit for name, limit in limits.items() if limit is not None}
    kept = tuple(target for target in there if target.name not in evicted)
    leaving = tuple(
        GracefulEvictionTask(from_cluster=name, reason=REASON_TAINT_UNTOLERATED, producer=PRODUCER_TAINT_MANAGER)
        for name in evicted
        if first_untolerated(by_name[name].spec.taints, tolerations, (NO_EXECUTE,)) is None
    )
    tasks = (*binding.spec.graceful_eviction_tasks, *leaving)
    spec = msgspec.structs.replace(binding.spec, clusters=kept, graceful_eviction_tasks=tasks)
    return Displaced(msgspec.structs.replace(binding, spec=spec), evicted)


def _limit(taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> int | None:
    """For how many seconds NoExecute taints are tolerated once they are there; None: for ever."""
    match endurance([(taint, _ADDED) for taint in taints], tolerations):
        case Untolerated():
            return 0
        case ToleratedUntil(deadline):
            return max(0, int((deadline - _ADDED).total_seconds()))
        case ToleratedForever():
            return None


async def _workload(template: JSONObject, before: Binding | None) -> Workload:
    """Replicas and what one needs: as the interpreter reads them; for kinds only a customisation knows, as before."""
    from karmada.interpreter.thirdparty import bundled_rules

    bundled = RulesLevel("bundled", bundled_rules(wall_clock, with_priority=False))
    interpreter = LayeredInterpreter(bundled, native_level())
    if interpreter.enabled(kind_of(template), Operation.REPLICAS):
        needs = await interpreter.replicas(template)
        return Workload(needs.replicas, needs.requirements)
    if before is not None:
        return Workload(before.spec.replicas, before.spec.replica_requirements, before.spec.components)
    return Workload()
