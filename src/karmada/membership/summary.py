"""What a member offers and what of it is taken, from its nodes and pods.

Pods that finished on a node ask for nothing. As in the reference, an init container does not raise its own pod's
request but the running total it is added to, and only if that is less; sidecars are no exception.

Counting a large member takes half a second: `counting` does it in slices, between which others can run.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import NamedTuple

from karmada.api.cluster.v1alpha1 import AllocatableModeling, NodeSummary, ResourceModel, ResourceSummary
from karmada.api.native import Node, Pod
from karmada.api.quantity import Quantity

SLICE = 200
"""Nodes or pods in one step: about five milliseconds of work."""
_FINISHED = ("Succeeded", "Failed")
Amounts = dict[str, Quantity]
_ONE_POD: Amounts = {"pods": Quantity.parse("1")}


class Summary(NamedTuple):
    """The status parts that are counted."""

    nodes: NodeSummary
    resources: ResourceSummary


def summarize(nodes: Iterable[Node], pods: Iterable[Pod], models: Sequence[ResourceModel]) -> Summary:
    """Count nodes, amounts and, where there are models, nodes per grade."""
    steps = counting(nodes, pods, models)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            summary: Summary = end.value
            return summary


def counting(
    nodes: Iterable[Node], pods: Iterable[Pod], models: Sequence[ResourceModel]
) -> Generator[None, None, Summary]:
    """The same, step by step: yields after every slice of work."""
    total = ready = 0
    allocatable: Amounts = {}
    free: list[tuple[str, Amounts]] = []
    for node in nodes:
        total += 1
        ready += _is_ready(node)
        offered = _quantities(node.status.allocatable)
        _add(allocatable, offered)
        if models:
            free.append((node.metadata.name, offered))
        if not total % SLICE:
            yield
    allocated: Amounts = {}
    allocating: Amounts = {}
    used: dict[str, Amounts] = {}
    for number, pod in enumerate(pods, 1):
        if not number % SLICE:
            yield
        if pod.spec.node_name and pod.status.phase in _FINISHED:
            continue
        if pod.spec.node_name:
            add_pod(allocated, pod)
            add_pod(used.setdefault(pod.spec.node_name, {}), pod)
        else:
            add_pod(allocating, pod)
    modelings = (yield from _grading(free, used, models)) if models else ()
    return Summary(
        NodeSummary(total_num=total, ready_num=ready),
        ResourceSummary(
            allocatable=_spelled(allocatable),
            allocated=_spelled(allocated),
            allocating=_spelled(allocating),
            allocatable_modelings=modelings,
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


def _grading(
    nodes: Iterable[tuple[str, Amounts]], used: Mapping[str, Amounts], models: Sequence[ResourceModel]
) -> Generator[None, None, tuple[AllocatableModeling, ...]]:
    """Nodes per grade by what they have free. Counting ends at the first node without a free pod slot."""
    ordered = sorted(models, key=lambda model: model.grade)
    counts = [0] * len(ordered)
    names = [bound.name for bound in ordered[0].ranges]
    floors = {
        name: [Quantity.parse(bound.min) for model in ordered for bound in model.ranges if bound.name == name]
        for name in names
    }
    zero = Quantity.parse("0")
    for number, (node, free) in enumerate(nodes, 1):
        if not number % SLICE:
            yield
        for name, amount in used.get(node, {}).items():
            if name in free:
                free[name] = free[name] - amount
        if free.get("pods", zero).value() <= 0:
            break
        grade = min(_grade(floors[name], free.get(name, zero)) for name in names)
        if grade >= 0:
            counts[grade] += 1
    return tuple(
        AllocatableModeling(grade=model.grade, count=count) for model, count in zip(ordered, counts, strict=True)
    )


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
