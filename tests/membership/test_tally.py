"""Counting nodes and pods as they come and go gives what counting those that are left at once gives."""

from collections.abc import Sequence
from random import Random

import pytest

from karmada.api.cluster.v1alpha1 import ResourceModel
from karmada.api.codec import from_tree
from karmada.api.native import Node, Pod
from karmada.membership.models import DEFAULT_MODELS
from karmada.membership.summary import Summary, Tally, summarize

MODELS = [from_tree(model, ResourceModel) for model in DEFAULT_MODELS]
NAMES = [f"n{number}" for number in range(8)]


def _node(name: str, cpu: str = "16", pods: str = "110", ready: str = "True") -> Node:
    amounts = {"cpu": cpu, "memory": "64Gi", "pods": pods}
    conditions = [{"type": "Ready", "status": ready}]
    return from_tree({"metadata": {"name": name}, "status": {"allocatable": amounts, "conditions": conditions}}, Node)


def _pod(node: str, cpu: str = "1", phase: str = "Running", init: str = "") -> Pod:
    asked = {"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    first = [{"resources": {"requests": {"cpu": init}}}] if init else []
    spec = {"nodeName": node, "containers": [asked], "initContainers": first}
    return from_tree({"metadata": {"name": "p"}, "spec": spec, "status": {"phase": phase}}, Pod)


def _count(tally: Tally, models: Sequence[ResourceModel] = MODELS) -> Summary:
    steps = tally.counting(models)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            summary: Summary = end.value
            return summary


@pytest.mark.parametrize("seed", range(30))
def test_what_came_and_went_leaves_no_trace(seed: int) -> None:
    random, tally = Random(seed), Tally()
    nodes: dict[str, Node] = {}
    pods: dict[int, Pod] = {}
    for number in range(300):
        name = random.choice(NAMES)
        match random.randrange(6):
            case 0:
                nodes[name] = _node(name, random.choice(("4", "16")), ready=random.choice(("True", "False")))
                tally.put_node(name, nodes[name])
            case 1 if name in nodes:
                del nodes[name]
                tally.drop_node(name)
            case 2 if pods:
                tally.remove_pod(pods.pop(random.choice(list(pods))))
            case _:
                phase = random.choice(("Running", "Pending", "Succeeded"))
                pods[number] = _pod(random.choice((name, "")), random.choice(("250m", "1", "2")), phase)
                tally.add_pod(pods[number])
        if not number % 50:
            _count(tally)
    assert _count(tally) == summarize(nodes.values(), pods.values(), MODELS)


def test_pods_that_are_seen_before_their_node_count_on_it() -> None:
    tally = Tally()
    tally.add_pod(_pod("n0", cpu="9"))
    tally.put_node("n0", _node("n0"))
    assert [grade.count for grade in _count(tally).resources.allocatable_modelings][3] == 1  # seven of 16 are free


def test_a_node_that_comes_back_has_the_pods_that_stayed() -> None:
    tally = Tally()
    tally.put_node("n0", _node("n0"))
    tally.add_pod(_pod("n0", cpu="9"))
    tally.drop_node("n0")
    tally.put_node("n0", _node("n0"))
    assert [grade.count for grade in _count(tally).resources.allocatable_modelings][3] == 1


def test_an_init_container_raises_the_total_once() -> None:
    tally = Tally()
    for _ in range(2):
        tally.add_pod(_pod("n0", cpu="1", init="5"))
    assert _count(tally).resources.allocated["cpu"] == "6"


def test_grades_follow_other_models() -> None:
    tally = Tally()
    tally.put_node("n0", _node("n0"))
    before = _count(tally).resources.allocatable_modelings
    coarse = [from_tree({"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "100"}]}, ResourceModel)]
    assert [one.count for one in _count(tally, coarse).resources.allocatable_modelings] == [1]
    assert _count(tally).resources.allocatable_modelings == before
