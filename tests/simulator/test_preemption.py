"""Important pods and those that go for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulator.conftest import ONE_NODE, deployment

from karmada.api import label_selector
from karmada.machinery.transport import GroupVersionResource
from karmada.simulator.spec import MemberSpec, NodePool
from karmada.simulator.workloads.kinds import BUDGETS, DEPLOYMENTS, PODS
from karmada.simulator.workloads.scheduling.ledger import Ledger
from karmada.simulator.workloads.scheduling.preemption import Budget, plan
from karmada.simulator.workloads.views import Meta, Node, NodeStatus, Pod, PodSpec, PodStatus

CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")
EVENTS = GroupVersionResource("", "v1", "events")


def important(name: str = "vip", cpu: str = "2", **spec):
    container = {"name": "c", "image": "nginx", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], "priorityClassName": "high"} | spec,
    }


def priority_class(**more):
    metadata = {"name": "high"}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": 1000} | more


async def high(actor, **more):
    await actor.create(CLASSES, priority_class(**more))


def test_an_important_pod_takes_the_place_of_others(act):
    async def scene(actor):
        await high(actor)
        await actor.create(DEPLOYMENTS, deployment(replicas=4, cpu="1"))
        await actor.available("web", 4)
        await actor.create(PODS, important())

        async def runs():
            return (await actor.get(PODS, "vip"))["status"]["phase"] == "Running"

        await actor.until(runs)
        assert "nominatedNodeName" not in (await actor.get(PODS, "vip"))["status"]
        await actor.available("web", 2)
        pods = [pod for pod in await actor.pods() if pod["metadata"]["name"] != "vip"]
        assert sorted(pod["status"]["phase"] for pod in pods) == ["Pending", "Pending", "Running", "Running"]

        async def events():
            return [event for event in await actor.items(EVENTS) if event["reason"] == "Preempted"]

        assert len(await actor.until(events)) == 2

    act(scene, ONE_NODE)


@pytest.mark.parametrize(
    ("pod", "class_"),
    [
        pytest.param({}, {"preemptionPolicy": "Never"}, id="a class that preempts nobody"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, {}, id="a pod that fits on no node anyway"),
    ],
)
def test_nobody_goes_for_nothing(act, pod, class_):
    async def scene(actor):
        await high(actor, **class_)
        await actor.create(DEPLOYMENTS, deployment(replicas=4, cpu="1"))
        await actor.available("web", 4)
        await actor.create(PODS, important(**pod))
        await actor.clock.sleep(30)
        assert (await actor.get(PODS, "vip"))["status"]["phase"] == "Pending"
        assert (await actor.status(DEPLOYMENTS, "web"))["availableReplicas"] == 4

    act(scene, ONE_NODE)


def test_pods_with_a_budget_are_spared_where_others_can_go(act):
    spec = MemberSpec("m", node_pools=(NodePool(count=2, cpu="2"),))

    async def scene(actor):
        await high(actor)
        await actor.create(DEPLOYMENTS, deployment("web", replicas=2, cpu="1"))
        await actor.create(DEPLOYMENTS, deployment("spare", replicas=2, cpu="1"))
        await actor.available("web", 2)
        await actor.available("spare", 2)
        budget = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 2}
        metadata = {"name": "web", "namespace": "default"}
        await actor.create(
            BUDGETS, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget}
        )
        await actor.clock.sleep(1)
        await actor.create(PODS, important(cpu="1"))
        await actor.available("spare", 1)
        assert (await actor.status(DEPLOYMENTS, "web"))["availableReplicas"] == 2

    act(scene, spec)


def node(name: str, cpu: int) -> Node:
    return Node(Meta(name=name), status=NodeStatus(allocatable={"cpu": str(cpu), "pods": "10"}))


def pod(uid: str, cpu: int, priority: int, start: str = "2026-01-01T00:00:00Z") -> Pod:
    from msgspec import Raw

    containers = Raw(b'[{"name":"c","resources":{"requests":{"cpu":"%d"}}}]' % cpu)
    labels = {"app": uid}
    return Pod(
        Meta(name=uid, namespace="default", uid=uid, labels=labels),
        PodSpec(raw_containers=containers, priority=priority),
        PodStatus(start_time=start),
    )


def ledger_of(*placed: tuple[str, Pod]) -> Ledger:
    ledger = Ledger()
    for name in ("a", "b"):
        ledger.set_node(node(name, 4))
    for name, one in placed:
        ledger.place(one, name)
    return ledger


YOUNG, OLD = "2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("placed", "budgets", "chosen", "victims"),
    [
        pytest.param([("a", pod("x", 4, 5)), ("b", pod("y", 4, 3))], [], "b", {"y"}, id="the least important victim"),
        pytest.param(
            [("a", pod("x", 2, 1)), ("a", pod("z", 2, 1)), ("b", pod("y", 4, 1))],
            [],
            "b",
            {"y"},
            id="the fewest victims",
        ),
        pytest.param(
            [("a", pod("x", 4, 1, OLD)), ("b", pod("y", 4, 1, YOUNG))], [], "b", {"y"}, id="the youngest victim"
        ),
        pytest.param(
            [("a", pod("x", 4, 5)), ("b", pod("y", 4, 3))],
            [("y", 0)],
            "a",
            {"x"},
            id="no budget is violated if possible",
        ),
        pytest.param(
            [("a", pod("x", 4, 9)), ("b", pod("y", 4, 3))], [("y", 0)], "b", {"y"}, id="a budget as a last resort"
        ),
        pytest.param(
            [("a", pod("x", 4, 9)), ("b", pod("y", 4, 9))], [], None, set(), id="nobody of the same importance"
        ),
    ],
)
def test_the_least_harm_is_chosen(placed, budgets, chosen, victims):
    allowed = [Budget("default", label_selector.from_labels({"app": app}), left) for app, left in budgets]
    found = plan(pod("vip", 4, 9), ledger_of(*placed), allowed)
    assert (found.node if found else None) == chosen
    assert {victim.metadata.uid for victim in (found.victims if found else ())} == victims


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 2), st.integers(0, 3)), max_size=8), st.integers(1, 4))
def test_victims_make_exactly_the_room_that_is_needed(placed, cpu):
    ledger = Ledger()
    for name in "ab":
        ledger.set_node(node(name, 4))
    for number, (where, size, priority) in enumerate(placed):
        if ledger.nodes[where].used.get("cpu", 0) + size * 1000 <= 4000:
            ledger.place(pod(f"p{number}", size, priority), where)
    vip = pod("vip", cpu, 2)
    found = plan(vip, ledger, [])
    if found is None:
        return
    assert all((victim.spec.priority or 0) < 2 for victim in found.victims)
    free = 4000 - ledger.nodes[found.node].used.get("cpu", 0)
    for victim in found.victims:
        ledger.remove(victim.metadata.uid)
    assert not ledger.nodes[found.node].lacks({"cpu": cpu * 1000})
    assert free < cpu * 1000
