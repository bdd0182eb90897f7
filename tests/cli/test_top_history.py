"""`karmadactl top --history`: sparklines of what the metrics adapter remembers, in 80 columns and without colours."""

from collections.abc import Iterator

import pytest
from tests.cli.world import World

from karmada.api.annotations import QUERY_FROM_CLUSTER
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource
from karmada.metrics_adapter.history import History, Key, Used
from karmada.standalone.control_plane import METRICS_ADAPTER

NODE_METRICS = GroupVersionResource("metrics.k8s.io", "v1beta1", "nodes")
PODS = GroupVersionResource("", "v1", "pods")
LONG = "a-pod-with-a-name-that-is-far-too-long-for-any-terminal-of-eighty-columns"


async def fill(history: History, namespace: str, hub: Client) -> None:
    """Three rounds in place of the sampler's own."""
    nodes = (await hub.resource(NODE_METRICS).list(page_size=0)).items
    names = [(node["metadata"]["annotations"][QUERY_FROM_CLUSTER], node["metadata"]["name"]) for node in nodes]
    for cpu in (100, 200, 800):
        history.round += 1
        history.put("pods", [(Key("member1", namespace, "web"), Used(cpu, 64))])
        history.put("nodes", [(Key(cluster, "", name), Used(cpu, 64)) for cluster, name in names])


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("history"))
    made.addons = frozenset({METRICS_ADAPTER})
    made.start()
    namespace = made.namespace()
    for name in ("web", LONG):
        spec = {"containers": [{"name": "app", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}]}
        body = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
        made.call(made.fleet["member1"].inside.resource(PODS).create(body))
    made.eventually(lambda: len(made.run("top", "pods", "-n", namespace).out.splitlines()) == 3)
    made.fleet["member1"].usage.set(f"{namespace}/web", 800, 64 << 20)
    made.eventually(lambda: " 800m " in made.run("top", "pods", "-n", namespace, "--history").out)
    assert made.plane.adapter is not None
    made.call(fill(made.plane.adapter.history, namespace, made.plane.client))
    yield made
    made.stop()


def test_pods_have_a_line_of_bars_for_cpu_and_memory(world: World) -> None:
    lines = world.run("top", "pods", "-n", "t1", "--history", "--sort-by=cpu").out.splitlines()
    assert lines[0].split() == ["NAME", "CLUSTER", "CPU", "MEMORY"]
    assert lines[1].split() == ["web", "member1", "800m", "▂▃█", "64Mi", "███"]
    assert all(len(line) <= 80 for line in lines)
    assert lines[2].startswith("a-pod-with")
    assert "…" in lines[2]
    assert "\033" not in "".join(lines)


def test_wide_terminals_and_one_name_show_the_same(world: World) -> None:
    out = world.run("top", "pod", "web", "-n", "t1", "--history", "--no-headers").out
    assert out.split() == ["web", "member1", "800m", "▂▃█", "64Mi", "███"]
    listed = world.run("top", "pods", "-A", "--history").out.splitlines()
    assert listed[0].split()[0] == "NAMESPACE"


def test_clusters_are_their_nodes_together(world: World) -> None:
    lines = [line.split() for line in world.run("top", "clusters", "--history").out.splitlines()]
    assert [line[0] for line in lines] == ["CLUSTER", "member1", "member2", "member3"]
    assert lines[1][2] == "▂▃█"
    now = [line.split() for line in world.run("top", "clusters").out.splitlines()]
    assert now[0] == ["CLUSTER", "CPU(cores)", "CPU%", "MEMORY(bytes)", "MEMORY%"]
    assert [line[0] for line in now[1:]] == ["member1", "member2", "member3"]
    assert [line.split()[0] for line in world.run("top", "cluster", "member2").out.splitlines()[1:]] == ["member2"]


def test_nodes_can_be_narrowed_to_a_cluster(world: World) -> None:
    lines = [line.split() for line in world.run("top", "nodes", "--history", "-C", "member2").out.splitlines()]
    assert {line[1] for line in lines[1:]} == {"member2"}


def test_what_has_no_history_is_said(world: World, federation: World) -> None:
    both = world.run("top", "pods", "-n", "t1", "--history", "--containers")
    assert both.err == "error: --history shows whole pods: leave out --containers and --sum\n"
    absent = federation.run("top", "pods", "--history")
    assert absent.code == 1
    assert "karmadactl addons enable karmada-metrics-adapter" in absent.err
