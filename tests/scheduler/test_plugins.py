"""Plugins: which are in force, what they say, and scores that come from elsewhere."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest
from tests.scheduler.facts import binding, cluster

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.decision import Placed
from karmada.machinery.codec import TREE
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import GroupVersionResource
from karmada.scheduler.core.decide import decide
from karmada.scheduler.core.framework import BUILT_IN
from karmada.scheduler.core.request import Request
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.plugins.given_score import LabelScore, ResourceScore, resource_score
from karmada.scheduler.plugins.registry import PluginError, choose

ONE = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}


def placed(snapshot: Snapshot, subject: Any, framework: Any) -> list[str]:
    outcome = decide(snapshot, subject, {}, framework=framework).outcome
    assert isinstance(outcome, Placed)
    return [target.name for target in outcome.clusters]


class NoMondays:
    """An own filter that cannot say what its answers depend on."""

    name = "NoMondays"
    spares_targets = False

    def aspect(self, request: Request) -> None:
        return None

    def reject(self, cluster: Cluster, request: Request) -> str | None:
        return "cluster(s) do not work on Mondays" if "monday" in cluster.metadata.labels else None


@pytest.mark.parametrize(
    ("switches", "missing"),
    [
        ("*", set()),
        ("*,-TaintToleration", {"TaintToleration"}),
        ("ClusterAffinity", {plugin.name for plugin in BUILT_IN} - {"ClusterAffinity"}),
        ("-ClusterLocality,*", {"ClusterLocality"}),
    ],
)
def test_plugins_are_switched_by_name(switches: str, missing: set[str]) -> None:
    framework = choose(switches)
    left = {plugin.name for plugin in (*framework.filters, *framework.scorers)}
    assert {plugin.name for plugin in BUILT_IN} - left == missing


def test_an_unknown_plugin_is_named() -> None:
    with pytest.raises(PluginError, match="no plugin 'Typo'"):
        choose("*,-Typo")


def test_without_the_taint_filter_taints_do_not_matter() -> None:
    snapshot = Snapshot([cluster("m1", taints=[{"key": "k", "effect": "NoSchedule"}])])
    assert placed(snapshot, binding(1), choose("*,-TaintToleration")) == ["m1"]


def test_an_own_filter_rejects_with_its_own_words() -> None:
    snapshot = Snapshot([cluster("m1", labels={"monday": ""}), cluster("m2")])
    framework = choose("*", [NoMondays()])
    assert placed(snapshot, binding(1), framework) == ["m2"]
    attempt = decide(snapshot, binding(1), {}, framework=framework).decisive
    (rejection,) = attempt.rejections["m1"]
    assert (rejection.plugin, rejection.reason) == ("NoMondays", "cluster(s) do not work on Mondays")


def test_a_label_can_be_a_score() -> None:
    snapshot = Snapshot([cluster("m1"), cluster("m2", labels={"cheap": "70"}), cluster("m3", labels={"cheap": "very"})])
    assert placed(snapshot, binding(1, ONE), choose("*", [LabelScore("cheap")])) == ["m2"]


def test_an_object_of_the_clusters_name_can_hold_the_score() -> None:
    plugin = resource_score("example.com/v1/clustercosts={.status.score}")
    assert plugin.type == GroupVersionResource("example.com", "v1", "clustercosts")
    put_score(plugin, "m2", b'{"status":{"score":90}}')
    snapshot = Snapshot([cluster("m1"), cluster("m2"), cluster("m3")])
    framework = choose("*", [plugin])
    assert placed(snapshot, binding(1, ONE), framework) == ["m2"]
    put_score(plugin, "m3", b'{"status":{"score":95}}')
    assert placed(snapshot, binding(1, ONE), framework) == ["m3"]
    plugin.changed([Change(item("m3", b"{}"), None)])
    assert placed(snapshot, binding(1, ONE), framework) == ["m2"]


def test_scores_are_held_within_bounds() -> None:
    snapshot = Snapshot([cluster("m1", labels={"s": "-5"}), cluster("m2", labels={"s": "100000"})])
    attempt = decide(snapshot, binding(1), {}, framework=choose("*", [LabelScore("s")])).decisive
    assert {name: scores["LabelScore:s"] for name, scores in attempt.scores.items()} == {"m1": 0, "m2": 100}


def test_a_flag_that_names_no_resource_says_how_to_write_it() -> None:
    with pytest.raises(ValueError, match="write group/version/plural=path"):
        resource_score("clustercosts")


def test_entry_points_make_plugins() -> None:
    entry = EntryPoint("mondays", f"{NoMondays.__module__}:NoMondays", "karmada.scheduler.plugins")
    assert entry.load()().name == "NoMondays"


def item(name: str, body: bytes) -> Item[Any]:
    return Item(Key("", name), "uid", "1", body, TREE)


def put_score(plugin: ResourceScore, name: str, body: bytes) -> None:
    plugin.changed([Change(None, item(name, body))])
