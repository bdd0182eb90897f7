"""Which clusters have routes to each other's pods."""

import pytest

from karmada.api import annotations
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import ConditionStatus, ObjectMeta
from karmada.works.networks import LARGEST, Network, Reason, declared, parse, reach, summary


def networks(**fields: tuple[str, str]) -> dict[str, Network | None]:
    """Clusters by name, each with the lists it declares."""
    return {name: parse(*both) for name, both in fields.items()}


FLAT = ("backbone", "10.1.0.0/16"), ("backbone", "10.2.0.0/16")


@pytest.mark.parametrize(
    ("one", "other", "status", "reason", "message"),
    [
        (*FLAT, "True", Reason.ROUTED, "both are in backbone"),
        (("edge,backbone", ""), ("backbone", ""), "True", Reason.ROUTED, "both are in backbone"),
        (
            ("edge", "10.1.0.0/16"),
            ("backbone", "10.2.0.0/16,fd00:2::/48"),
            "False",
            Reason.NO_ROUTE,
            "no route from one to 10.2.0.0/16, fd00:2::/48 of other: use the gateway",
        ),
        (
            ("edge", ""),
            ("backbone", ""),
            "False",
            Reason.NO_ROUTE,
            "no route from one to pods of other: use the gateway",
        ),
        (
            ("backbone", "10.0.0.0/8"),
            ("backbone", "10.2.0.0/16"),
            "False",
            Reason.OVERLAPPING,
            "pod CIDR 10.2.0.0/16 of other overlaps 10.0.0.0/8 of one: use the gateway",
        ),
        (
            ("", "10.2.0.0/16"),
            ("", "10.2.0.0/16"),
            "False",
            Reason.OVERLAPPING,
            "pod CIDR 10.2.0.0/16 of other overlaps 10.2.0.0/16 of one: use the gateway",
        ),
        (
            ("", "10.1.0.0/16"),
            FLAT[1],
            "Unknown",
            Reason.UNDECLARED,
            f"the network of one is not declared: annotate the cluster with {annotations.NETWORKS}",
        ),
        (
            FLAT[0],
            ("", ""),
            "Unknown",
            Reason.UNDECLARED,
            f"the network of other is not declared: annotate the cluster with {annotations.NETWORKS}",
        ),
        (
            FLAT[0],
            ("backbone", "10.2.0.0/40"),
            "Unknown",
            Reason.INVALID,
            f"cluster other: annotation {annotations.POD_CIDRS}: '10.2.0.0/40' is no CIDR such as 10.2.0.0/16",
        ),
    ],
)
def test_a_pair_of_clusters_is_reachable_as_it_declares(
    one: tuple[str, str], other: tuple[str, str], status: str, reason: Reason, message: str
) -> None:
    found = reach("one", "other", networks(one=one, other=other))

    assert (found.status, found.reason, found.message) == (status, reason, message)


def test_addresses_of_both_families_are_compared_with_their_own() -> None:
    known = networks(one=("backbone", "10.1.0.0/16,fd00:1::/48"), other=("backbone", "10.2.0.0/16,fd00:1:0:5::/64"))

    found = reach("one", "other", known)

    assert found.message == "pod CIDR fd00:1:0:5::/64 of other overlaps fd00:1::/48 of one: use the gateway"


def test_a_service_whose_clusters_declare_nothing_gets_no_answer() -> None:
    assert summary(["one"], ["other"], networks(one=("", ""), other=("", ""), third=FLAT[0])) is None
    assert summary(["one"], ["one"], networks(one=FLAT[0])) is None, "a cluster always reaches itself"


def test_the_worst_pair_of_a_service_decides_and_the_others_are_counted() -> None:
    known = networks(
        hub=("backbone", ""), dark=("", ""), **{f"edge{number}": (f"edge{number}", "") for number in range(8)}
    )
    consumers = [name for name in known if name.startswith("edge")]

    found = summary([*consumers, "dark"], ["hub"], known)

    assert found is not None
    assert (found.status, found.reason) == (ConditionStatus.FALSE, Reason.NO_ROUTE)
    assert found.message.startswith("no route from edge0 to pods of hub: use the gateway; no route from edge1 ")
    assert found.message.endswith("; and 3 more")

    found = summary(["hub", "dark"], ["hub"], known)

    assert found is not None
    assert found.status is ConditionStatus.UNKNOWN


@pytest.mark.parametrize(("edges", "more"), [(5, ""), (6, "; and 1 more")])
def test_five_pairs_are_named_and_the_rest_is_counted(edges: int, more: str) -> None:
    known = networks(hub=("backbone", ""), **{f"edge{number}": (f"edge{number}", "") for number in range(edges)})

    found = summary([name for name in known if name != "hub"], ["hub"], known)

    assert found is not None
    assert found.message.count("no route") == 5
    assert found.message.endswith("use the gateway" + more)


def test_a_service_all_of_whose_clusters_have_routes_is_reachable() -> None:
    found = summary(["one"], ["other"], networks(one=FLAT[0], other=FLAT[1]))

    assert found is not None
    assert (found.consumer, found.provider, found.status) == ("one", "other", ConditionStatus.TRUE)
    assert found.message == "pods of every consumer have a route to pods of every provider"


def test_a_cluster_declares_its_network_by_annotations() -> None:
    noted = {annotations.NETWORKS: "backbone, edge", annotations.POD_CIDRS: "10.1.2.3/16"}
    found = declared(Cluster(metadata=ObjectMeta(name="one", annotations=noted)))

    assert found is not None
    assert found.names == {"backbone", "edge"}
    assert [str(each) for each in found.ranges] == ["10.1.0.0/16"], "the host's part of an address is left out"
    assert declared(Cluster(metadata=ObjectMeta(name="two"))) is None


@pytest.mark.parametrize(
    ("address", "held"), [("10.1.9.9", True), ("10.2.0.1", False), ("fd00::1", True), ("pod-1", False)]
)
def test_an_address_is_of_the_pods_in_whose_range_it_is(address: str, held: bool) -> None:
    network = parse("", "10.1.0.0/16,fd00::/48")

    assert network is not None
    assert network.holds(address) is held


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "224.0.0.1",
        "::",
        "::1",
        "fe80::1",
        "ff02::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "::ffff:0:7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::7f00:1",
        "2001:0:7f00:1::1",
        "2002:7f00:1::1",
        "metadata.internal",
    ],
)
def test_no_pod_has_an_address_of_the_callers_own_neighbourhood(address: str) -> None:
    network = parse("", "0.0.0.0/0,::/0")

    assert network is not None
    assert not network.holds(address)


def test_sixteen_networks_and_ranges_may_be_declared() -> None:
    found = parse(
        ",".join(f"n{number}" for number in range(16)), ",".join(f"10.{number}.0.0/16" for number in range(16))
    )

    assert found is not None
    assert (found.problem, len(found.names), len(found.ranges)) == ("", 16, 16)
    assert LARGEST == 16


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        (("Z" * 70, ""), f"'{'Z' * 63}':"),
        (("", "z" * 70), f"'{'z' * 63}' is no CIDR"),
        (("Backbone", ""), "'Backbone'"),
        ((",".join(f"n{number}" for number in range(LARGEST + 1)), ""), f"more than {LARGEST}"),
        (("", "10.2.0.0/16," * LARGEST + "10.0.0.0/8"), f"more than {LARGEST}"),
        (("", "everything"), "'everything' is no CIDR"),
    ],
)
def test_what_cannot_be_read_is_named(expected: tuple[str, str], problem: str) -> None:
    found = parse(*expected)

    assert found is not None
    assert problem in found.problem
