"""The nodes of a member with what is free on them; pods are counted as they come and go.

Pods may be seen before their node: what they take is kept and counts once the node is there.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from karmada.api.native import Node, NodeTaint, Pod
from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import NodeClaim
from karmada.estimator.claims import admits
from karmada.estimator.pods import Amounts, amounts, is_counted, pod_amounts

_UNSCHEDULABLE = NodeTaint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class _Usage:
    """What the pods of a node take."""

    __slots__ = ("pods", "taken")

    def __init__(self) -> None:
        self.pods: dict[Hashable, Amounts] = {}
        self.taken: Amounts = {}

    def put(self, pod: Hashable, needs: Amounts) -> None:
        self.drop(pod)
        self.pods[pod] = needs
        for name, number in needs.items():
            self.taken[name] = self.taken.get(name, 0) + number

    def drop(self, pod: Hashable) -> None:
        for name, number in self.pods.pop(pod, {}).items():
            self.taken[name] -= number


class Offer(NamedTuple):
    """A node as a place for replicas."""

    name: str
    labels: dict[str, str]
    taints: tuple[NodeTaint, ...]
    allocatable: Amounts


class Nodes:
    """The nodes of a member with what is free on them; pods are counted as they come and go."""

    def __init__(self) -> None:
        self._offers: dict[str, Offer] = {}
        self._usage: dict[str, _Usage] = {}
        self._node_of: dict[Hashable, str] = {}
        self.version = 0
        """Counts changes of nodes themselves, not of their pods."""
        self.touched: set[str] = set()
        """Nodes that are there and whose free amounts changed since somebody emptied this."""

    def put_node(self, node: Node) -> None:
        """A node is there, or has changed."""
        name = node.metadata.name
        try:
            offered = amounts(node.status.allocatable)
        except QuantityError:
            offered = {}
        offer = Offer(name, node.metadata.labels, _taints(node), offered)
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

    def put_pod(self, pod: Pod) -> None:
        """A pod is there, or has changed."""
        which = (pod.metadata.namespace, pod.metadata.name)
        node = pod.spec.node_name
        if not node or pod.status.phase in ("Succeeded", "Failed"):
            self.drop_pod(*which)
            return
        if self._node_of.get(which, node) != node:
            self.drop_pod(*which)
        try:
            needs = {name: number for name, number in pod_amounts(pod).items() if is_counted(name)}
        except QuantityError:
            needs = {}
        self._node_of[which] = node
        self._usage.setdefault(node, _Usage()).put(which, needs)
        self._touch(node)

    def drop_pod(self, namespace: str, name: str) -> None:
        """A pod is gone, or has ended."""
        node = self._node_of.pop((namespace, name), None)
        if node is not None:
            usage = self._usage[node]
            usage.drop((namespace, name))
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
        for offer in self._offers.values():
            if admits(claim, offer.name, offer.labels, offer.taints):
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
        return max(0, self._offers[name].allocatable.get("pods", 0) - (len(usage.pods) if usage else 0))

    def free(self, name: str, resource: str) -> int:
        """What a node has left of a resource."""
        usage = self._usage.get(name)
        taken = usage.taken.get(resource, 0) if usage else 0
        return self._offers[name].allocatable.get(resource, 0) - taken

    def free_amounts(self, name: str) -> Amounts:
        """Everything a node has left."""
        left = {resource: self.free(name, resource) for resource in self._offers[name].allocatable}
        return {**left, "pods": self.free_pods(name)}


def claim_key(claim: NodeClaim | None) -> bytes:
    """What makes two claims the same."""
    return b"" if claim is None else msgspec.json.encode(claim)


def _taints(node: Node) -> tuple[NodeTaint, ...]:
    if node.spec.unschedulable and not any(taint.key == _UNSCHEDULABLE.key for taint in node.spec.taints):
        return (*node.spec.taints, _UNSCHEDULABLE)
    return node.spec.taints
