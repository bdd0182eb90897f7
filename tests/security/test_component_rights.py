"""Components at work with exactly their roles: what no other test makes them do, and that the roles are worth it.

Every test in the suite fails when a component is refused something, and a run of the whole suite when a role allows
what nothing used; here is what that needs beside the other tests.
"""

from typing import Any

import pytest
from tests.security.unused_rights import REASONS

from karmada.api.annotations import QUOTA_NAMESPACES
from karmada.api.feature_gates import FeatureGates
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.auth.rbac import MASTERS
from karmada.machinery.errors import Forbidden
from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.component_roles import COMPONENTS, rights, user_of
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions, component_user
from karmada.testing.federation import PROBING, Federation
from karmada.testing.rights import Recorder, Right, granted, unused

CLUSTER_BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
REBALANCERS = GroupVersionResource("apps.karmada.io", "v1alpha1", "workloadrebalancers")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
QUOTAS = GroupVersionResource("policy.karmada.io", "v1alpha1", "federatedresourcequotas")
SECRETS = GroupVersionResource("", "v1", "secrets")
ROLE: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "readers"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
}
CLUSTER_POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: readers}
spec:
  resourceSelectors: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, name: readers}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement:
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}
"""
QUOTA = """
apiVersion: policy.karmada.io/v1alpha1
kind: FederatedResourceQuota
metadata: {name: limits}
spec: {overall: {cpu: "10"}}
"""


def deployment(replicas: int) -> dict[str, Any]:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


async def test_what_has_no_namespace_travels_too() -> None:
    async with Federation(members=1) as federation:
        await federation.apply(ROLE, CLUSTER_POLICY)
        member = federation.members["member1"]
        await federation.eventually(lambda: member.get("ClusterRole", "readers", "", ROLE["apiVersion"]))

        async def scheduled() -> bool:
            binding = await federation.hub.resource(CLUSTER_BINDINGS).get("readers-clusterrole")
            conditions = binding["status"]["conditions"]
            return {"Scheduled", "FullyApplied"} <= {c["type"] for c in conditions if c["status"] == "True"}

        assert await federation.eventually(scheduled)


@pytest.mark.parametrize("role", ["cluster-admin", "of-nobody"])
async def test_roles_and_bindings_travel_whatever_they_grant(role: str) -> None:
    group = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "bosses"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "bosses"}],
    }
    writers = {**ROLE, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    selectors = [{"apiVersion": f"{group}/v1", "kind": kind} for kind in ("ClusterRole", "ClusterRoleBinding")]
    names = ("readers", "bosses")
    selectors = [selector | {"name": name} for selector, name in zip(selectors, names, strict=True)]
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterPropagationPolicy",
        "metadata": {"name": "rights"},
        "spec": {"resourceSelectors": selectors, "placement": {"clusterAffinity": {"clusterNames": ["member1"]}}},
    }
    async with Federation(members=1) as federation:
        await federation.apply(writers, binding, policy)
        member = federation.members["member1"]
        await federation.eventually(lambda: member.get("ClusterRole", "readers", "", ROLE["apiVersion"]))
        await federation.eventually(lambda: member.get("ClusterRoleBinding", "bosses", "", ROLE["apiVersion"]))


async def test_quotas_are_booked_by_admission() -> None:
    gates = FeatureGates({"FederatedQuotaEnforcement": True})
    async with Federation(members=2, options=ControlPlaneOptions(options=Options(PROBING), gates=gates)) as federation:
        await federation.apply(QUOTA, POLICY, deployment(2))

        async def booked() -> bool:
            quota = await federation.hub.resource(QUOTAS).get("limits", "default")
            return bool(quota["status"]["overallUsed"]["cpu"] == "2")

        assert await federation.eventually(booked)


async def test_quotas_over_several_namespaces_are_booked_by_admission() -> None:
    gates = FeatureGates({"FederatedQuotaEnforcement": True, "FederatedQuotaTree": True})
    async with Federation(members=2, options=ControlPlaneOptions(options=Options(PROBING), gates=gates)) as federation:
        await federation.hub.resource(NAMESPACES).patch("default", {"metadata": {"labels": {"org": "a"}}})
        meta = {"name": "parent", "namespace": "karmada-system", "annotations": {QUOTA_NAMESPACES: "org=a"}}
        await federation.hub.resource(QUOTAS).create({"metadata": meta, "spec": {"overall": {"cpu": "3"}}})
        await federation.apply(POLICY, deployment(2))

        async def booked() -> bool:
            quota = await federation.hub.resource(QUOTAS).get("parent", "karmada-system")
            return bool(quota["status"]["overallUsed"]["cpu"] == "2")

        assert await federation.eventually(booked)


async def test_a_finished_rebalancer_is_deleted_after_its_time() -> None:
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
    async with Federation(members=1) as federation:
        await federation.apply(POLICY, deployment(1))
        await federation.eventually(lambda: federation.placement("Deployment", "web"))
        rebalancer = {"metadata": {"name": "once"}, "spec": {"workloads": [workload], "ttlSecondsAfterFinished": 0}}
        await federation.hub.resource(REBALANCERS).create(rebalancer)

        async def deleted() -> bool:
            return not (await federation.hub.resource(REBALANCERS).list()).items

        assert await federation.eventually(deleted)
        binding = await federation.hub.resource(BINDINGS).get("web-deployment", "default")
        assert binding["spec"]["rescheduleTriggeredAt"]


def test_no_component_is_an_administrator() -> None:
    for component in COMPONENTS:
        assert MASTERS not in component_user(component).groups
    for role in rights():
        for rule in role.get("rules") or ():
            assert not {"*", "impersonate", "bind", "escalate"} & set(rule["verbs"]), role["metadata"]["name"]


async def test_a_component_is_refused_what_is_not_its_business(unrecorded: None) -> None:
    async with ControlPlane(ControlPlaneOptions()) as plane:
        for component in ("karmada-descheduler", "karmada-scheduler", "karmada-webhook"):
            with pytest.raises(Forbidden):
                await plane.component(component).resource(SECRETS).list()


def test_every_reason_is_about_a_right_that_is_given() -> None:
    assert not REASONS.keys() - {str(right) for right in granted()}
    assert all(REASONS.values())


SCHEDULER = user_of("karmada-scheduler")


def observed(*requests: tuple[Attributes, bool]) -> Recorder:
    recorder = Recorder()
    for attributes, allowed in requests:
        recorder(component_user("karmada-scheduler"), attributes, allowed)
    return recorder


def test_a_right_that_nothing_used_is_reported() -> None:
    used = set(granted()) - {(wanted := Right(SCHEDULER, "list", "cluster.karmada.io", "clusters"))}
    reasons = [right for right in granted() if "*" in right]
    assert unused(used, reasons) == [wanted]
    assert unused(used, [*reasons, wanted]) == []


def test_a_star_is_not_explained_by_what_matches_it() -> None:
    assert [right for right in unused(granted(), ()) if "*" not in right] == []
    assert len(unused(granted(), ())) == 4


def test_a_right_everywhere_that_is_used_in_one_place_only_is_reported() -> None:
    events = Attributes("create", "", "v1", "events", "", "karmada-system")
    wide = Right(SCHEDULER, "create", "", "events")
    assert wide in unused(observed((events, True)).used, ())
    assert wide not in unused(observed((Attributes("create", "", "v1", "events", "", "shop"), True)).used, ())


def test_a_name_counts_only_where_a_role_names_it() -> None:
    lease = Attributes("update", "coordination.k8s.io", "v1", "leases", "", "karmada-system", "karmada-scheduler")
    other = Attributes("get", "work.karmada.io", "v1alpha2", "resourcebindings", "", "shop", "web")
    assert {right.name for right in observed((lease, True), (other, True)).used} == {"karmada-scheduler", ""}


def test_what_a_component_is_refused_is_kept_until_it_is_taken() -> None:
    secrets = Attributes("list", "", "v1", "secrets")
    recorder = observed((secrets, False), (secrets, False))
    assert recorder.take_refused() == [Right(SCHEDULER, "list", "", "secrets")]
    assert recorder.take_refused() == []
    assert not recorder.used
