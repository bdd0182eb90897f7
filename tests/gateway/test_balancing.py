"""Which endpoint gets a request."""

from collections import Counter
from ipaddress import ip_network
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import decoder
from karmada.gateway.balancing import EJECTED_SECONDS, FAILURES, Balancer, may_retry
from karmada.gateway.endpoints import (
    LONGEST_ADDRESS,
    REMEMBERED,
    Endpoint,
    Objections,
    Standing,
    objection,
    of_slices,
    port_name,
    provider_of,
    standing,
)
from karmada.works.networks import Network, parse


def endpoints(**clusters: int) -> list[Endpoint]:
    return [Endpoint(name, "d", f"p{n}", f"10.0.0.{n}", 80) for name, count in clusters.items() for n in range(count)]


def test_clusters_get_requests_in_proportion_to_their_ready_endpoints() -> None:
    balancer = Balancer(endpoints(one=3, two=1))
    picked = Counter(found.cluster for _ in range(400) if (found := balancer.pick(0.0)) is not None)
    assert picked == {"one": 300, "two": 100}


def test_an_endpoint_with_fewer_requests_under_way_is_preferred() -> None:
    slow, fast = endpoints(one=2)
    balancer = Balancer([slow, fast])
    balancer.began(slow)
    assert {balancer.pick(0.0) for _ in range(10)} == {fast}


def test_an_endpoint_that_fails_in_a_row_is_left_out_for_a_while_and_then_on_probation() -> None:
    bad, good = endpoints(one=2)
    balancer = Balancer([bad, good])
    for _ in range(FAILURES):
        balancer.ended(bad, False, 0.0)
    assert {balancer.pick(1.0) for _ in range(10)} == {good}
    later = EJECTED_SECONDS + 1
    assert {balancer.pick(later) for _ in range(10)} == {bad, good}
    balancer.ended(bad, False, later)
    assert {balancer.pick(later + EJECTED_SECONDS + 1) for _ in range(10)} == {good}
    balancer.ended(bad, True, later)
    balancer.ended(bad, False, later + 200)
    assert {balancer.pick(later + 200) for _ in range(10)} == {bad, good}


def test_the_last_endpoint_is_never_left_out() -> None:
    only = endpoints(one=1)
    balancer = Balancer(only)
    for _ in range(50):
        balancer.ended(only[0], False, 0.0)
    assert balancer.pick(0.0) == only[0]
    assert balancer.ejections == 0


def test_spare_endpoints_are_used_when_there_is_no_other() -> None:
    near, far = endpoints(one=1, two=1)
    balancer = Balancer([near], [far])
    assert balancer.pick(0.0) == near
    assert balancer.pick(0.0, {near}) == far
    balancer.update([], [far])
    assert balancer.pick(0.0) == far
    balancer.update([])
    assert balancer.pick(0.0) is None


def test_an_endpoint_whose_cluster_is_ready_again_begins_anew() -> None:
    bad, good = endpoints(one=1, two=1)
    balancer = Balancer([bad, good])
    for _ in range(FAILURES):
        balancer.ended(bad, False, 0.0)
    balancer.update([good], [bad])
    balancer.update([bad, good])
    assert {balancer.pick(1.0) for _ in range(10)} == {bad, good}


@pytest.mark.parametrize(
    ("method", "attempt", "sent", "again"),
    [("GET", 1, True, True), ("POST", 1, True, False), ("POST", 1, False, True), ("GET", 3, True, False)],
)
def test_only_harmless_requests_are_repeated(method: str, attempt: int, sent: bool, again: bool) -> None:
    assert may_retry(method, attempt, sent) == again


@settings(max_examples=200, deadline=None)
@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.floats(0, 100)), max_size=60),
)
def test_whatever_fails_somebody_is_picked_and_everybody_that_works_gets_turns(
    count: int, history: list[tuple[int, bool, float]]
) -> None:
    all_ = endpoints(one=count)
    balancer = Balancer(all_)
    now = 0.0
    for which, ok, passed in history:
        now += passed
        found = all_[which % count]
        balancer.began(found)
        balancer.ended(found, ok, now)
        assert balancer.pick(now) in all_
    usable = {found for found in all_ if not balancer.is_ejected(found, now)}
    assert usable
    assert {balancer.pick(now) for _ in range(3 * count)} == usable


def one_slice(namespace: str = "d", **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "s", "namespace": namespace},
        "ports": [{"name": "http", "port": 8080}, {"name": "dns", "port": 53, "protocol": "UDP"}],
        "endpoints": [
            {"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", "name": "p1", "namespace": "d"}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": False}},
        ],
    } | more


def test_ready_endpoints_of_a_named_port() -> None:
    assert of_slices([("one", one_slice())], "d", "http") == [Endpoint("one", "d", "p1", "10.0.0.1", 8080)]
    assert of_slices([("one", one_slice())], "d", "dns") == []


@pytest.mark.parametrize("reference", [{"name": "p", "namespace": "kube-system"}, {"name": "../../secrets/x"}])
def test_a_slice_cannot_lead_to_pods_of_another_namespace(reference: dict[str, str]) -> None:
    hostile = one_slice(endpoints=[{"addresses": ["10.0.0.1"], "targetRef": {"kind": "Pod", **reference}}])
    assert of_slices([("one", hostile)], "d", "http") == []


@pytest.mark.parametrize("namespace", ["x/../../../member2/proxy/api/v1/namespaces/d", "a?x=", "a#", "other", "", None])
def test_a_slice_of_another_namespace_than_the_services_is_left_out(namespace: str) -> None:
    hostile = one_slice(namespace, endpoints=[{"addresses": ["10.0.0.9"], "targetRef": {"kind": "Pod", "name": "p"}}])
    found = of_slices([("hostile", hostile), ("hostile", {"metadata": {}}), ("one", one_slice())], "d", "http")
    assert [each.cluster for each in found] == ["one"]


@pytest.mark.parametrize(
    ("ranges", "address", "why"),
    [
        ("10.1.0.0/16,fd00::/48", "10.1.0.9", ""),
        ("10.1.0.0/16,fd00::/48", "fd00::9", ""),
        ("10.1.0.0/16", "10.96.0.1", "'10.96.0.1' is no address in its pod CIDRs"),
        ("10.1.0.0/16", "node-1", "'node-1' is no address in its pod CIDRs"),
        ("", "10.1.0.9", "its pod CIDRs are not declared: annotate the cluster with network.karmada.io/pod-cidrs"),
        ("everything", "10.1.0.9", "annotation network.karmada.io/pod-cidrs: 'everything' is no CIDR"),
    ],
)
def test_connections_are_made_to_declared_addresses_only(ranges: str, address: str, why: str) -> None:
    for network in (parse("", ranges), parse("backbone", ranges)):
        found = objection(address, network)
        assert found.startswith(why)
        assert bool(found) == bool(why)


def test_ports_by_name_and_number() -> None:
    declared = [("http", 80), ("", 81)]
    assert [port_name(wanted, declared) for wanted in ("http", 80, 81, 82, "x")] == ["http", "http", "", None, None]


@pytest.mark.parametrize(
    "wrong",
    [
        {"ports": [{"name": "http", "port": "web"}]},
        {"ports": [7]},
        {"ports": 7},
        {"endpoints": {"addresses": []}},
        {"endpoints": [{"addresses": 7}]},
        {"endpoints": [{"addresses": ["10.0.0.9"], "targetRef": "pod"}]},
    ],
)
def test_a_slice_of_another_shape_takes_no_other_clusters_endpoints_along(wrong: dict[str, Any]) -> None:
    found = of_slices([("hostile", one_slice() | wrong), ("one", one_slice())], "d", "http")
    assert [each.cluster for each in found] == ["one"]


@pytest.mark.parametrize(
    ("metadata", "cluster"),
    [
        ({"name": "x", "annotations": {"endpointslice.karmada.io/provision-cluster": "m-1"}}, "m-1"),
        ({"name": "x", "annotations": {"work.karmada.io/namespace": "karmada-es-m"}}, "m"),
        ({"name": "imported-m-1-web-abc"}, "m-1"),
        ({"name": "web-abc"}, ""),
    ],
)
def test_the_cluster_of_a_collected_slice(metadata: dict[str, Any], cluster: str) -> None:
    assert provider_of({"metadata": metadata}, ["m", "m-1"]) == cluster


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (b'{"conditions":[{"type":"Ready","status":"True"}]}', Standing.UP),
        (b'{"conditions":[{"type":"Ready","status":"Unknown"}]}', Standing.DOWN),
        (b'{"conditions":[{"type":"Ready","status":"True"}],"remedyActions":["TrafficControl"]}', Standing.BLOCKED),
    ],
)
def test_where_requests_go(status: bytes, expected: Standing) -> None:
    tree = b'{"metadata":{"name":"m"},"spec":{"syncMode":"Push"},"status":' + status + b"}"
    assert standing(decoder(Cluster).decode(tree)) is expected
    assert standing(None) is Standing.BLOCKED


class Asked(Network):
    """A network that counts for which addresses it is asked."""

    count = 0

    def holds(self, address: str) -> bool:
        Asked.count += 1
        return super().holds(address)


def within(pods: str) -> Asked:
    return Asked(ranges=(ip_network(pods),))


def asked(objections: Objections, network: Network, *addresses: str) -> int:
    """How many addresses are looked at for an answer, which is that of `objection`."""
    expected = {address: why for address in addresses if (why := objection(address, network))}
    before = Asked.count
    assert objections.to("m1", network, addresses) == expected
    return Asked.count - before


def test_what_there_is_against_an_address_is_found_once_for_all_ports_of_a_cluster() -> None:
    near, far = ("10.2.0.1", "10.2.0.2", "169.254.169.254"), ("10.3.0.1", "text")
    network, another, objections = within("10.2.0.0/16"), within("10.3.0.0/16"), Objections()
    assert [asked(objections, network, *near) for _ in range(3)] == [3, 0, 0]
    assert asked(objections, network, *near, *far) == 2
    assert asked(objections, another, *near, *far) == 5
    assert asked(objections, another, *far) == 0


def test_long_texts_and_more_addresses_than_a_number_are_not_remembered() -> None:
    network, text, objections = within("10.0.0.0/8"), "1" * (LONGEST_ADDRESS + 1), Objections()
    assert [asked(objections, network, text) for _ in range(2)] == [1, 1]
    many = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(REMEMBERED + 1)]
    assert asked(objections, network, *many) == REMEMBERED + 1
    assert asked(objections, network, "10.0.0.1") == 1
