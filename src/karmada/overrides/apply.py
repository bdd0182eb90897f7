"""Applies override policies to one member's copy of a resource, in order, and records what took effect.

Cluster-wide policies come first, then those of the resource's namespace. Among policies of one kind the less specific
go first (all of a kind, by labels, by name), then by name; rules in the order they are written. A failing rule fails
the whole: the caller must then not write the copy. So does a rule that makes another object of the copy, see
`identity`. Policies of a namespace do not apply to kinds that its people may not write, see `withheld`: one that fails,
or makes a copy that members refuse, would keep there what the control plane has taken back.

`replicasOverrider` is the exception: how replicas are set depends on the kind, so the caller asks for the number
(`overridden_replicas`), revises the copy, and applies the rest after that.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from karmada.api import label_selector
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.policy.v1alpha1 import (
    ClusterAffinity,
    ClusterOverridePolicy,
    OverridePolicy,
    Overriders,
    OverrideSpec,
    RuleWithCluster,
)
from karmada.overrides.command import override_words
from karmada.overrides.effort import RULE, Effort
from karmada.overrides.errors import OverrideError
from karmada.overrides.fields import override_documents
from karmada.overrides.identity import Identity
from karmada.overrides.image import override_images
from karmada.overrides.metadata import override_map
from karmada.overrides.plaintext import override_plaintext
from karmada.overrides.pods import JSONObject
from karmada.overrides.resources import override_resources
from karmada.overrides.spelling import spelled
from karmada.overrides.withheld import is_withheld
from karmada.policies import matching
from karmada.policies.cluster_affinity import cluster_matches
from karmada.policies.matching import Match, Subject, closest, subject_of

LARGE = 16 * 1024
"""Weight of a copy that takes so long to be overridden that others have their turn meanwhile."""


class AppliedRule(NamedTuple):
    """A rule that took effect."""

    policy_name: str
    overriders: Overriders


class Overridden(NamedTuple):
    """The member's copy, and the rules that made it, by policy name."""

    resource: JSONObject
    by_cluster_policies: list[AppliedRule]
    by_policies: list[AppliedRule]
    left_out: OverrideError | None = None
    """Why the copy was made without the policies of its namespace, where any would apply."""


def apply_overrides(
    resource: JSONObject,
    cluster: Cluster,
    cluster_policies: Sequence[ClusterOverridePolicy],
    policies: Sequence[OverridePolicy],
    *,
    keep_identity: bool = True,
) -> Overridden:
    """Override `resource` (changed in place where possible) for a cluster; raises `OverrideError`.

    `policies` are those of the resource's namespace; they are not looked at for cluster-scoped resources. Without
    `keep_identity` rules may do what they like, as in the reference: for comparison with recordings of it only.
    """
    identity = Identity.of(resource) if keep_identity and (cluster_policies or policies) else None
    effort = Effort()
    resource, by_cluster_policies = _apply_kind(resource, cluster, cluster_policies, identity, effort)
    subject = subject_of(resource)
    if not policies or not subject.namespace:
        return Overridden(resource, by_cluster_policies, [])
    if keep_identity and is_withheld(subject.api_version, subject.kind):
        return Overridden(resource, by_cluster_policies, [], _left_out(policies, subject, cluster, effort))
    resource, by_policies = _apply_kind(resource, cluster, policies, identity, effort)
    return Overridden(resource, by_cluster_policies, by_policies)


def overridden_replicas(
    resource: JSONObject,
    cluster: Cluster,
    cluster_policies: Sequence[ClusterOverridePolicy],
    policies: Sequence[OverridePolicy],
) -> int | None:
    """The replicas the policies set for the cluster's copy, if any; the last word counts. Raises `OverrideError`.

    Policies of a namespace are not asked for kinds that are withheld from them.
    """
    if not cluster_policies and not policies:
        return None
    subject, effort = subject_of(resource), Effort()
    wanted: int | None = None
    is_namespaced = subject.namespace and not is_withheld(subject.api_version, subject.kind)
    for ranked in (cluster_policies, policies if is_namespaced else ()):
        for rule in _rules_for(ranked, subject, cluster, effort):
            if rule.overriders.replicas_overrider:
                wanted = rule.overriders.replicas_overrider[-1].value
    return wanted


def weight(size: int, cluster_policies: Sequence[ClusterOverridePolicy], policies: Sequence[OverridePolicy]) -> int:
    """At most as many bytes as are read to override one copy, where template and policies have this size: each
    fieldOverrider may read and write all of them."""
    specs = [*(one.spec for one in cluster_policies), *(one.spec for one in policies)]
    return size * (1 + sum(len(rule.overriders.field_overrider) for spec in specs for rule in _rules(spec)))


def record(applied: Iterable[AppliedRule]) -> str:
    """The annotation text that lists the rules that took effect."""
    return orjson.dumps([_record(rule) for rule in applied]).decode()


def _apply_kind(
    resource: JSONObject,
    cluster: Cluster,
    policies: Sequence[OverridePolicy] | Sequence[ClusterOverridePolicy],
    identity: Identity | None,
    effort: Effort,
) -> tuple[JSONObject, list[AppliedRule]]:
    if not policies:
        return resource, []
    applied = list(_rules_for(policies, subject_of(resource), cluster, effort))
    for rule in applied:
        try:
            resource = _apply_rule(resource, rule.overriders, effort)
            if identity is not None and (field := identity.changed_in(resource)):
                raise OverrideError(
                    f"override policy {rule.policy_name} changes {field}: an override may not make another object of "
                    "a copy, nor touch what Karmada manages it by"
                )
        except OverrideError as error:
            error.policy = rule.policy_name
            raise
    applied.sort(key=lambda rule: rule.policy_name)
    return resource, applied


def _left_out(
    policies: Sequence[OverridePolicy], subject: Subject, cluster: Cluster, effort: Effort
) -> OverrideError | None:
    """That the policies of a namespace do not apply to a kind, by the first that would; None if none would."""
    try:
        rule = next(_rules_for(policies, subject, cluster, effort), None)
    except OverrideError as error:
        return error
    if rule is None:
        return None
    refusal = OverrideError(f"an OverridePolicy has no effect on {subject.kind}: use a ClusterOverridePolicy")
    refusal.policy = rule.policy_name
    return refusal


def _rules_for(
    policies: Iterable[OverridePolicy] | Iterable[ClusterOverridePolicy],
    subject: Subject,
    cluster: Cluster,
    effort: Effort,
) -> Iterator[AppliedRule]:
    """The rules for a resource in a cluster, in the order in which they apply."""
    ranked = [(how, policy) for policy in policies if (how := _fit(policy, subject, effort)) is not Match.NONE]
    ranked.sort(key=lambda entry: (entry[0], entry[1].metadata.name))
    for _, policy in ranked:
        for rule in _rules(policy.spec):
            if rule.target_cluster is None or _means(policy, rule.target_cluster, cluster, effort):
                yield AppliedRule(policy.metadata.name, rule.overriders)


def _fit(policy: OverridePolicy | ClusterOverridePolicy, subject: Subject, effort: Effort) -> Match:
    selectors = policy.spec.resource_selectors
    if not selectors:
        return Match.ALL
    _spend(policy, matching.effort(selectors), effort)
    return closest(selectors, subject)


def _means(
    policy: OverridePolicy | ClusterOverridePolicy, target: ClusterAffinity, cluster: Cluster, effort: Effort
) -> bool:
    _spend(policy, 1 + (label_selector.size(target.label_selector) if target.label_selector else 0), effort)
    return cluster_matches(target, cluster)


def _spend(policy: OverridePolicy | ClusterOverridePolicy, steps: int, effort: Effort) -> None:
    try:
        effort.spend(steps)
    except OverrideError as error:
        error.policy = policy.metadata.name
        raise


def _rules(spec: OverrideSpec) -> tuple[RuleWithCluster, ...]:
    if spec.override_rules:
        return spec.override_rules
    return (RuleWithCluster(target_cluster=spec.target_cluster, overriders=spec.overriders),)


def _apply_rule(resource: JSONObject, overriders: Overriders, effort: Effort) -> JSONObject:
    effort.spend(RULE)
    override_images(resource, overriders.image_overrider, effort)
    override_words(resource, "command", overriders.command_overrider, effort)
    override_words(resource, "args", overriders.args_overrider, effort)
    override_map(resource, "labels", overriders.labels_overrider, effort)
    override_map(resource, "annotations", overriders.annotations_overrider, effort)
    override_resources(resource, overriders.resources_overrider, effort)
    override_documents(resource, overriders.field_overrider, effort)
    return override_plaintext(resource, overriders.plaintext, effort)


def _record(rule: AppliedRule) -> dict[str, Any]:
    return {"policyName": rule.policy_name, "overriders": spelled(rule.overriders)}
