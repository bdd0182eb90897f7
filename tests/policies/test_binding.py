"""The binding that a policy makes of a resource, and what it keeps of one that exists."""

from typing import Any

import msgspec
import pytest

from karmada.api import finalizers
from karmada.api.codec import from_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, Placement, PropagationPolicy
from karmada.api.work.v1alpha2 import (
    ClusterResourceBinding,
    ReplicaRequirements,
    ResourceBinding,
    ResourceBindingSpec,
)
from karmada.policies.binding import (
    BindingRefused,
    Workload,
    build_spec,
    following,
    merge_spec,
    new_binding,
    objection,
    owner_of,
    reference_to,
    withheld_fields,
)
from karmada.policies.claims import ClaimMetadata

TEMPLATE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "default",
        "uid": "u1",
        "resourceVersion": "7",
        "labels": {"app": "web", "team": "a"},
    },
}
ROLE: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "admin"},
}
NEEDS = ReplicaRequirements(resource_request={"cpu": "1"}, priority_class_name="high", namespace="elsewhere")


def gates(*on: str, **off: bool) -> FeatureGates:
    return FeatureGates().with_overrides(dict.fromkeys(on, True) | off)


def no_class(name: str) -> int:
    raise AssertionError(f"nobody asks for {name}")


def policy(**spec: Any) -> PropagationPolicy:
    return from_tree({"metadata": {"name": "p", "namespace": "default"}, "spec": spec}, PropagationPolicy)


def built(
    template: dict[str, Any] = TEMPLATE, workload: Workload | None = None, on: tuple[str, ...] = (), **spec: Any
) -> ResourceBindingSpec:
    return build_spec(template, policy(**spec), workload or Workload(), {"high": 100}.__getitem__, gates(*on))


def test_a_binding_names_its_template_and_takes_over_what_the_policy_says() -> None:
    made = built(
        propagateDeps=True,
        placement={"clusterAffinity": {"clusterNames": ["m1"]}},
        schedulerName="other",
        conflictResolution="Overwrite",
        preserveResourcesOnDeletion=True,
        failover={"cluster": {"purgeMode": "Directly"}},
    )

    resource = made.resource
    assert (resource.api_version, resource.kind, resource.namespace, resource.name) == (
        "apps/v1",
        "Deployment",
        "default",
        "web",
    )
    assert (resource.uid, resource.resource_version) == ("u1", "7")
    assert made.propagate_deps is True
    assert made.placement is not None
    assert made.placement.cluster_affinity is not None
    assert made.placement.cluster_affinity.cluster_names == ("m1",)
    assert (made.scheduler_name, made.conflict_resolution) == ("other", "Overwrite")
    assert made.preserve_resources_on_deletion is True
    assert made.failover is not None
    assert made.failover.cluster is not None


QUOTA: dict[str, Any] = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
GRANT: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "contractor", "namespace": "default"},
}
STAYING: dict[str, Any] = {
    "conflictResolution": "Overwrite",
    "preserveResourcesOnDeletion": True,
    "suspension": {"dispatching": True},
    "placement": {"clusterAffinity": {"clusterNames": ["m1"]}},
}


@pytest.mark.parametrize("template", [QUOTA, GRANT])
def test_a_namespaces_policy_says_where_grants_and_limits_are_and_neither_how_long_nor_in_place_of_what(
    template: dict[str, Any],
) -> None:
    made = built(template, **STAYING)
    assert (made.conflict_resolution, made.preserve_resources_on_deletion, made.suspension) == ("Abort", None, None)
    assert made.placement == built(**STAYING).placement

    wide = from_tree({"metadata": {"name": "p"}, "spec": STAYING}, ClusterPropagationPolicy)
    made = build_spec(template, wide, Workload(), no_class, gates())
    assert (made.conflict_resolution, made.preserve_resources_on_deletion) == ("Overwrite", True)
    assert made.suspension is not None


def test_a_binding_follows_its_resource_and_neither_another_one_nor_instead_of_its_requirers() -> None:
    first, now = (reference_to({**GRANT, "metadata": {"uid": "u", "resourceVersion": v, "name": "g"}}) for v in "12")
    placed = ResourceBinding(spec=ResourceBindingSpec(resource=first, placement=Placement(), propagate_deps=True))
    followed = following(placed, now)
    assert followed.spec == msgspec.structs.replace(placed.spec, resource=now)
    dependency = ResourceBinding(spec=ResourceBindingSpec(resource=first))
    assert following(dependency, now) is dependency
    assert following(placed, msgspec.structs.replace(now, uid="later")) is placed


def test_fields_without_effect_on_grants_and_limits_are_named() -> None:
    kinds = [{"apiVersion": one["apiVersion"], "kind": one["kind"]} for one in (TEMPLATE, GRANT, QUOTA)]
    assert withheld_fields(policy(resourceSelectors=kinds, **STAYING).spec) == [
        f"spec.{field} has no effect on ResourceQuota, RoleBinding: use a ClusterPropagationPolicy"
        for field in ("conflictResolution", "preserveResourcesOnDeletion", "suspension")
    ]
    assert withheld_fields(policy(resourceSelectors=kinds[:1], **STAYING).spec) == []
    assert withheld_fields(policy(resourceSelectors=kinds, conflictResolution="Abort").spec) == []


def test_what_a_template_asks_for_is_taken_over() -> None:
    made = built(workload=Workload(3, NEEDS))

    assert made.replicas == 3
    assert made.replica_requirements is not None
    assert made.replica_requirements.resource_request == {"cpu": "1"}
    assert built().replica_requirements is None


@pytest.mark.parametrize(
    ("on", "namespace", "priority"),
    [
        (("ResourceQuotaEstimate",), "default", "high"),
        (("MultiplePodTemplatesScheduling",), "default", "high"),
        ((), "", ""),
    ],
)
def test_namespace_and_priority_class_are_sent_only_to_estimators_that_know_them(
    on: tuple[str, ...], namespace: str, priority: str
) -> None:
    off = {"ResourceQuotaEstimate": False, "MultiplePodTemplatesScheduling": False} | dict.fromkeys(on, True)
    made = build_spec(TEMPLATE, policy(), Workload(1, NEEDS), no_class, gates(**off)).replica_requirements

    assert made is not None
    assert (made.namespace, made.priority_class_name) == (namespace, priority)


PRIORITY = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"}


def test_the_priority_of_a_class_counts_with_its_feature_and_for_namespaced_resources() -> None:
    made = built(on=("PriorityBasedScheduling",), schedulePriority=PRIORITY).schedule_priority

    assert made is not None
    assert made.priority == 100
    assert built(on=("PriorityBasedScheduling",)).schedule_priority is None
    off = build_spec(
        TEMPLATE, policy(schedulePriority=PRIORITY), Workload(), no_class, gates(PriorityBasedScheduling=False)
    )
    assert off.schedule_priority is None
    assert built(ROLE, on=("PriorityBasedScheduling",), schedulePriority=PRIORITY).schedule_priority is None


def test_another_source_of_priorities_is_refused_by_name() -> None:
    other = {**PRIORITY, "priorityClassSource": "FederatedPriorityClass"}
    with pytest.raises(BindingRefused, match="FederatedPriorityClass is not supported"):
        built(on=("PriorityBasedScheduling",), schedulePriority=other)


def affinity(together: str | None, apart: str | None) -> dict[str, Any]:
    terms: dict[str, Any] = {}
    if together is not None:
        terms["affinity"] = {"groupByLabelKey": together}
    if apart is not None:
        terms["antiAffinity"] = {"groupByLabelKey": apart}
    return {"workloadAffinity": terms}


@pytest.mark.parametrize(
    ("together", "apart", "expected"),
    [
        ("app", None, ("app=web", "")),
        (None, "team", ("", "team=a")),
        ("app", "team", ("app=web", "team=a")),
        ("missing", "team", ("", "team=a")),
        ("missing", None, None),
        (None, None, None),
    ],
)
def test_a_template_belongs_to_the_groups_of_its_labels(
    together: str | None, apart: str | None, expected: tuple[str, str] | None
) -> None:
    made = built(on=("WorkloadAffinity",), placement=affinity(together, apart)).workload_affinity_groups

    assert (made and (made.affinity_group, made.anti_affinity_group)) == expected


def test_groups_need_their_feature_and_a_namespace() -> None:
    placement = affinity("app", None)
    off = build_spec(TEMPLATE, policy(placement=placement), Workload(), no_class, gates(WorkloadAffinity=False))
    role = {**ROLE, "metadata": {"name": "admin", "labels": {"app": "web"}}}

    assert off.workload_affinity_groups is None
    assert built(role, on=("WorkloadAffinity",), placement=placement).workload_affinity_groups is None
    assert built(on=("WorkloadAffinity",)).workload_affinity_groups is None


MARKS = ClaimMetadata({"l": "1"}, {"a": "2"})


def test_a_new_binding_is_owned_by_its_template_and_carries_the_claim() -> None:
    made = new_binding(TEMPLATE, built(), MARKS)

    assert isinstance(made, ResourceBinding)
    assert (made.metadata.name, made.metadata.namespace) == ("web-deployment", "default")
    assert (made.metadata.labels, made.metadata.annotations) == MARKS
    assert made.metadata.finalizers == (finalizers.RESOURCE_BINDING,)
    assert made.metadata.owner_references == (owner_of(TEMPLATE),)
    owner = owner_of(TEMPLATE)
    assert (owner.api_version, owner.kind, owner.name, owner.uid) == ("apps/v1", "Deployment", "web", "u1")
    assert owner.controller is True
    assert owner.block_owner_deletion is True


def test_a_cluster_scoped_resource_gets_a_cluster_binding() -> None:
    made = new_binding(ROLE, built(ROLE), MARKS)

    assert isinstance(made, ClusterResourceBinding)
    assert (made.metadata.name, made.metadata.namespace) == ("admin-clusterrole", "")
    assert made.metadata.finalizers == (finalizers.CLUSTER_RESOURCE_BINDING,)
    assert made.metadata.owner_references[0].uid == ""


def existing(**spec: Any) -> ResourceBindingSpec:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}
    return from_tree({"resource": resource, "replicas": 1} | spec, ResourceBindingSpec)


def test_what_others_own_of_a_binding_stays() -> None:
    before = existing(
        clusters=[{"name": "m1", "replicas": 2}],
        requiredBy=[{"name": "other-deployment"}],
        gracefulEvictionTasks=[{"fromCluster": "m2", "reason": "R", "producer": "p"}],
        rescheduleTriggeredAt="2026-01-01T00:00:00Z",
        schedulerName="old",
    )
    merged = merge_spec(before, built(workload=Workload(5), schedulerName="new"))

    assert merged.clusters == before.clusters
    assert merged.required_by == before.required_by
    assert merged.graceful_eviction_tasks == before.graceful_eviction_tasks
    assert merged.reschedule_triggered_at == before.reschedule_triggered_at
    assert (merged.replicas, merged.scheduler_name) == (5, "new")


@pytest.mark.parametrize(
    ("wanted", "before", "expected"),
    [
        (None, None, None),
        (None, {"dispatching": True}, None),
        (None, {"scheduling": True}, (None, True)),
        (None, {"scheduling": False}, (None, False)),
        ({"dispatching": True}, None, (True, None)),
        ({"dispatching": True}, {"scheduling": True}, (True, True)),
        ({"dispatching": False}, {"dispatching": True, "scheduling": True}, (False, True)),
    ],
)
def test_the_policy_decides_about_dispatching_and_suspended_scheduling_is_kept(
    wanted: dict[str, bool] | None, before: dict[str, bool] | None, expected: tuple[bool | None, bool | None] | None
) -> None:
    made = built(**({"suspension": wanted} if wanted is not None else {}))
    merged = merge_spec(existing(**({"suspension": before} if before is not None else {})), made).suspension

    assert (merged and (merged.dispatching, merged.scheduling)) == expected


def test_dispatching_is_suspended_for_the_clusters_that_the_policy_names() -> None:
    made = built(suspension={"dispatchingOnClusters": {"clusterNames": ["m2"]}}).suspension

    assert made is not None
    assert made.dispatching_on_clusters is not None
    assert made.dispatching_on_clusters.cluster_names == ("m2",)


def binding(sort: type[ResourceBinding | ClusterResourceBinding], place: str, **resource: str) -> Any:
    named = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"} | resource
    return from_tree({"metadata": {"name": "b", "namespace": place}, "spec": {"resource": named}}, sort)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (binding(ResourceBinding, "default", namespace="default"), ""),
        (binding(ResourceBinding, "default", namespace="other"), "of its own namespace only"),
        (binding(ResourceBinding, "default"), "of its own namespace only"),
        (binding(ResourceBinding, "karmada-system", namespace="karmada-system"), "control plane's own"),
        (binding(ClusterResourceBinding, "", kind="ClusterRole"), ""),
        (binding(ClusterResourceBinding, "", namespace="default"), "cluster-scoped resources only"),
        (binding(ClusterResourceBinding, "", kind="Namespace", name="shop"), ""),
        (binding(ClusterResourceBinding, "", kind="Namespace", name="karmada-system"), "karmada-system is the control"),
        (binding(ClusterResourceBinding, "", kind="ClusterRole", name="karmada-system"), ""),
        (binding(ClusterResourceBinding, "", apiVersion="x/v1", kind="Namespace", name="karmada-system"), ""),
    ],
)
def test_a_binding_speaks_for_its_own_namespace_and_never_for_the_control_plane(
    made: ResourceBinding | ClusterResourceBinding, message: str
) -> None:
    found = objection(made)
    assert message in found
    assert bool(found) is bool(message)
