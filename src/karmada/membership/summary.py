"""What a member offers and what of it is taken, from its nodes and pods as they come and go.

Pods that finished on a node ask for nothing. As in the reference, an init container does not raise its own pod's
request but the running total it is added to, and only if that is less; sidecars are no exception. The reference adds
pods up in no certain order; here those that ask for the same are added up together.

A change costs no more than its own node or pod: thousands of pods ask for a few different things, and the grade of a
node is worked out again only after something changed on it. Counting goes over the nodes once, and yields after every
slice of work, so that others can run.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from karmada.api.cluster.v1alpha1 import AllocatableModeling, NodeSummary, ResourceModel, ResourceSummary
from karmada.api.native import Container, Node, Pod
from karmada.api.quantity import Quantity

SLICE = 200
"""Nodes, or different pods, in one step: about five milliseconds of work."""
_FINISHED = ("Succeeded", "Failed")
_NO_GRADE, _FULL = -1, -2
Amounts = dict[str, Quantity]
Spelled = tuple[tuple[str, int | str], ...]
"""Amounts as they were given: what is no quantity is found when it is counted."""
_ONE_POD: Amounts = {"pods": Quantity.parse("1")}
_ZERO = Quantity.parse("0")
S = TypeVar("S")


class Summary(NamedTuple):
    """The status parts that are counted."""

    nodes: NodeSummary
    resources: ResourceSummary


class PodShape(NamedTuple):
    """What a pod asks for."""

    containers: tuple[Spelled, ...]
    init_containers: tuple[Spelled, ...]
    overhead: Spelled


PodCounts = dict[PodShape, int]
"""How many pods ask for the same: a node may have any number of pods, and one that comes or goes costs the same."""


class _Shapes(Generic[S]):
    """How many there are of each shape, in the order in which the first of each came."""

    def __init__(self) -> None:
        self.counts: dict[S, int] = {}
        self._same: dict[S, S] = {}

    def add(self, shape: S) -> S:
        """Count one more; the object that stands for all equal ones."""
        self.counts[shape] = self.counts.get(shape, 0) + 1
        return self._same.setdefault(shape, shape)

    def remove(self, shape: S) -> None:
        """Count one less."""
        left = self.counts[shape] - 1
        if left:
            self.counts[shape] = left
        else:
            del self.counts[shape], self._same[shape]


class _Place:
    """A node that is there, and the pods on it."""

    __slots__ = ("changed", "grade", "offered", "pods", "ready")

    def __init__(self, offered: Spelled, ready: bool, pods: PodCounts | None) -> None:
        self.offered = offered
        self.ready = ready
        self.pods = pods
        self.grade: int | None = None
        """By the models counted last; None when something changed since."""
        self.changed = False
        """Whether something changed since its grade was begun to be worked out."""

    def touch(self) -> None:
        """Its grade has to be worked out again."""
        self.grade, self.changed = None, True


class Tally:
    """The nodes and pods of one member. Who tells it of a pod's end knows what the pod was like before."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Place] = {}
        self._offers: _Shapes[Spelled] = _Shapes()
        self._running: _Shapes[PodShape] = _Shapes()
        self._waiting: _Shapes[PodShape] = _Shapes()
        self._elsewhere: dict[str, PodCounts] = {}
        """Pods of nodes that are not known, or not yet."""
        self._models: Sequence[ResourceModel] = ()

    def put_node(self, name: str, node: Node) -> None:
        """A node is there, or has changed."""
        offered, ready = self._offers.add(tuple(node.status.allocatable.items())), _is_ready(node)
        known = self._nodes.get(name)
        if known is None:
            self._nodes[name] = _Place(offered, ready, self._elsewhere.pop(name, None))
            return
        self._offers.remove(known.offered)
        if known.offered is not offered:
            known.touch()
        known.offered, known.ready = offered, ready

    def drop_node(self, name: str) -> None:
        """A node is gone."""
        place = self._nodes.pop(name)
        self._offers.remove(place.offered)
        if place.pods:
            self._elsewhere[name] = place.pods

    def add_pod(self, pod: Pod) -> None:
        """A pod came."""
        name, shape = pod.spec.node_name, _shape(pod)
        if not name:
            self._waiting.add(shape)
        elif pod.status.phase not in _FINISHED:
            shape, pods = self._running.add(shape), self._pods(name)
            pods[shape] = pods.get(shape, 0) + 1

    def remove_pod(self, pod: Pod) -> None:
        """A pod that was added is gone, or no longer like this."""
        name, shape = pod.spec.node_name, _shape(pod)
        if not name:
            self._waiting.remove(shape)
        elif pod.status.phase not in _FINISHED:
            self._running.remove(shape)
            pods = self._pods(name)
            pods[shape] -= 1
            if not pods[shape]:
                del pods[shape]
            if not pods:
                self._elsewhere.pop(name, None)

    def _pods(self, node: str) -> PodCounts:
        """The pods of a node, about to change."""
        place = self._nodes.get(node)
        if place is None:
            return self._elsewhere.setdefault(node, {})
        place.touch()
        if place.pods is None:
            place.pods = {}
        return place.pods

    def counting(self, models: Sequence[ResourceModel]) -> Generator[None, None, Summary]:
        """Count nodes, amounts and, where there are models, nodes per grade; a change in between may count or not."""
        if models != self._models:
            self._models = models
            for place in self._nodes.values():
                place.grade = None
        places = list(self._nodes.values())
        allocatable: Amounts = {}
        for offered, number in list(self._offers.counts.items()):
            _add(allocatable, {name: amount * number for name, amount in _quantities(offered).items()})
        allocated = yield from _total(self._running.counts)
        allocating = yield from _total(self._waiting.counts)
        modelings = (yield from _grading(places, models)) if models else ()
        return Summary(
            NodeSummary(total_num=len(places), ready_num=sum(place.ready for place in places)),
            ResourceSummary(
                allocatable=_spelled(allocatable),
                allocated=_spelled(allocated),
                allocating=_spelled(allocating),
                allocatable_modelings=modelings,
            ),
        )


def summarize(nodes: Iterable[Node], pods: Iterable[Pod], models: Sequence[ResourceModel]) -> Summary:
    """Count nodes and pods that are all known."""
    tally = Tally()
    for node in nodes:
        tally.put_node(node.metadata.name, node)
    for pod in pods:
        tally.add_pod(pod)
    steps = tally.counting(models)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            summary: Summary = end.value
            return summary


def _shape(pod: Pod) -> PodShape:
    return PodShape(
        _requests(pod.spec.containers), _requests(pod.spec.init_containers), tuple(pod.spec.overhead.items())
    )


def _requests(containers: tuple[Container, ...]) -> tuple[Spelled, ...]:
    return tuple(tuple(container.resources.requests.items()) for container in containers)


def _total(counts: PodCounts) -> Generator[None, None, Amounts]:
    total: Amounts = {}
    for step, (shape, number) in enumerate(list(counts.items()), 1):
        if not step % SLICE:
            yield
        _add_pod(total, shape)
        if number > 1:
            # Init containers have raised the total already.
            once: Amounts = {}
            _add_pod(once, shape._replace(init_containers=()))
            _add(total, {name: amount * (number - 1) for name, amount in once.items()})
    return total


def _add_pod(total: Amounts, shape: PodShape) -> None:
    """Add what a pod asks for to a total; init containers run before, so they only raise the total to their need."""
    for requests in shape.containers:
        _add(total, _quantities(requests))
    for requests in shape.init_containers:
        for name, amount in _quantities(requests).items():
            if name not in total or total[name] < amount:
                total[name] = amount
    _add(total, _quantities(shape.overhead))
    _add(total, _ONE_POD)


def _grading(
    places: Sequence[_Place], models: Sequence[ResourceModel]
) -> Generator[None, None, tuple[AllocatableModeling, ...]]:
    """Nodes per grade by what they have free. Counting ends at the first node without a free pod slot."""
    ordered = sorted(models, key=lambda model: model.grade)
    counts = [0] * len(ordered)
    floors = {
        name: [Quantity.parse(bound.min) for model in ordered for bound in model.ranges if bound.name == name]
        for name in (bound.name for bound in ordered[0].ranges)
    }
    worked = 0
    for place in places:
        grade = place.grade
        if grade is None:
            place.changed = False
            grade = yield from _grade_of(place, floors)
            place.grade = None if place.changed else grade
            worked += 1
            if not worked % SLICE:
                yield
        if grade == _FULL:
            break
        if grade != _NO_GRADE:
            counts[grade] += 1
    return tuple(
        AllocatableModeling(grade=model.grade, count=count) for model, count in zip(ordered, counts, strict=True)
    )


def _grade_of(place: _Place, floors: Mapping[str, list[Quantity]]) -> Generator[None, None, int]:
    free = _quantities(place.offered)
    used = yield from _total(place.pods or {})
    for name, amount in used.items():
        if name in free:
            free[name] = free[name] - amount
    if free.get("pods", _ZERO).value() <= 0:
        return _FULL
    return min(_grade(bounds, free.get(name, _ZERO)) for name, bounds in floors.items())


def _grade(floors: list[Quantity], amount: Quantity) -> int:
    """The last grade that begins at or below an amount; `_NO_GRADE` when none does."""
    found = _NO_GRADE
    for index, floor in enumerate(floors):
        if floor.compare(amount) <= 0:
            found = index
    return found


def _is_ready(node: Node) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def _quantities(amounts: Spelled) -> Amounts:
    return {name: Quantity.parse(amount) for name, amount in amounts}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _spelled(amounts: Amounts) -> dict[str, int | str]:
    return {name: str(amount) for name, amount in amounts.items() if amount}
