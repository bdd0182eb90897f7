"""What schedules inside of the embedded control plane: reasons that can be read, members that are counted, policies
that move replicas.
"""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from karmada.api.feature_gates import FeatureGates
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ApiServer
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.simulator.spec import FleetSpec, MemberSpec, NodePool
from karmada.standalone.control_plane import ControlPlaneOptions
from karmada.testing.federation import PROBING, Federation

EVENTS = GroupVersionResource("", "v1", "events")
PODS = GroupVersionResource("", "v1", "pods")


def fleet(nodes: int = 1, cpu: str = "8") -> FleetSpec:
    """Two members of 8 CPUs, the nodes of the first as asked."""
    first = MemberSpec("member1", node_pools=(NodePool(count=nodes, cpu=cpu),))
    return FleetSpec(members=(first, MemberSpec("member2", node_pools=(NodePool(cpu="8"),))))


POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference: {dynamicWeight: AvailableReplicas}
"""
RESCHEDULING = """
apiVersion: config.karmada.io/v1alpha1
kind: ReplicaSchedulingPolicy
metadata: {name: replica-reschedule}
spec:
  reschedulePolicy: {enabled: true, interval: 1s, threshold: {cpuUtilization: 80, memoryUtilization: 80}}
"""


def deployment(replicas: int, cpu: str = "1") -> dict[str, Any]:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def pod(cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": "local", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}


@pytest.fixture
async def federation() -> AsyncIterator[Federation]:
    async with Federation(fleet=fleet()) as made:
        yield made


async def placed(federation: Federation, wanted: dict[str, int]) -> bool:
    return await federation.placement("Deployment", "web") == wanted


async def test_decisions_can_be_read_by_who_may_read_the_binding(federation: Federation) -> None:
    await federation.apply(POLICY, deployment(4))
    await federation.eventually(lambda: placed(federation, {"member1": 2, "member2": 2}))
    transport = federation.hub.transport
    answer = orjson.loads(await transport.raw("GET", "/decisions/default/web-deployment"))
    assert [item["decision"]["outcome"] for item in answer["items"]]
    assert orjson.loads(await transport.raw("GET", "/decisions/default/unknown")) == {"items": []}
    with pytest.raises(NotFound):
        await transport.raw("GET", "/decisions/a/b/c")


async def test_others_may_not_read_decisions() -> None:
    from karmada.scheduler.decision_history import DecisionHistory
    from karmada.standalone.decisions import ROOT, DecisionsPage

    async with ApiServer() as server:
        server.pages.own[ROOT] = DecisionsPage(DecisionHistory())
        stranger = Client(server.direct(UserInfo("stranger", ("system:authenticated",))))
        with pytest.raises(Forbidden, match=r'cannot get resource "resourcebindings".*in the namespace "default"'):
            await stranger.transport.raw("GET", "/decisions/default/web-deployment")
        admin = Client(server.direct())
        pages = objects.cluster_role("pages", [{"nonResourceURLs": ["*"], "verbs": ["get"]}])
        await admin.resource(objects.CLUSTER_ROLES).create(pages)
        binding = objects.cluster_role_binding("pages", objects.user_subject("stranger"))
        await admin.resource(objects.CLUSTER_ROLE_BINDINGS).create(binding)
        with pytest.raises(NotFound):  # it is no page of its own, and none about the binding
            await stranger.transport.raw("GET", "/decisions/default/web-deployment/")


async def test_a_policy_moves_replicas_out_of_a_cluster_that_is_too_full(federation: Federation) -> None:
    await federation.apply(POLICY, deployment(4))
    await federation.eventually(lambda: placed(federation, {"member1": 2, "member2": 2}))
    await federation.members["member1"].client.resource(PODS).create(pod("5"))
    await federation.apply(RESCHEDULING)
    await federation.eventually(lambda: placed(federation, {"member1": 1, "member2": 3}))

    async def status() -> dict[str, Any]:
        policy = await federation.get("ReplicaSchedulingPolicy", "replica-reschedule", "", "config.karmada.io/v1alpha1")
        assert policy["status"]["rescheduled"]
        return dict(policy["status"])

    found = await federation.eventually(status)
    [moved] = found["rescheduled"]
    assert (moved["kind"], moved["name"], moved["fromCluster"], moved["replicas"]) == (
        "Deployment",
        "web",
        "member1",
        1,
    )
    assert [condition["type"] for condition in found["conditions"] if condition["status"] == "True"] == ["Active"]

    async def reported() -> bool:
        events = (await federation.hub.resource(EVENTS).list()).items
        return "DescheduleBindingSucceed" in {event["reason"] for event in events}

    assert await federation.eventually(reported)


async def test_members_are_counted_for_divisions_where_asked_for() -> None:
    gates = FeatureGates({"CustomizedClusterResourceModeling": False})
    options = ControlPlaneOptions(options=Options(PROBING), estimates=True, gates=gates)
    async with Federation(fleet=fleet(4, "2"), options=options) as federation:
        await federation.apply(POLICY, deployment(2, cpu="3"))
        # By the sum of their nodes both have the same room; no node of member1 takes a replica.
        await federation.eventually(lambda: placed(federation, {"member2": 2}))


QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "namespace": "default"},
    "spec": {"hard": {"requests.cpu": "3"}},
}
QUOTAS = GroupVersionResource("", "v1", "resourcequotas")


async def with_quota(federation: Federation) -> None:
    """A quota of three CPUs in the first member, as its controller counts it."""
    quotas = federation.members["member1"].client.resource(QUOTAS)
    await quotas.create(QUOTA)

    async def counted() -> bool:
        found = await quotas.get("q", "default")
        return bool((found.get("status") or {}).get("hard"))

    await federation.eventually(counted)


async def test_quotas_of_members_are_counted_when_their_gate_is_on() -> None:
    gates = FeatureGates({"ResourceQuotaEstimate": True, "CustomizedClusterResourceModeling": False})
    options = ControlPlaneOptions(options=Options(PROBING), gates=gates)
    async with Federation(fleet=fleet(), options=options) as federation:
        await with_quota(federation)
        await federation.apply(POLICY, deployment(6))
        # By their nodes both members have the same room; the quota of member1 leaves three replicas to it.
        await federation.eventually(lambda: placed(federation, {"member1": 2, "member2": 4}))
