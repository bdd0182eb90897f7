"""`why`, `tree` and `simulate` against a federation."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.samples import SHOP, apply, create
from tests.cli.terminal import Terminal
from tests.cli.world import World

from karmada.api import yaml
from karmada.cli.output.chain import as_text
from karmada.explain.why.links import broken
from karmada.machinery.transport import GroupVersionResource

DEPLOYMENT, SERVICE, POLICY, OVERRIDE = list(yaml.load_all(SHOP))
EVICTING = ["--feature-gates", "Failover=true", "--enable-no-execute-taint-eviction"]
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


@pytest.fixture(scope="module")
def shop(federation: World) -> str:
    namespace = federation.namespace()
    apply(federation, SHOP, namespace)
    return namespace


def named(item: dict[str, Any], name: str, **spec: Any) -> dict[str, Any]:
    return {**item, "metadata": {**item["metadata"], "name": name}, "spec": {**item["spec"], **spec}}


def policy(name: str, **placement: Any) -> dict[str, Any]:
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}]
    return named(POLICY, name, resourceSelectors=selectors, placement=placement)


def test_a_healthy_workload_has_no_broken_link(federation: World, shop: str) -> None:
    outcome = federation.run("why", "deployment/shop", "-n", shop, "-o", "json")
    explanation = json.loads(outcome.out)
    assert outcome.code == 0
    assert explanation["broken"] is None
    assert [link["name"] for link in explanation["links"]] == [
        "template",
        "policy",
        "binding",
        "scheduling",
        "overrides",
        "work member1",
        "work member2",
        "member member1",
        "member member2",
        "status",
    ]
    assert explanation["links"][3]["clusters"] == {"member1": 2, "member2": 1}
    assert explanation["links"][4]["applied"] == {"member2": ["shop"]}


def test_text_has_a_verdict_for_every_cluster(federation: World, shop: str) -> None:
    outcome = federation.run("why", "deploy", "shop", "-n", shop)
    assert "✓ scheduling" in outcome.out
    assert "rejected" in outcome.out
    assert outcome.out.endswith("Nothing is broken.\n")
    assert "\033" not in outcome.out


def test_a_missing_template_is_the_first_broken_link(federation: World, shop: str) -> None:
    outcome = federation.run("why", "deployment/ghost", "-n", shop)
    assert outcome.code == 1
    assert f"✗ template  there is no Deployment ghost in namespace {shop}" in outcome.out
    assert "What to do: Create it in the control plane" in outcome.out


def test_a_template_that_is_misspelt_is_suggested(federation: World, shop: str) -> None:
    assert "(did you mean shop?)" in federation.run("why", "deployment/shpo", "-n", shop).out
    assert "(did you mean shop?)" in federation.run("tree", "deployment/shpo", "-n", shop).err


def test_a_decision_of_the_running_scheduler_is_shown_as_its_record(federation: World, shop: str) -> None:
    explanation = json.loads(federation.run("why", "deployment/shop", "-n", shop, "-o", "json").out)
    assert explanation["links"][3]["recomputed"] is False
    assert "(recorded by the scheduler at " in federation.run("why", "deployment/shop", "-n", shop).out


def test_a_policy_that_nearly_selects_is_named(federation: World, shop: str) -> None:
    create(federation, named(DEPLOYMENT, "shopp"), shop)
    outcome = federation.run("why", "deployment/shopp", "-n", shop)
    assert outcome.code == 1
    assert f"PropagationPolicy {shop}/shop selects the name shop, not shopp: correct name." in outcome.out


def test_a_cluster_that_was_not_chosen_is_explained(federation: World, shop: str) -> None:
    explanation = json.loads(federation.run("why", "deployment/shop", "-n", shop, "-C", "member3", "-o", "json").out)
    assert explanation["broken"] == "scheduling"
    assert explanation["remedy"] == "Let the policy's placement include member3 (clusterAffinity)."


def test_no_cluster_fits_says_what_would_help(federation: World, shop: str) -> None:
    create(federation, policy("nowhere", clusterAffinity={"clusterNames": ["atlantis"]}), shop)
    create(federation, named(DEPLOYMENT, "nowhere"), shop)

    def explanation() -> Any:
        found = json.loads(federation.run("why", "deployment/nowhere", "-n", shop, "-o", "json").out)
        return found if found["broken"] == "scheduling" and "0/3" in found["links"][-1]["message"] else None

    found = federation.eventually(explanation)
    assert "clusterAffinity" in found["remedy"]


def test_a_member_that_refuses_is_the_broken_link(federation: World, shop: str) -> None:
    existing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken", "namespace": shop}, "data": {}}
    federation.call(federation.fleet["member1"].inside.resource(CONFIG_MAPS).create(existing))
    selector = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "taken"}]
    create(federation, named(POLICY, "taken", resourceSelectors=selector), shop)
    create(federation, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "taken"}}, shop)

    def explanation() -> Any:
        found = json.loads(federation.run("why", "cm/taken", "-n", shop, "-o", "json").out)
        return found if found["broken"] == "work member1" and "not been delivered" not in str(found) else None

    found = federation.eventually(explanation)
    assert "conflictResolution: Overwrite" in found["remedy"]


def test_a_work_of_that_name_which_is_anothers_is_the_broken_link(federation: World) -> None:
    first, second = "team-mwplxrcva", "team-vyptkkxqn"  # their hashes are equal in 32 bits
    selector = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}]
    for namespace in (first, second):
        create(federation, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, "")
        create(federation, named(POLICY, "settings", resourceSelectors=selector), namespace)
        create(federation, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}, namespace)

        def explanation(namespace: str = namespace) -> Any:
            found = json.loads(federation.run("why", "cm/settings", "-n", namespace, "-o", "json").out)
            if namespace == first:
                return found["broken"] is None
            return f"belongs to ResourceBinding {first}/settings-configmap" in str(found) and found

        found = federation.eventually(explanation)
    assert found["broken"] == "work member1"


def test_an_image_that_cannot_be_pulled_is_found_in_the_member(federation: World, shop: str) -> None:
    template = named(DEPLOYMENT, "sick")
    container = {"name": "main", "image": "registry.invalid/missing:bad"}
    pod = {**template["spec"]["template"], "spec": {"containers": [container]}}
    labels = {"matchLabels": {"app": "sick"}}
    template["spec"] |= {"template": {**pod, "metadata": {"labels": {"app": "sick"}}}, "selector": labels}
    create(federation, policy("sick", clusterAffinity={"clusterNames": ["member3"]}), shop)
    create(federation, template, shop)

    def explanation() -> Any:
        found = json.loads(federation.run("why", "deployment/sick", "-n", shop, "-o", "json").out)
        return found if found["broken"] == "member member3" and "ImagePull" in str(found["links"][-1]) else None

    try:
        found = federation.eventually(explanation)
    except AssertionError:
        pytest.fail(federation.run("why", "deployment/sick", "-n", shop).out)
    assert "image" in found["remedy"]


def test_a_full_quota_in_a_member_is_reported_with_its_event(federation: World) -> None:
    namespace = federation.namespace()
    member = federation.fleet["member3"]
    federation.call(member.change_faults(full_namespaces=(namespace,)))
    try:
        create(federation, policy("full", clusterAffinity={"clusterNames": ["member3"]}), namespace)
        create(federation, named(DEPLOYMENT, "full"), namespace)

        def explanation() -> Any:
            found = json.loads(federation.run("why", "deployment/full", "-n", namespace, "-o", "json").out)
            last = found["links"][-1]
            return found if "ReplicaFailure: " in last["message"] and last["details"] else None

        found = federation.eventually(explanation)
    finally:
        federation.call(member.change_faults(full_namespaces=()))
    link = found["links"][-1]
    assert found["broken"] == "member member3"
    assert "exceeded quota: simulated" in link["details"][0]
    assert found["remedy"].startswith("Raise the quota in member3")


def test_tree_shows_the_chain_down_to_pods(federation: World, shop: str) -> None:
    outcome = federation.run("tree", "deployment/shop", "-n", shop)
    kinds = [line.lstrip("│├└─ ").split()[0] for line in outcome.out.splitlines()]
    member = ["Cluster", "Work", "Deployment", "ReplicaSet"]
    assert kinds == ["Deployment", "PropagationPolicy", "ResourceBinding", *member, "Pod", "Pod", *member, "Pod"]
    explanation = json.loads(federation.run("tree", "deployment/shop", "-n", shop, "-o", "json").out)
    assert explanation["health"] == "3/3 ready"


@pytest.mark.parametrize(
    ("words", "after"),
    [
        pytest.param(["--without-cluster", "member1"], {"member2": 3}, id="without a cluster"),
        pytest.param(["--taint", "member2:x=y:NoExecute", *EVICTING], {"member1": 3}, id="evicted by a taint"),
        pytest.param(["--taint", "member2:x=y:NoExecute"], {"member1": 2, "member2": 1}, id="not evicted as gates are"),
        pytest.param(
            ["--taint", "member2:x=y:NoExecute", *EVICTING[:2]],
            {"member1": 2, "member2": 1},
            id="gate only",
        ),
        pytest.param(["--taint", "member2:x=y:NoSchedule"], {"member1": 2, "member2": 1}, id="kept despite a taint"),
        pytest.param(["--replicas", "9"], {"member1": 6, "member2": 3}, id="more replicas"),
    ],
)
def test_simulation_of_changes(federation: World, shop: str, words: list[str], after: dict[str, int]) -> None:
    outcome = federation.run("simulate", "deployment/shop", "-n", shop, "-o", "json", *words)
    (item,) = json.loads(outcome.out)["items"]
    assert outcome.code == 0
    assert item["before"] == {"member1": 2, "member2": 1}
    assert item["after"] == after


@pytest.mark.parametrize(
    ("limits", "evicted", "after"),
    [
        pytest.param([None], {}, {"member1": 2, "member2": 1}, id="for ever"),
        pytest.param([30], {"member2": 30}, {"member1": 3}, id="for a while"),
        pytest.param([0], {"member2": 0}, {"member1": 3}, id="for no time"),
        pytest.param([None, 30], {}, {"member1": 2, "member2": 1}, id="the first that matches counts"),
    ],
)
def test_a_toleration_that_ends_does_not_keep_anything(
    federation: World,
    shop: str,
    tmp_path: Path,
    limits: list[int | None],
    evicted: dict[str, int],
    after: dict[str, int],
) -> None:
    (changed,) = (one for one in yaml.load_all(SHOP) if one["kind"] == "PropagationPolicy")
    changed["spec"]["placement"]["clusterTolerations"] = [
        {"key": "x", "operator": "Exists", "effect": "NoExecute"} | ({} if one is None else {"tolerationSeconds": one})
        for one in limits
    ]
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.dump(changed))
    words = ["simulate", "deployment/shop", "-n", shop, "-f", str(file), "--taint", "member2:x=y:NoExecute", *EVICTING]
    outcome = federation.run(*words, "-o", "json")
    (item,) = (one for one in json.loads(outcome.out)["items"] if one["resource"].startswith("Deployment"))
    assert (item["evictedAfterSeconds"], item["after"]) == (evicted, after)
    sentence = f"Deployment {shop}/shop would be evicted from member2 30 s after the taint: its toleration ends then."
    for output in ("table", "diff"):
        assert (sentence in federation.run(*words, "-o", output).out) == (30 in evicted.values())


def test_simulation_of_files_writes_nothing(federation: World, shop: str, tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    items = [named(DEPLOYMENT, "new"), policy("new", clusterAffinity={"clusterNames": ["member3"]})]
    file.write_text(yaml.dump_all(items))
    outcome = federation.run("simulate", "-n", shop, "-f", str(file))
    row = outcome.out.splitlines()[1].split()
    assert row[:4] == ["Deployment", f"{shop}/new", "-", "member3:3"]
    assert outcome.out.splitlines()[-1] == (
        "Feature gates (as the control plane runs): at their defaults. NoExecute taints do not evict "
        "(that takes the gate Failover and --enable-no-execute-taint-eviction)."
    )
    assert federation.run("get", "deployment", "new", "-n", shop).code == 1


def test_files_are_simulated_with_the_defaults_of_the_control_plane(
    federation: World, shop: str, tmp_path: Path
) -> None:
    template = named(DEPLOYMENT, "brief")
    del template["spec"]["replicas"]
    file = tmp_path / "brief.yaml"
    # The control plane completes both: one replica, divided by weight.
    file.write_text(yaml.dump_all([template, policy("brief", replicaScheduling={"replicaSchedulingType": "Divided"})]))
    outcome = federation.run("simulate", "-n", shop, "-f", str(file), "-o", "json")
    (item,) = json.loads(outcome.out)["items"]
    assert (outcome.code, item["refused"], sum(item["after"].values())) == (0, None, 1)


@pytest.mark.parametrize(
    ("placement", "reason"),
    [
        ({"replicaScheduling": {"replicaSchedulingType": "divided"}}, 'Unsupported value: "divided"'),
        (
            {"clusterAffinity": {}, "clusterAffinities": [{"affinityName": "a"}]},
            "clusterAffinities cannot co-exist with clusterAffinity",
        ),
    ],
    ids=["by the schema", "by a webhook"],
)
def test_a_policy_that_the_control_plane_would_refuse_is_not_simulated(
    federation: World, shop: str, tmp_path: Path, placement: dict[str, Any], reason: str
) -> None:
    file = tmp_path / "refused.yaml"
    file.write_text(yaml.dump_all([named(DEPLOYMENT, "new"), policy("new", **placement)]))
    outcome = federation.run("simulate", "-n", shop, "-f", str(file))
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("error: PropagationPolicy new would be refused: ")
    assert reason in outcome.err


def test_a_policy_as_it_would_be_is_simulated_in_place_of_the_one_there(
    federation: World, shop: str, tmp_path: Path
) -> None:
    (changed,) = (one for one in yaml.load_all(SHOP) if one["kind"] == "PropagationPolicy")
    changed["spec"]["placement"] = {"clusterAffinities": [{"affinityName": "south", "clusterNames": ["member3"]}]}
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.dump(changed))
    outcome = federation.run("simulate", "deployment/shop", "-n", shop, "-f", str(file), "-o", "json")
    (item,) = (one for one in json.loads(outcome.out)["items"] if one["resource"].startswith("Deployment"))
    assert list(item["after"]) == ["member3"]


def test_kinds_that_do_not_exist_are_not_simulated(federation: World, shop: str, tmp_path: Path) -> None:
    file = tmp_path / "typo.yaml"
    wrong = policy("new") | {"kind": "PropagationPolcy"}
    file.write_text(yaml.dump_all([named(DEPLOYMENT, "new"), wrong]))
    outcome = federation.run("simulate", "-n", shop, "-f", str(file))
    assert (outcome.code, outcome.out) == (1, "")
    assert 'no matches for kind "PropagationPolcy" in version "policy.karmada.io/v1alpha1"' in outcome.err
    wrong = policy("new")
    wrong["spec"]["resourceSelectors"][0]["apiVersion"] = "v1"
    file.write_text(yaml.dump_all([named(DEPLOYMENT, "new"), wrong]))
    outcome = federation.run("simulate", "-n", shop, "-f", str(file))
    assert outcome.code == 1
    assert "PropagationPolicy new: spec.resourceSelectors[0]: no matches for kind" in outcome.err


@pytest.mark.parametrize("about", [{}, {"metadata": {}}, {"metadata": {"generateName": "new-"}}])
def test_what_has_no_name_is_not_simulated(federation: World, tmp_path: Path, about: dict[str, Any]) -> None:
    file = tmp_path / "nameless.yaml"
    file.write_text(yaml.dump({"apiVersion": "apps/v1", "kind": "Deployment"} | about))
    outcome = federation.run("simulate", "-f", str(file))
    assert (outcome.code, outcome.err) == (1, f"error: {file}:1: a Deployment has no name: set metadata.name\n")


def test_a_simulated_cluster_can_be_chosen(federation: World, shop: str, tmp_path: Path) -> None:
    cluster = json.loads(federation.run("get", "cluster", "member3", "-o", "json").out)
    cluster["metadata"] = {"name": "member9"}
    files = (tmp_path / "cluster.yaml", tmp_path / "new.yaml")
    files[0].write_text(yaml.dump(cluster))
    items = [named(DEPLOYMENT, "new"), policy("new", clusterAffinity={"clusterNames": ["member9"]})]
    files[1].write_text(yaml.dump_all(items))
    outcome = federation.run("simulate", "-n", shop, "-f", str(files[1]), "--cluster-file", str(files[0]), "-o", "diff")
    assert outcome.out.splitlines()[:2] == [f"Deployment {shop}/new", "+ member9: 3"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["simulate", "--without-cluster", "x"], "--without-cluster: there is no cluster x"),
        (["simulate", "--taint", "member1"], "write CLUSTER:KEY=VALUE:EFFECT"),
        (["simulate", "-f", "/nope"], 'the path "/nope" does not exist'),
        (["simulate", "--feature-gates", "Failovr=true"], "unrecognized feature gate: Failovr; did you mean Failover?"),
        (["simulate", "--replicas", "-1"], "--replicas -1: write 0 or more"),
        (["simulate", "-o", "xml"], 'invalid argument "xml" for "-o, --output" flag'),
        (["why"], "You must provide one or more resources"),
        (["why", "deployments"], "name one object: KIND/NAME"),
        (["why", "deployment/shop", "-C", "x"], "cluster x does not exist"),
        (["tree", "deployment/ghost"], "there is no Deployment ghost"),
    ],
)
def test_bad_input_gets_one_clear_line(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run(*words)
    assert outcome.code == 1
    assert message in outcome.err


def test_an_autoscaler_shows_how_it_came_to_its_replicas(federation: World) -> None:
    namespace = federation.namespace()
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "gone"}, "maxReplicas": 3}
    about = {"name": "h", "namespace": namespace}
    create(
        federation,
        {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "metadata": about, "spec": spec},
        namespace,
    )
    federation.eventually(lambda: "not found" in federation.run("why", "fhpa/h", "-n", namespace).out)
    outcome = federation.run("why", "fhpa/h", "-n", namespace)
    assert outcome.code == 1
    assert 'deployments.apps "gone" not found' in outcome.out
    assert "spec.scaleTargetRef" in outcome.out


@pytest.mark.parametrize("columns", [80, 140])
def test_sentences_are_broken_between_words_on_a_terminal(federation: World, columns: int) -> None:
    reason = "a policy that selects it and that was written by somebody who had a great deal to say about clusters"
    text = as_text("Deployment web", [broken("policy", reason, f"Correct it: {reason}.")], False, columns)
    assert max(map(len, text.splitlines())) <= columns
    assert " ".join(text.split()).count(reason) == 2
    terminal = Terminal(federation, ["check"], columns=columns)
    terminal.end()
    shown = re.sub(r"\033\[[0-9;]*[mK]", "", terminal.text).splitlines()
    assert max(map(len, shown)) <= columns
