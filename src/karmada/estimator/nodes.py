"""The nodes of a member with what is free on them; pods are counted as they come and go.

Nothing is kept of a single pod: whoever says that one is gone or has changed knows what it was like before. Pods may be
seen before their node: what they take is kept and counts once the node is there.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec

from karmada.api.native import Node, NodeTaint, Pod
from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import NodeClaim
from karmada.estimator.claims import admits
from karmada.estimator.pods import Amounts, amounts, is_counted, pod_amounts

V = TypeVar("V", bound=Hashable)
SHARED = 4096
"""Different values that are shared, those seen last."""
USUAL = 4096
"""Characters that they have at most. What a member made larger is not shared: it would be kept when it is gone."""
_OWN_NAME = "="
"""Stands for the node's name in the value of a label, as hostnames do: no value can be this."""
_UNSCHEDULABLE = NodeTaint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


Text = tuple[str, ...]


class _Usage:
    """What the pods of a node take."""

    __slots__ = ("pods", "taken")

    def __init__(self) -> None:
        self.pods = 0
        self.taken: Amounts = {}

    def add(self, needs: Amounts, pods: int) -> None:
        """One pod more, or (-1) one less."""
        self.pods += pods
        for name, number in needs.items():
            self.taken[name] = self.taken.get(name, 0) + pods * number
            if not self.taken[name]:
                del self.taken[name]  # Names that pods invent must not gather.


class Offer(NamedTuple):
    """A node as a place for replicas. Thousands of nodes have the same amounts and, but for their name, the same
    labels: they share them, and labels are put together when a claim asks for them."""

    name: str
    label_names: Text
    label_values: Text
    taints: tuple[NodeTaint, ...]
    allocatable: Amounts

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the node."""
        own = (self.name if value == _OWN_NAME else value for value in self.label_values)
        return dict(zip(self.label_names, own, strict=True))


class Nodes:
    """The nodes of a member with what is free on them; pods are counted as they come and go."""

    def __init__(self) -> None:
        self._offers: dict[str, Offer] = {}
        self._usage: dict[str, _Usage] = {}
        self.version = 0
        """Counts changes of nodes themselves, not of their pods."""
        self.touched: set[str] = set()
        """Nodes that are there and whose free amounts changed since somebody emptied this."""

    def put_node(self, node: Node, name: str = "") -> None:
        """A node is there, or has changed; `name` is its name if it does not say."""
        name = name or node.metadata.name
        try:
            offered = amounts(node.status.allocatable)
        except QuantityError:
            offered = {}
        marks = without_own_name(node.metadata.labels, name)
        offer = Offer(name, _same(tuple(marks)), _same(tuple(marks.values())), _taints(node), _same_amounts(offered))
        if self._offers.get(name) == offer:
            return  # a sign of life
        self._offers[name] = offer
        self.version += 1
        self.touched.add(name)

    def drop_node(self, name: str) -> None:
        """A node is gone."""
        if self._offers.pop(name, None) is not None:
            self.version += 1
            self.touched.discard(name)

    def add_pod(self, pod: Pod) -> None:
        """A pod came."""
        self._count(pod, 1)

    def remove_pod(self, pod: Pod) -> None:
        """A pod that was added is gone, or no longer like this."""
        self._count(pod, -1)

    def _count(self, pod: Pod, change: int) -> None:
        node = pod.spec.node_name
        if not node or pod.status.phase in ("Succeeded", "Failed"):
            return
        try:
            needs = {name: number for name, number in pod_amounts(pod).items() if is_counted(name)}
        except QuantityError:
            needs = {}
        offer = self._offers.get(node)
        usage = self._usage.setdefault(offer.name if offer is not None else node, _Usage())
        usage.add(needs, change)
        if not usage.pods:
            del self._usage[node]
        self._touch(node)

    def _touch(self, node: str) -> None:
        # Names of nodes that come and go must not gather where nobody empties this.
        if node in self._offers:
            self.touched.add(node)

    def __len__(self) -> int:
        return len(self._offers)

    def offers(self) -> Iterable[Offer]:
        """All nodes."""
        return self._offers.values()

    def admitting(self, claim: NodeClaim | None) -> Iterator[str]:
        """The nodes that take a replica."""
        asks = claim is not None and (claim.node_selector or claim.hard_node_affinity is not None)
        for offer in self._offers.values():
            if admits(claim, offer.name, offer.labels if asks else {}, offer.taints):
                yield offer.name

    def room(self, needs: Mapping[str, int], claim: NodeClaim | None) -> int:
        """How many replicas fit on all nodes that take them."""
        total = 0
        for name in self.admitting(claim):
            bounds = (self.free(name, resource) // number for resource, number in needs.items())
            total += max(0, min(self.free_pods(name), *bounds)) if needs else self.free_pods(name)
        return total

    def free_pods(self, name: str) -> int:
        """How many more pods a node takes."""
        usage = self._usage.get(name)
        return max(0, self._offers[name].allocatable.get("pods", 0) - (usage.pods if usage else 0))

    def free(self, name: str, resource: str) -> int:
        """What a node has left of a resource."""
        usage = self._usage.get(name)
        taken = usage.taken.get(resource, 0) if usage else 0
        return self._offers[name].allocatable.get(resource, 0) - taken

    def free_amounts(self, name: str) -> Amounts:
        """Everything a node has left."""
        left = {resource: self.free(name, resource) for resource in self._offers[name].allocatable}
        return {**left, "pods": self.free_pods(name)}


def without_own_name(labels: Mapping[str, str], node: str) -> dict[str, str]:
    """The labels of a node, with a sign in place of its name: those of nodes that are alike are equal."""
    return {name: _OWN_NAME if value == node else value for name, value in labels.items()}


def claim_key(claim: NodeClaim | None) -> bytes:
    """What makes two claims the same."""
    return b"" if claim is None else msgspec.json.encode(claim)


def _same(texts: Text) -> Text:
    """The same object for all that are equal, of a usual size."""
    # Their number counts, as a member may send any number of empty ones. They are shared one by one too, as nodes may
    # have a label besides their name that is like no other's.
    return _shared(tuple(map(_shared, texts))) if len(texts) + sum(map(len, texts)) <= USUAL else texts


@lru_cache(SHARED)
def _shared(value: V) -> V:
    return value


def _same_amounts(offered: Amounts) -> Amounts:
    """The same object for all that are equal, of a usual size."""
    return _amounts(tuple(offered.items())) if sum(map(len, offered)) <= USUAL else offered


@lru_cache(SHARED)
def _amounts(items: tuple[tuple[str, int], ...]) -> Amounts:
    return dict(items)


def _taints(node: Node) -> tuple[NodeTaint, ...]:
    if node.spec.unschedulable and not any(taint.key == _UNSCHEDULABLE.key for taint in node.spec.taints):
        return (*node.spec.taints, _UNSCHEDULABLE)
    return node.spec.taints
