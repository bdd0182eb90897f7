"""What metrics.k8s.io of members is asked for."""

from collections.abc import Mapping

from karmada.machinery.client import Client
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.metrics_adapter.fanout import Fanout, Gathered

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
KINDS: Mapping[str, str] = {"pods": "PodMetrics", "nodes": "NodeMetrics"}
"""By the plural of the resource."""


def type_of(plural: str) -> GroupVersionResource:
    """A resource of the group."""
    return GroupVersionResource(GROUP, VERSION, plural)


async def everything(fanout: Fanout, plural: str, scope: Scope) -> Gathered[list[bytes]]:
    """What every ready member measured, encoded; raises `Failure` before the clusters are known."""
    type_ = type_of(plural)

    async def ask(member: Client) -> list[bytes]:
        return (await member.encoded(type_).list(scope, page_size=0)).items

    return await fanout.ask((type_, scope), ask)
