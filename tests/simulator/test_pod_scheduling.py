"""Which node a pod gets, and what is said when it gets none."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulator.conftest import template

from karmada.simulator.spec import MemberSpec, NodePool, TaintSpec
from karmada.simulator.workloads.kinds import NODES, PODS
from karmada.simulator.workloads.scheduling.choosing import Chooser, Chosen
from karmada.simulator.workloads.scheduling.ledger import Ledger
from karmada.simulator.workloads.views import POD, Meta, Node, NodeStatus

MIXED = MemberSpec(
    "m",
    node_pools=(
        NodePool(name="small", nodes=("s1", "s2"), cpu="1", memory="1Gi", labels={"disk": "hdd"}),
        NodePool(name="tainted", nodes=("t1",), taints=(TaintSpec("team", "a"),)),
    ),
)


def pod(name="p", **spec):
    made = template({"app": "x"}, **spec)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        **made,
        "metadata": {"name": name, "namespace": "default", **made["metadata"]},
    }


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"cpu": "2"}, "2 Insufficient cpu, 1 node(s) had untolerated taint {team: a}", id="cpu"),
        pytest.param(
            {"nodeSelector": {"disk": "ssd"}},
            "1 node(s) had untolerated taint {team: a}, 2 node(s) didn't match Pod's node affinity/selector",
            id="selector",
        ),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}], "cpu": "100"}, "3 Insufficient cpu", id="tolerated but too small"
        ),
        pytest.param(
            {"container": {"resources": {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}}},
            "1 node(s) had untolerated taint {team: a}, 2 Insufficient example.com/gpu",
            id="extended resource",
        ),
    ],
)
def test_the_reasons_are_those_of_the_scheduler(act, spec, message):
    async def scene(actor):
        await actor.create(PODS, pod(**spec))
        await actor.clock.sleep(1)
        conditions = (await actor.status(PODS, "p"))["conditions"]
        expected = ", ".join(sorted(message.split(", ")))
        assert conditions[0]["message"] == f"0/3 nodes are available: {expected}."

    act(scene, MIXED)


@pytest.mark.parametrize(
    ("spec", "nodes"),
    [
        pytest.param({"nodeSelector": {"disk": "hdd"}}, {"s1", "s2"}, id="selector"),
        pytest.param({"tolerations": [{"key": "team", "value": "a"}], "cpu": "4"}, {"t1"}, id="toleration"),
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {
                                    "matchExpressions": [
                                        {"key": "kubernetes.io/hostname", "operator": "In", "values": ["s2"]}
                                    ]
                                }
                            ]
                        }
                    }
                }
            },
            {"s2"},
            id="affinity",
        ),
    ],
)
def test_pods_go_where_they_may(act, spec, nodes):
    async def scene(actor):
        await actor.create(PODS, pod(**spec))
        await actor.clock.sleep(1)
        assert (await actor.get(PODS, "p"))["spec"]["nodeName"] in nodes

    act(scene, MIXED)


def test_anti_affinity_keeps_pods_apart(act):
    async def scene(actor):
        term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        for number in range(3):
            await actor.create(PODS, pod(f"p{number}", affinity=affinity))
        await actor.clock.sleep(1)
        placed = sorted(p["spec"].get("nodeName", "") for p in await actor.pods())
        assert placed == ["", "s1", "s2"]
        waiting = next(p for p in await actor.pods() if not p["spec"].get("nodeName"))
        assert "2 node(s) didn't match pod anti-affinity rules" in waiting["status"]["conditions"][0]["message"]

    act(scene, MIXED)


def test_spread_constraints_balance_zones(act):
    spec = MemberSpec("m", zones=("a", "b"), node_pools=(NodePool(count=2),))

    async def scene(actor):
        constraint = {
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }
        for number in range(6):
            await actor.create(PODS, pod(f"p{number}", topologySpreadConstraints=[constraint]))
        await actor.clock.sleep(1)
        nodes = [p["spec"]["nodeName"] for p in await actor.pods()]
        assert sorted(nodes.count(node) for node in set(nodes)) == [3, 3]

    act(scene, spec)


def test_a_cordoned_node_gets_no_pods_and_an_uncordoned_one_does(act):
    async def scene(actor):
        nodes = actor.client.resource(NODES)
        for name in ("s1", "s2"):
            await nodes.patch(name, {"spec": {"unschedulable": True}})
        await actor.clock.sleep(1)
        await actor.create(PODS, pod())
        await actor.clock.sleep(1)
        message = (await actor.status(PODS, "p"))["conditions"][0]["message"]
        assert "2 node(s) were unschedulable" in message
        await nodes.patch("s1", {"spec": {"unschedulable": None}})
        await actor.clock.sleep(1)
        assert (await actor.get(PODS, "p"))["spec"]["nodeName"] == "s1"

    act(scene, MIXED)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 2000), st.booleans()), max_size=60))
def test_nodes_are_never_overcommitted(steps):
    ledger = Ledger()
    for number in range(3):
        ledger.set_node(Node(Meta(name=f"n{number}"), status=NodeStatus(allocatable={"cpu": "4", "pods": "4"})))
    chooser = Chooser(ledger)
    for key, cpu, leave in steps:
        uid = f"u{key}"
        ledger.remove(uid)
        if leave:
            continue
        container = {"name": "c", "resources": {"requests": {"cpu": f"{cpu}m"}}}
        metadata = {"name": uid, "uid": uid, "ownerReferences": [{"uid": "o", "controller": True}]}
        one = POD.decode(orjson.dumps({"metadata": metadata, "spec": {"containers": [container]}}))
        chosen = chooser.choose(one)
        if isinstance(chosen, Chosen):
            ledger.place(one, chosen.node)
        for state in ledger.present():
            assert state.used.get("cpu", 0) <= 4000
            assert 0 <= state.used["pods"] <= 4
