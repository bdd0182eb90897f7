"""Counts a member's nodes and pods from trimmed caches, as they change.

Of a node or pod nothing is kept but what counting reads, so that thousands of them stay small; nodes that are alike
share their bytes. What cannot be counted, or would make a large summary, is a `BadAnswer` of the member.
"""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from karmada.api.cluster.v1alpha1 import ResourceModel
from karmada.api.codec import decoder
from karmada.api.native import Condition, Container, Node, NodeStatus, Pod, PodSpec, PodStatus, Resources
from karmada.api.quantity import QuantityError
from karmada.machinery import limits
from karmada.machinery.codec import unreadable
from karmada.machinery.errors import BadAnswer
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.factory import InformerFactory, Projection
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.summary import Summary, Tally

NODES = GroupVersionResource("", "v1", "nodes")
PODS = GroupVersionResource("", "v1", "pods")
KINDS_OF_NODES = 4096
"""Different nodes whose bytes are shared; each cluster has a few."""
USUAL = 4096
"""Bytes that a node has at most. What a member made larger is not shared: it would be kept when the member is gone."""
_encode = msgspec.json.Encoder().encode


def trim_node(body: bytes) -> bytes:
    """A node with nothing but its amounts and whether it is ready."""
    status = decoder(Node).decode(body).status
    ready = tuple(Condition(type=c.type, status=c.status) for c in status.conditions if c.type == "Ready")
    return shared(_small(_encode({"status": NodeStatus(allocatable=status.allocatable, conditions=ready)})))


def shared(body: bytes) -> bytes:
    """The same bytes for all that are equal, of a usual size."""
    return _shared(body) if len(body) <= USUAL else body


@lru_cache(KINDS_OF_NODES)
def _shared(body: bytes) -> bytes:
    return body


def trim_pod(body: bytes) -> bytes:
    """A pod with nothing but its amounts, node and phase."""
    pod = decoder(Pod).decode(body)
    spec = PodSpec(
        node_name=pod.spec.node_name,
        containers=_trimmed(pod.spec.containers),
        init_containers=_trimmed(pod.spec.init_containers),
        overhead=pod.spec.overhead,
    )
    return _small(_encode({"spec": spec, "status": PodStatus(phase=pod.status.phase)}))


def _trimmed(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple(Container(resources=Resources(requests=one.resources.requests)) for one in containers)


def _small(trimmed: bytes) -> bytes:
    if len(trimmed) > limits.COUNTED:
        raise ValueError(f"a node or pod has more than {limits.COUNTED} bytes to count")
    return trimmed


class Trimming(NamedTuple):
    """How nodes and pods are trimmed; who follows them in the same form shares one cache."""

    node: Projection
    pod: Projection


COUNTED = Trimming(trim_node, trim_pod)


class ResourceCounter:
    """What one member has and uses."""

    def __init__(self, informers: InformerFactory, trimming: Trimming = COUNTED) -> None:
        self._nodes = informers.resource(NODES, project=trimming.node)
        self._pods = informers.resource(PODS, project=trimming.pod)
        self._tally = Tally()
        self._nodes.add_handler(self._nodes_changed)
        self._pods.add_handler(self._pods_changed)
        self._last: tuple[Sequence[ResourceModel], Summary] | None = None
        self._dirty = False

    async def count(self, models: Sequence[ResourceModel]) -> Summary:
        """The summary now; counted again only after a change."""
        await self._nodes.synced()
        await self._pods.synced()
        if self._last is not None and self._last[0] == models:
            return self._last[1]
        self._dirty = False
        steps = self._tally.counting(models)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                summary: Summary = end.value
                break
            except QuantityError as error:
                raise unreadable(error) from error
            await asyncio.sleep(0)
        if len(_encode(summary.resources)) > limits.SUMMARY:
            raise BadAnswer(f"the nodes and pods have amounts of more than {limits.SUMMARY} bytes")
        # What changed while counting is counted the next time.
        self._last = None if self._dirty else (models, summary)
        return summary

    def trouble(self) -> str:
        """Why counting does not come to an end; empty when nothing is known to be wrong."""
        failures = (informer.reflector.failure for informer in (self._nodes, self._pods))
        return "; ".join(str(failure) for failure in failures if failure is not None)

    def _nodes_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            if change.new is None:
                self._tally.drop_node(change.key.name)
            elif change.old is not None and change.old.body == change.new.body:
                continue  # a sign of life
            else:
                self._tally.put_node(change.key.name, decoder(Node).decode(change.new.body))
            self._changed()

    def _pods_changed(self, changes: list[Change[Any]]) -> None:
        for change in changes:
            if change.old is not None and change.new is not None and change.old.body == change.new.body:
                continue  # nothing that counts
            if change.old is not None:
                self._tally.remove_pod(decoder(Pod).decode(change.old.body))
            if change.new is not None:
                self._tally.add_pod(decoder(Pod).decode(change.new.body))
            self._changed()

    def _changed(self) -> None:
        self._last = None
        self._dirty = True
