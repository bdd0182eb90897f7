"""`karmadactl check network`, against members that declare networks, in which simulated packets keep to them."""

import json
from collections.abc import Iterator

import pytest
from tests.cli.world import World

from karmada.machinery.transport import GroupVersionResource

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
DECLARED = (
    {"networks": ["backbone"], "podCIDR": "10.1.0.0/16"},
    {"networks": ["backbone"], "podCIDR": "10.2.0.0/16"},
    {"networks": ["island"], "podCIDR": "10.3.0.0/16"},
)
WORKLOADS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: web}
  - {apiVersion: v1, kind: Service, name: web}
  placement: {}
"""


@pytest.fixture(scope="module")
def islands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("islands"), DECLARED)
    world.start()
    yield world
    world.stop()


def pairs(world: World, *words: str) -> dict[tuple[str, str], tuple[str, str]]:
    outcome = world.run("check", "network", *words, "-o", "json")
    return {
        (each["consumer"], each["provider"]): (each["status"], each["message"])
        for each in json.loads(outcome.out)["pairs"]
    }


def test_members_without_a_common_network_have_no_route(islands: World) -> None:
    outcome = islands.run("check", "network", "member1", "member3")

    assert outcome.code == 1
    assert outcome.out.splitlines()[0].split() == ["FROM", "TO", "REACHABLE", "WHY"]
    assert "no route from member1 to 10.3.0.0/16 of member3: use the gateway" in outcome.out
    assert len(pairs(islands)) == 6
    assert islands.run("check", "network", "member1", "member2").code == 0


def test_what_nobody_declares_is_unknown(federation: World) -> None:
    outcome = federation.run("check", "network", "member1", "member2")

    assert outcome.code == 0, "not known to be broken"
    assert "Unknown" in outcome.out
    assert "annotate the cluster with network.karmada.io/networks" in outcome.out


@pytest.mark.parametrize("words", [["member1"], ["member1", "member1"], ["member1", "member2", "member3"]])
def test_two_clusters_are_named_or_none(islands: World, words: list[str]) -> None:
    outcome = islands.run("check", "network", *words)

    assert outcome.code == 1
    assert "name two clusters, or none" in outcome.err


def test_a_cluster_that_does_not_exist_is_refused(islands: World) -> None:
    outcome = islands.run("check", "network", "member1", "member9")

    assert outcome.code == 1
    assert "cluster member9 does not exist" in outcome.err


def test_a_probe_counts_more_than_what_is_declared(islands: World) -> None:
    space = islands.namespace()
    assert islands.run("apply", "-n", space, "-f", "-", stdin=WORKLOADS).code == 0

    def tried() -> bool:
        found = pairs(islands, "member1", "member2", "--probe", "-n", space)
        assert all("succeeds" in message for _, message in found.values()), found
        return True

    islands.eventually(tried)
    # Somebody declares a route that is none.
    clusters = islands.plane.client.resource(CLUSTERS)
    marks = {"metadata": {"annotations": {"network.karmada.io/networks": "island,backbone"}}}
    islands.call(clusters.patch("member3", marks))

    found = pairs(islands, "member1", "member3", "--probe", "-n", space)

    status, message = found["member1", "member3"]
    assert status == "False"
    assert "a connection from member1/web-" in message
    assert "fails (curl exits with 7); declared: both are in backbone" in message
    islands.call(clusters.patch("member3", {"metadata": {"annotations": {"network.karmada.io/networks": "island"}}}))


def test_a_probe_without_pods_says_so(islands: World) -> None:
    status, message = pairs(islands, "member1", "member2", "--probe", "-n", "kube-public")["member1", "member2"]

    assert status == "True"
    assert message == "both are in backbone; not probed: no pod runs in namespace kube-public of member1"


def test_addresses_that_mean_pods_of_both_are_not_probed(islands: World) -> None:
    clusters = islands.plane.client.resource(CLUSTERS)
    both = {"network.karmada.io/pod-cidrs": "10.2.0.0/16"}
    islands.call(clusters.patch("member1", {"metadata": {"annotations": both}}))
    try:
        status, message = pairs(islands, "member1", "member2")["member1", "member2"]
    finally:
        own = {"network.karmada.io/pod-cidrs": "10.1.0.0/16"}
        islands.call(clusters.patch("member1", {"metadata": {"annotations": own}}))

    assert status == "False"
    assert message == "pod CIDR 10.2.0.0/16 of member2 overlaps 10.2.0.0/16 of member1: use the gateway"


def test_ranges_that_no_cluster_declares_are_those_of_its_nodes(islands: World) -> None:
    clusters = islands.plane.client.resource(CLUSTERS)
    islands.call(clusters.patch("member3", {"metadata": {"annotations": {"network.karmada.io/pod-cidrs": None}}}))

    _, message = pairs(islands, "member1", "member3")["member1", "member3"]

    assert message == "no route from member1 to 10.3.0.0/16 of member3: use the gateway"
    own = {"network.karmada.io/pod-cidrs": "10.3.0.0/16"}
    islands.call(clusters.patch("member3", {"metadata": {"annotations": own}}))
