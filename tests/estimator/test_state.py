"""An estimator follows a member: nodes, pods, quotas, and pods that wait for a node."""

from typing import Any

import orjson

from karmada.api.codec import decoder
from karmada.api.feature_gates import FeatureGates
from karmada.api.native import Node
from karmada.api.work.v1alpha2 import NodeClaim, ObjectReference, ReplicaRequirements
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.estimator.estimate import Answers
from karmada.estimator.main import Waiting
from karmada.estimator.nodes import Nodes
from karmada.estimator.state import DEPLOYMENTS, NODES, PODS, QUOTAS, REPLICA_SETS, MemberState, trim_node, trim_pod
from karmada.machinery.client import Client
from karmada.machinery.clock import rfc3339
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.scheduler.estimators.messages import ReplicasRequest, UnschedulableRequest
from karmada.testing.loop import VirtualClock, run_virtual

Tree = dict[str, Any]
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "1"}}}]},
}


def owned(name: str, owner: Tree, kind: str, **rest: Any) -> Tree:
    reference = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    metadata = {"name": name, "namespace": "default", "labels": {"app": "web"}, "ownerReferences": [reference]}
    return {"metadata": metadata, **rest}


async def populate(client: Client, clock: VirtualClock) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    await client.resource(NODES).create(node)
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    await client.resource(NODES).patch("n1", {"status": {"allocatable": allocatable}}, subresource="status")
    # New nodes are tainted until somebody finds them ready.
    await client.resource(NODES).patch("n1", {"spec": {"taints": None}})
    selector = {"matchLabels": {"app": "web"}}
    deployment = await client.resource(DEPLOYMENTS).create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 2, "selector": selector, "template": TEMPLATE},
        }
    )
    spec = {"replicas": 2, "selector": selector, "template": deployment["spec"]["template"]}
    replica_set = await client.resource(REPLICA_SETS).create(
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", **owned("web-1", deployment, "Deployment", spec=spec)}
    )
    pod_spec = TEMPLATE["spec"]
    for name, where in (("web-1-a", {"nodeName": "n1"}), ("web-1-b", {})):
        pod = owned(name, replica_set, "ReplicaSet", spec={**pod_spec, **where})
        await client.resource(PODS).create({"apiVersion": "v1", "kind": "Pod", **pod})
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "lastTransitionTime": rfc3339(clock.now() - 600),
    }
    waiting = {"status": {"phase": "Pending", "conditions": [condition]}}
    await client.resource(PODS).patch("web-1-b", waiting, "default", subresource="status")
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    await client.resource(QUOTAS).create({**quota, "spec": {"hard": {"requests.cpu": "5"}}})
    status = {"hard": {"requests.cpu": "5"}, "used": {"requests.cpu": "4"}}
    await client.resource(QUOTAS).patch("q", {"status": status}, "default", subresource="status")


def test_answers_follow_the_member() -> None:
    async def main() -> None:
        clock = VirtualClock()
        async with ApiServer(ApiServerOptions(controllers=False)) as member, Supervisor() as supervisor:
            client = Client(member.direct(ADMIN))
            informers = InformerFactory(client, supervisor, clock=clock)
            state = MemberState(informers.resource)
            await informers.synced(state.informers)
            await populate(client, clock)
            await clock.sleep(1)
            needs = ReplicaRequirements(resource_request={"cpu": "1"}, namespace="default")
            request = ReplicasRequest("m1", needs)
            assert Answers("m1", state.member, FeatureGates({})).replicas(request) == 3
            quota_gate = FeatureGates({"ResourceQuotaEstimate": True})
            assert Answers("m1", state.member, quota_gate).replicas(request) == 1

            resource = ObjectReference(api_version="apps/v1", kind="Deployment", namespace="default", name="web")
            waits = Waiting(state, "m1", clock)
            assert waits(UnschedulableRequest("m1", resource, int(300e9))) == 1
            assert waits(UnschedulableRequest("m1", resource, int(3000e9))) == 0

            await client.resource(PODS).delete("web-1-a", "default", grace_seconds=0)
            await clock.sleep(1)
            assert Answers("m1", state.member, FeatureGates({})).replicas(request) == 4

    run_virtual(main)


def test_only_what_is_read_is_kept() -> None:
    pod = {
        "metadata": {"name": "p", "namespace": "default", "annotations": {"long": "x" * 1000}, "labels": {"a": "b"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i", "env": [{"name": "SECRET"}]}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready"}, {"type": "PodScheduled", "status": "False"}]},
    }
    kept = trim_pod(orjson.dumps(pod))
    assert len(kept) < 250
    assert b"SECRET" not in kept
    assert b"PodScheduled" in kept
    node = {"metadata": {"name": "n"}, "status": {"images": ["x" * 1000], "allocatable": {"cpu": "1"}}}
    assert len(trim_node(orjson.dumps(node))) < 150


def test_of_a_pod_that_has_a_node_nobody_asks_whose_it_is() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": True}
    pod = {
        "metadata": {"name": "p", "namespace": "default", "labels": {"a": "b"}, "ownerReferences": [owner]},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]},
    }
    assert b"metadata" not in trim_pod(orjson.dumps(pod))
    pod["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False"}]}
    waiting = orjson.loads(trim_pod(orjson.dumps(pod)))["metadata"]
    assert waiting["labels"] == {"a": "b"}
    assert [one["uid"] for one in waiting["ownerReferences"]] == ["u"]


def _labelled(name: str, **labels: str) -> bytes:
    marks = {"kubernetes.io/hostname": name, **labels}
    return orjson.dumps({"metadata": {"name": name, "labels": marks}, "status": {"allocatable": {"pods": "9"}}})


def test_nodes_that_differ_in_their_name_only_share_their_bytes_and_keep_their_labels() -> None:
    bodies = {name: trim_node(_labelled(name, worker="", zone="a")) for name in ("n1", "n2")}
    assert bodies["n1"] is bodies["n2"]
    nodes = Nodes()
    for name, body in bodies.items():
        nodes.put_node(decoder(Node).decode(body), name)
    first, second = nodes.offers()
    assert first.labels == {"kubernetes.io/hostname": "n1", "worker": "", "zone": "a"}
    assert second.labels == {"kubernetes.io/hostname": "n2", "worker": "", "zone": "a"}
    assert first.label_values is second.label_values
    here = NodeClaim(node_selector={"kubernetes.io/hostname": "n2", "worker": ""})
    assert list(nodes.admitting(here)) == ["n2"]


def test_what_a_member_made_large_is_not_kept_for_others() -> None:
    body = _labelled("n1", long="x" * 10_000)
    assert trim_node(body) is not trim_node(body)
    nodes = Nodes()
    for name in ("n1", "n2"):
        nodes.put_node(decoder(Node).decode(_labelled(name, long="x" * 10_000)), name)
    first, second = nodes.offers()
    assert first.label_values == second.label_values
    assert first.label_values is not second.label_values
    assert first.label_names is second.label_names
