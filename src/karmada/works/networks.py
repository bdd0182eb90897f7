"""Whether pods of one cluster have a route to pods of another, as far as clusters declare their networks. Pure.

Two annotations of a Cluster say it: `network.karmada.io/networks` names the networks its pods are in, by commas, and
`network.karmada.io/pod-cidrs` the addresses they have. Clusters that share a network reach each other, unless their
addresses overlap. What is not declared is unknown: no answer is guessed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from karmada.api import annotations
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import ConditionStatus
from karmada.api.name_rules import dns_label

Range = IPv4Network | IPv6Network
LARGEST = 16
"""Networks, and ranges of addresses, that one cluster may declare: every pair of clusters is compared."""
NAMED = 5
"""Pairs that a message names."""
_DISGUISES = tuple(
    ip_network(text)
    for text in (
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64 of a network of its own
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
    )
)
"""Addresses of IPv6 that lead to one of IPv4."""


class Reason(StrEnum):
    """Why pods of a pair of clusters reach each other or not."""

    ROUTED = "Routed"
    NO_ROUTE = "NoRoute"
    OVERLAPPING = "OverlappingPodCIDRs"
    UNDECLARED = "NetworkNotDeclared"
    INVALID = "NetworkInvalid"


@dataclass(frozen=True, slots=True)
class Network:
    """What a cluster declares about its pods' network."""

    names: frozenset[str] = frozenset()
    ranges: tuple[Range, ...] = ()
    problem: str = ""
    """What cannot be read, with the annotation it stands in."""

    def holds(self, address: str) -> bool:
        """Whether a text that a member sent is an address of its pods: none of the caller's own neighbourhood, however
        large the ranges, nor one of IPv4 in disguise, which leads there as well."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        if parsed.is_loopback or parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified:
            return False
        return any(parsed in each for each in self.ranges) and not any(parsed in each for each in _DISGUISES)


class Reach(NamedTuple):
    """Whether pods of a consumer reach pods of a provider."""

    consumer: str
    provider: str
    status: ConditionStatus
    reason: Reason
    message: str


def declared(cluster: Cluster) -> Network | None:
    """What a cluster declares; None when it declares nothing."""
    marks = cluster.metadata.annotations
    return parse(marks.get(annotations.NETWORKS, ""), marks.get(annotations.POD_CIDRS, ""))


def parse(networks: str, ranges: str) -> Network | None:
    """The network of two lists by commas; None when both are empty."""
    names, texts = ([part.strip() for part in text.split(",") if part.strip()] for text in (networks, ranges))
    if not names and not texts:
        return None
    for which, parts in ((annotations.NETWORKS, names), (annotations.POD_CIDRS, texts)):
        if len(parts) > LARGEST:
            return Network(problem=f"{which} names more than {LARGEST}")
    for name in names:
        if problems := dns_label(name):
            return Network(problem=f"{annotations.NETWORKS}: {name[:63]!r}: {problems[0]}")
    found: list[Range] = []
    for text in texts:
        try:
            found.append(ip_network(text, strict=False))
        except ValueError:
            return Network(problem=f"{annotations.POD_CIDRS}: {text[:63]!r} is no CIDR such as 10.2.0.0/16")
    return Network(frozenset(names), tuple(found))


def reach(consumer: str, provider: str, networks: Mapping[str, Network | None]) -> Reach:
    """Whether pods of one cluster reach pods of another."""

    def answer(status: ConditionStatus, reason: Reason, message: str) -> Reach:
        return Reach(consumer, provider, status, reason, message)

    for name in (consumer, provider):
        network = networks.get(name)
        if network is not None and network.problem:
            text = f"cluster {name}: annotation {network.problem}"
            return answer(ConditionStatus.UNKNOWN, Reason.INVALID, text)
    here, there = networks.get(consumer), networks.get(provider)
    both = overlap(here.ranges, there.ranges) if here is not None and there is not None else None
    if both is not None:
        text = f"pod CIDR {both[1]} of {provider} overlaps {both[0]} of {consumer}: use the gateway"
        return answer(ConditionStatus.FALSE, Reason.OVERLAPPING, text)
    if here is None or there is None or not here.names or not there.names:
        which = consumer if here is None or not here.names else provider
        text = f"the network of {which} is not declared: annotate the cluster with {annotations.NETWORKS}"
        return answer(ConditionStatus.UNKNOWN, Reason.UNDECLARED, text)
    if here.names & there.names:
        return answer(ConditionStatus.TRUE, Reason.ROUTED, f"both are in {min(here.names & there.names)}")
    where = f"{', '.join(map(str, there.ranges))} of {provider}" if there.ranges else f"pods of {provider}"
    return answer(ConditionStatus.FALSE, Reason.NO_ROUTE, f"no route from {consumer} to {where}: use the gateway")


def overlap(ours: Sequence[Range], theirs: Sequence[Range]) -> tuple[Range, Range] | None:
    """Two ranges that have addresses in common, the first of each."""
    for one in ours:
        for other in theirs:
            if one.version == other.version and one.overlaps(other):
                return one, other
    return None


def summary(consumers: Iterable[str], providers: Sequence[str], networks: Mapping[str, Network | None]) -> Reach | None:
    """One answer for all pairs of a service: the worst, with the first pairs that it holds for; None where no cluster
    declares anything."""
    pairs = [(consumer, provider) for consumer in consumers for provider in providers if consumer != provider]
    if not any(networks.get(name) is not None for pair in pairs for name in pair):
        return None
    found = [reach(consumer, provider, networks) for consumer, provider in pairs]
    for status in (ConditionStatus.FALSE, ConditionStatus.UNKNOWN):
        if bad := [each for each in found if each.status is status]:
            messages = list(dict.fromkeys(each.message for each in bad))
            more = f"; and {len(messages) - NAMED} more" if len(messages) > NAMED else ""
            return bad[0]._replace(message="; ".join(messages[:NAMED]) + more)
    return found[0]._replace(message="pods of every consumer have a route to pods of every provider")
