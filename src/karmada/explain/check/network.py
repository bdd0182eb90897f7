"""Which clusters reach each other's pods: what Clusters declare, and the pod CIDRs of nodes where they do not say.

A cluster whose nodes cannot be read is left at what it declares. What was found out by a probe counts more than what is
declared.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from typing import Any, NamedTuple

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import ConditionStatus
from karmada.explain.errors import NoAnswer
from karmada.explain.members import Members
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.transport import GroupVersionResource
from karmada.works.networks import LARGEST, Network, Range, Reach, declared, reach

NODES = GroupVersionResource("", "v1", "nodes")


class Tried(NamedTuple):
    """How a probe ended."""

    status: ConditionStatus
    message: str


Probe = Callable[[str, str, Mapping[str, Network | None]], Awaitable[Tried]]
"""Tries a connection from a pod of the first cluster to one of the second."""


async def networks_of(members: Members, clusters: Sequence[Cluster]) -> dict[str, Network | None]:
    """The networks of clusters."""
    found = await asyncio.gather(*(_network(members, cluster) for cluster in clusters))
    return dict(zip((cluster.metadata.name for cluster in clusters), found, strict=True))


async def reaches(hub: Client, members: Members, names: Sequence[str], probe: Probe | None = None) -> list[Reach]:
    """An answer for every ordered pair of clusters; of all when no names are given."""
    clusters = [each for each in (await hub.of(Cluster).list()).items if not names or each.metadata.name in names]
    networks = await networks_of(members, clusters)
    found = [reach(one, other, networks) for one in sorted(networks) for other in sorted(networks) if one != other]
    if probe is None:
        return found
    tried = await asyncio.gather(*(probe(each.consumer, each.provider, networks) for each in found))
    return [judged(each, outcome) for each, outcome in zip(found, tried, strict=True)]


def judged(reach: Reach, tried: Tried) -> Reach:
    """What is declared, in the light of a probe; one that found nothing out changes nothing."""
    if tried.status is ConditionStatus.UNKNOWN:
        return reach._replace(message=f"{reach.message}; not probed: {tried.message}")
    if tried.status is reach.status:
        return reach._replace(message=f"{reach.message}; {tried.message}")
    return reach._replace(status=tried.status, message=f"{tried.message}; declared: {reach.message}")


async def _network(members: Members, cluster: Cluster) -> Network | None:
    network = declared(cluster)
    if network is not None and (network.problem or network.ranges):
        return network
    try:
        nodes = await members.in_time(members.client(cluster.metadata.name).resource(NODES).list())
    except (ApiError, NoAnswer):
        return network
    ranges = node_ranges(nodes.items)
    if not ranges:
        return network
    return Network(ranges=ranges) if network is None else replace(network, ranges=ranges)


def node_ranges(nodes: Sequence[dict[str, Any]]) -> tuple[Range, ...]:
    """The pod CIDRs of nodes, neighbours joined; none when they are too scattered to be compared."""
    four: list[IPv4Network] = []
    six: list[IPv6Network] = []
    for node in nodes:
        spec = node.get("spec") or {}
        for text in spec.get("podCIDRs") or filter(None, [spec.get("podCIDR")]):
            try:
                found = ip_network(text, strict=False)
            except ValueError:
                continue
            if isinstance(found, IPv4Network):
                four.append(found)
            else:
                six.append(found)
    joined: list[Range] = [*collapse_addresses(four), *collapse_addresses(six)]
    return tuple(joined) if len(joined) <= LARGEST else ()
