"""What a member offers and what of it is taken, from its nodes and pods.

Pods that finished on a node ask for nothing. As in the reference, an init container does not raise its own pod's
request but the running total it is added to, and only if that is less; sidecars are no exception.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from karmada.api.cluster.v1alpha1 import AllocatableModeling, NodeSummary, ResourceModel, ResourceSummary
from karmada.api.native import Node, Pod
from karmada.api.quantity import Quantity

_FINISHED = ("Succeeded", "Failed")
Amounts = dict[str, Quantity]
_ONE_POD: Amounts = {"pods": Quantity.parse("1")}


class Summary(NamedTuple):
    """The status parts that are counted."""

    nodes: NodeSummary
    resources: ResourceSummary


def summarize(nodes: Sequence[Node], pods: Iterable[Pod], models: Sequence[ResourceModel]) -> Summary:
    """Count nodes, amounts and, where there are models, nodes per grade."""
    ready = sum(1 for node in nodes if _is_ready(node))
    allocatable: Amounts = {}
    for node in nodes:
        _add(allocatable, _quantities(node.status.allocatable))
    allocated: Amounts = {}
    allocating: Amounts = {}
    used: dict[str, Amounts] = {}
    for pod in pods:
        if pod.spec.node_name and pod.status.phase in _FINISHED:
            continue
        if pod.spec.node_name:
            add_pod(allocated, pod)
            add_pod(used.setdefault(pod.spec.node_name, {}), pod)
        else:
            add_pod(allocating, pod)
    return Summary(
        NodeSummary(total_num=len(nodes), ready_num=ready),
        ResourceSummary(
            allocatable=_spelled(allocatable),
            allocated=_spelled(allocated),
            allocating=_spelled(allocating),
            allocatable_modelings=tuple(grade_nodes(nodes, used, models)) if models else (),
        ),
    )


def add_pod(total: Amounts, pod: Pod) -> None:
    """Add what a pod asks for to a total; init containers run before, so they only raise the total to their need."""
    for container in pod.spec.containers:
        _add(total, _quantities(container.resources.requests))
    for container in pod.spec.init_containers:
        for name, amount in _quantities(container.resources.requests).items():
            if name not in total or total[name] < amount:
                total[name] = amount
    _add(total, _quantities(pod.spec.overhead))
    _add(total, _ONE_POD)


def grade_nodes(
    nodes: Iterable[Node], used: Mapping[str, Amounts], models: Sequence[ResourceModel]
) -> list[AllocatableModeling]:
    """Nodes per grade by what they have free. Counting ends at the first node without a free pod slot."""
    ordered = sorted(models, key=lambda model: model.grade)
    counts = [0] * len(ordered)
    names = [bound.name for bound in ordered[0].ranges]
    floors = {
        name: [Quantity.parse(bound.min) for model in ordered for bound in model.ranges if bound.name == name]
        for name in names
    }
    zero = Quantity.parse("0")
    for node in nodes:
        free = _quantities(node.status.allocatable)
        for name, amount in used.get(node.metadata.name, {}).items():
            if name in free:
                free[name] = free[name] - amount
        if free.get("pods", zero).value() <= 0:
            break
        grade = min(_grade(floors[name], free.get(name, zero)) for name in names)
        if grade >= 0:
            counts[grade] += 1
    return [AllocatableModeling(grade=model.grade, count=count) for model, count in zip(ordered, counts, strict=True)]


def _grade(floors: list[Quantity], amount: Quantity) -> int:
    """The last grade that begins at or below an amount; -1 when none does."""
    found = -1
    for index, floor in enumerate(floors):
        if floor.compare(amount) <= 0:
            found = index
    return found


def _is_ready(node: Node) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def _quantities(amounts: Mapping[str, int | str]) -> Amounts:
    return {name: Quantity.parse(amount) for name, amount in amounts.items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _spelled(amounts: Amounts) -> dict[str, int | str]:
    return {name: str(amount) for name, amount in amounts.items() if amount}
