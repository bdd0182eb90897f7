"""What an estimator knows of its member: pods come and go, columns agree with single nodes."""

from hypothesis import given
from hypothesis import strategies as st

from karmada.api.codec import from_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.native import Node, Pod, ResourceQuota
from karmada.api.work.v1alpha2 import Component, NodeClaim, ReplicaRequirements
from karmada.estimator.columns import NodeColumns
from karmada.estimator.estimate import Answers, Member
from karmada.estimator.metrics import EstimatorMetrics
from karmada.estimator.nodes import Nodes
from karmada.scheduler.core.assumptions import AssumedWorkload
from karmada.scheduler.estimators.messages import ReplicasRequest, SetsRequest


def node(name: str, cpu: int = 4, pods: int = 10, **spec: object) -> Node:
    status = {"allocatable": {"cpu": str(cpu), "pods": str(pods)}}
    return from_tree({"metadata": {"name": name, "labels": {"n": name}}, "spec": spec, "status": status}, Node)


def pod(name: str, on: str, cpu: str = "1", phase: str = "Running") -> Pod:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    return from_tree(
        {
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeName": on, "containers": [container]},
            "status": {"phase": phase},
        },
        Pod,
    )


class Pods:
    """Pods by name, counted on nodes as they come and go."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._there: dict[str, Pod] = {}

    def put(self, pod: Pod) -> None:
        self.drop(pod.metadata.name)
        self._there[pod.metadata.name] = pod
        self._nodes.add_pod(pod)

    def drop(self, name: str) -> None:
        if (before := self._there.pop(name, None)) is not None:
            self._nodes.remove_pod(before)


def test_pods_take_room_until_they_end() -> None:
    nodes = Nodes()
    pods = Pods(nodes)
    pods.put(pod("early", "n1"))
    nodes.put_node(node("n1"))
    assert nodes.room({"cpu": 1000}, None) == 3
    pods.put(pod("more", "n1", "2"))
    assert nodes.room({"cpu": 1000}, None) == 1
    pods.put(pod("more", "n1", "2", phase="Succeeded"))
    assert nodes.room({"cpu": 1000}, None) == 3
    pods.drop("early")
    assert nodes.room({"cpu": 1000}, None) == 4
    nodes.drop_node("n1")
    assert nodes.room({"cpu": 1000}, None) == 0


def test_a_node_that_says_nothing_new_makes_nobody_look_again() -> None:
    nodes = Nodes()
    nodes.put_node(node("n1"))
    before = nodes.version
    nodes.put_node(node("n1"))
    assert nodes.version == before
    nodes.put_node(node("n1", cpu=8))
    assert nodes.version > before


def test_nothing_is_kept_of_nodes_that_come_and_go() -> None:
    nodes = Nodes()
    pods = Pods(nodes)
    for number in range(10):
        name = f"n{number}"
        pods.put(pod("early", name))
        nodes.put_node(node(name))
        pods.put(pod("late", name))
        nodes.drop_node(name)
        pods.drop("late")
        pods.drop("early")
    assert nodes.touched == set()


def test_a_pod_that_changes_its_figures_counts_once() -> None:
    nodes = Nodes()
    pods = Pods(nodes)
    nodes.put_node(node("n1"))
    for cpu in ("1", "3", "2"):
        pods.put(pod("p", "n1", cpu))
    assert nodes.free("n1", "cpu") == 2000
    assert nodes.free_pods("n1") == 9


def test_a_cordoned_node_takes_nothing() -> None:
    nodes = Nodes()
    nodes.put_node(node("n1", unschedulable=True))
    assert nodes.room({}, None) == 0


steps = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.integers(0, 5), st.integers(0, 9)),
        st.tuples(st.just("pod"), st.integers(0, 9), st.integers(0, 5)),
        st.tuples(st.just("drop node"), st.integers(0, 5), st.just(0)),
        st.tuples(st.just("drop pod"), st.integers(0, 9), st.just(0)),
    ),
    max_size=25,
)


@given(steps)
def test_columns_agree_with_single_nodes_after_any_history(history: list[tuple[str, int, int]]) -> None:
    nodes = Nodes()
    pods = Pods(nodes)
    columns = NodeColumns(nodes)
    claim = NodeClaim(node_selector={"n": "n1"})
    for what, which, value in history:
        match what:
            case "node":
                nodes.put_node(node(f"n{which}", cpu=value))
            case "pod":
                pods.put(pod(f"p{which}", f"n{value}"))
            case "drop node":
                nodes.drop_node(f"n{which}")
            case "drop pod":
                pods.drop(f"p{which}")
        for requested in ({"cpu": 1500}, {}):
            for chosen in (None, claim):
                assert columns.room(requested, chosen) == nodes.room(requested, chosen)


def test_every_plugin_is_timed_by_name() -> None:
    metrics = EstimatorMetrics()
    gates = FeatureGates({"ResourceQuotaEstimate": True})
    answers = Answers("m1", Member(), gates, metrics=metrics)
    needs = from_tree({"namespace": "default", "resourceRequest": {"cpu": "1"}}, ReplicaRequirements)
    answers.replicas(ReplicasRequest("m1", needs))
    answers.sets(SetsRequest("m1", (), "default"))
    counted = {
        (sample.name.removeprefix("karmada_scheduler_estimator_"), *sample.labels.values()): sample.value
        for family in metrics.collect()
        for sample in family.samples
        if sample.name.endswith("_count")
    }
    execution = "estimating_plugin_execution_duration_seconds_count"
    assert counted[execution, "NodeResourceEstimator", "EstimateReplicas"] == 1
    assert counted[execution, "ResourceQuotaEstimator", "EstimateComponents"] == 1
    assert counted["estimating_plugin_extension_point_duration_seconds_count", "success", "EstimateReplicas"] == 1


def test_quotas_count_what_is_on_its_way() -> None:
    member = Member()
    member.nodes.put_node(node("n1", cpu=100, pods=100))
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    quota = {
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"scopeSelector": {"matchExpressions": [scope]}},
        "status": {"hard": {"cpu": "1"}},
    }
    member.quotas = {"default": {"q": from_tree(quota, ResourceQuota)}}
    needs = {"namespace": "default", "priorityClassName": "high", "resourceRequest": {"cpu": "100m"}}
    part = from_tree({"name": "c", "replicas": 2, "replicaRequirements": needs}, Component)
    there, elsewhere = AssumedWorkload("default", (part,)), AssumedWorkload("other", (part,))
    gates = FeatureGates({"ResourceQuotaEstimate": True, "SchedulingOvercommitProtection": True})
    answers = Answers("m1", member, gates)
    one = from_tree(needs, ReplicaRequirements)
    for assumed, replicas, sets in (((), 10, 5), ((elsewhere,), 10, 5), ((there,) * 2, 6, 3), ((there,) * 6, 0, 0)):
        assert answers.replicas(ReplicasRequest("m1", one, assumed)) == replicas
        assert answers.sets(SetsRequest("m1", (part,), "default", assumed)) == sets
