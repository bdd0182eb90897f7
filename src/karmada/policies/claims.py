"""The claim: labels and annotations by which a template (and its binding) names the policy that propagates it.

A claim is complete only with both its label (the policy's permanent id) and its annotations (the policy's name).
A resource is claimed by at most one policy: a new claim removes what another one left.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from karmada.api import annotations, labels
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy

JSONObject = dict[str, Any]


class Claim(NamedTuple):
    """Who propagates a resource; the namespace is empty for a cluster-wide policy."""

    namespace: str
    name: str
    permanent_id: str

    @property
    def is_cluster_wide(self) -> bool:
        """Whether a ClusterPropagationPolicy holds the claim."""
        return not self.namespace


class ClaimMetadata(NamedTuple):
    """A claim as metadata."""

    labels: dict[str, str]
    annotations: dict[str, str]


_ANNOTATIONS = (
    annotations.PROPAGATION_POLICY_NAMESPACE,
    annotations.PROPAGATION_POLICY_NAME,
    annotations.CLUSTER_PROPAGATION_POLICY_NAME,
)


def claim_of(policy: PropagationPolicy | ClusterPropagationPolicy) -> Claim:
    """The claim a policy makes."""
    key = (
        labels.PROPAGATION_POLICY_PERMANENT_ID
        if isinstance(policy, PropagationPolicy)
        else labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID
    )
    return Claim(policy.metadata.namespace, policy.metadata.name, policy.metadata.labels.get(key, ""))


def read_claim(labels_: Mapping[str, str], annotations_: Mapping[str, str]) -> Claim | None:
    """The complete claim an object carries, a namespaced policy's before a cluster-wide one's."""
    permanent_id = labels_.get(labels.PROPAGATION_POLICY_PERMANENT_ID)
    namespace = annotations_.get(annotations.PROPAGATION_POLICY_NAMESPACE)
    name = annotations_.get(annotations.PROPAGATION_POLICY_NAME)
    if permanent_id and namespace and name:
        return Claim(namespace, name, permanent_id)
    permanent_id = labels_.get(labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID)
    name = annotations_.get(annotations.CLUSTER_PROPAGATION_POLICY_NAME)
    if permanent_id and name:
        return Claim("", name, permanent_id)
    return None


def holder_of(tree: JSONObject) -> Claim | None:
    """The complete claim that a template carries."""
    metadata = tree["metadata"]
    return read_claim(metadata.get("labels") or {}, metadata.get("annotations") or {})


def holds(labels_: Mapping[str, str], claim: Claim) -> bool:
    """Whether an object's labels are those of a claim, be it complete or not."""
    return all(labels_.get(key) == value for key, value in claim_metadata(claim).labels.items())


def claim_metadata(claim: Claim) -> ClaimMetadata:
    """What a claimed object carries."""
    if claim.is_cluster_wide:
        return ClaimMetadata(
            {labels.CLUSTER_PROPAGATION_POLICY_PERMANENT_ID: claim.permanent_id},
            {annotations.CLUSTER_PROPAGATION_POLICY_NAME: claim.name},
        )
    return ClaimMetadata(
        {labels.PROPAGATION_POLICY_PERMANENT_ID: claim.permanent_id},
        {
            annotations.PROPAGATION_POLICY_NAMESPACE: claim.namespace,
            annotations.PROPAGATION_POLICY_NAME: claim.name,
        },
    )


def claimed(labels_: Mapping[str, str], annotations_: Mapping[str, str], claim: Claim | None) -> ClaimMetadata:
    """An object's labels and annotations under a claim (none: unclaimed), free of any other."""
    new = claim_metadata(claim) if claim else ClaimMetadata({}, {})
    return ClaimMetadata(
        {key: value for key, value in labels_.items() if key not in labels.CLAIMS} | new.labels,
        {key: value for key, value in annotations_.items() if key not in _ANNOTATIONS} | new.annotations,
    )
