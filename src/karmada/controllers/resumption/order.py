"""Whether a binding is in order: brought to where it is to be, reported, and nothing about it out of the ordinary.

Only what controllers do and know for the simplest and by far most common bindings is recorded. Others (being deleted,
moved, limited, suspended, following another, under a lazy policy, in clusters that pull) are looked at after a restart.
"""

from karmada.api import conditions
from karmada.api.names import execution_space
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.bindings import belongs, permanent_id
from karmada.controllers.resumption.group import Group
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import GroupVersionResource
from karmada.policies.binding import objection
from karmada.policies.claims import claim_of, read_claim
from karmada.works.build import work_name
from karmada.works.limits import has_limits
from karmada.works.status import is_applied


def group_of(binding: ResourceBinding, type_: GroupVersionResource) -> Group | None:
    """The group of a binding that is in order, as far as itself says."""
    metadata, spec, status = binding.metadata, binding.spec, binding.status
    claim = read_claim(metadata.labels, metadata.annotations)
    is_ordinary = (
        metadata.deletion_timestamp is None
        and bool(spec.clusters)
        and not (spec.propagate_deps or spec.required_by or spec.graceful_eviction_tasks)
        and spec.suspension is None
        and not has_limits(spec.failover)
        and not objection(binding)
    )
    is_done = status.scheduler_observed_generation == metadata.generation and any(
        found.type == conditions.FULLY_APPLIED and found.status == "True" for found in status.conditions
    )
    own_id, reference = permanent_id(binding), spec.resource
    if claim is None or not own_id or not is_ordinary or not is_done:
        return None
    names = tuple(sorted(target.name for target in spec.clusters))
    which = (type_, reference.api_version, reference.kind, reference.name)
    return Group(*which, own_id, Key(claim.namespace, claim.name), work_name(spec), names)


def is_held(binding: ResourceBinding, group: Group, policy: PropagationPolicy | ClusterPropagationPolicy) -> bool:
    """Whether a policy holds the binding and acts on whatever changes; a lazy one may have left something."""
    claim = claim_of(policy)
    is_same = bool(claim.permanent_id) and read_claim(binding.metadata.labels, binding.metadata.annotations) == claim
    return is_same and policy.metadata.deletion_timestamp is None and policy.spec.activation_preference != "Lazy"


def is_delivered(work: Work, binding: ResourceBinding, group: Group) -> bool:
    """Whether a Work of the binding is where it belongs and its one object was applied."""
    metadata, spec = work.metadata, work.spec
    return (
        metadata.deletion_timestamp is None
        and metadata.name == group.work
        and metadata.namespace in map(execution_space, group.clusters)
        and belongs(work, binding)
        and not spec.suspend_dispatching
        and len(spec.workload.manifests) == 1
        and is_applied(work)
    )
