"""Counts a member's nodes and pods from trimmed caches, and only when something changed.

Of a node or pod nothing is kept but what counting reads, so that thousands of them stay small. What cannot be counted,
or would make a large summary, is a `BadAnswer` of the member.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from karmada.api.cluster.v1alpha1 import ResourceModel
from karmada.api.codec import decoder
from karmada.api.native import Node, NodeStatus, Pod, PodSpec, PodStatus
from karmada.api.quantity import QuantityError
from karmada.machinery import limits
from karmada.machinery.codec import unreadable
from karmada.machinery.errors import BadAnswer
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.summary import Summary, counting

NODES = GroupVersionResource("", "v1", "nodes")
PODS = GroupVersionResource("", "v1", "pods")


class _Meta(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _TrimmedNode(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    metadata: _Meta = _Meta()
    status: NodeStatus = NodeStatus()


_node = msgspec.json.Decoder(_TrimmedNode)
_encode = msgspec.json.Encoder().encode


def trim_node(body: bytes) -> bytes:
    """A node with nothing but its amounts and conditions."""
    return _small(_encode(_node.decode(body)))


def trim_pod(body: bytes) -> bytes:
    """A pod with nothing but its amounts, node and phase."""
    pod = decoder(Pod).decode(body)
    meta = pod.metadata
    spec = PodSpec(
        node_name=pod.spec.node_name,
        containers=pod.spec.containers,
        init_containers=pod.spec.init_containers,
        overhead=pod.spec.overhead,
    )
    trimmed = {
        "metadata": _Meta(meta.name, meta.namespace, meta.uid, meta.resource_version),
        "spec": spec,
        "status": PodStatus(phase=pod.status.phase),
    }
    return _small(_encode(trimmed))


def _small(trimmed: bytes) -> bytes:
    if len(trimmed) > limits.COUNTED:
        raise ValueError(f"a node or pod has more than {limits.COUNTED} bytes to count")
    return trimmed


class ResourceCounter:
    """What one member has and uses."""

    def __init__(self, informers: InformerFactory) -> None:
        self._nodes = informers.resource(NODES, project=trim_node)
        self._pods = informers.resource(PODS, project=trim_pod)
        self._nodes.add_handler(self._changed)
        self._pods.add_handler(self._changed)
        self._last: tuple[Sequence[ResourceModel], Summary] | None = None
        self._dirty = False

    async def count(self, models: Sequence[ResourceModel]) -> Summary:
        """The summary now; counted again only after a change."""
        await self._nodes.synced()
        await self._pods.synced()
        if self._last is not None and self._last[0] == models:
            return self._last[1]
        nodes = (decoder(Node).decode(item.body) for item in self._nodes.all_items())
        pods = (decoder(Pod).decode(item.body) for item in self._pods.all_items())
        self._dirty = False
        steps = counting(nodes, pods, models)
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

    def _changed(self, changes: list[Change[Any]]) -> None:
        self._last = None
        self._dirty = True
