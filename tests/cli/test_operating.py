"""Commands about clusters and the control plane itself."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.cli.samples import SHOP, apply
from tests.cli.world import World

from karmada.api import yaml
from karmada.apiserver.auth.kubeconfig import write_kubeconfig
from karmada.cli.main import execute
from karmada.cli.reading import CLUSTERS
from karmada.cli.session import Session
from karmada.cli.taints import taints_of, write
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec

WIDGET = """
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: widget}
spec:
  target: {apiVersion: demo.example.io/v1, kind: Widget}
  customizations:
    replicaResource: {luaScript: "function GetReplicas(o) return o.spec.size, nil end"}
    healthInterpretation: {luaScript: "function InterpretHealth(o) return o.status.ready == o.spec.size end"}
"""


@pytest.fixture(scope="module")
def shop(federation: World) -> str:
    namespace = federation.namespace()
    apply(federation, SHOP, namespace)
    return namespace


@pytest.fixture
def newcomer(federation: World, tmp_path: Path) -> Iterator[Path]:
    """The kubeconfig of a cluster that is no member yet."""
    stack = AsyncExitStack()

    async def start() -> dict[str, object]:
        member = await stack.enter_async_context(Member(MemberSpec("newcomer")))
        await member.listen()
        return member.kubeconfig

    path = tmp_path / "newcomer.config"
    write_kubeconfig(path, federation.call(start()))
    yield path
    federation.call(stack.aclose())


def test_a_cluster_joins_and_leaves(federation: World, newcomer: Path) -> None:
    outcome = federation.run("join", "newcomer", "--cluster-kubeconfig", str(newcomer), "--cluster-region", "west")
    assert outcome == (0, "cluster(newcomer) is joined successfully\n", "")
    region = federation.run("get", "cluster", "newcomer", "-o", "jsonpath={.spec.region}").out
    assert region == "west"
    again = federation.run("join", "other", "--cluster-kubeconfig", str(newcomer))
    assert again.code == 1
    assert "has been registered" in again.err
    left = federation.run("unjoin", "newcomer", "--cluster-kubeconfig", str(newcomer))
    assert left == (0, "cluster(newcomer) is unjoined successfully\n", "")
    assert federation.run("get", "cluster", "newcomer").code == 1


def test_what_join_did_is_undone_with_the_same_flags(federation: World, newcomer: Path, tmp_path: Path) -> None:
    """Without any: by a context that is called like the cluster."""
    config = yaml.load(federation.kubeconfig.read_text())
    member = yaml.load(newcomer.read_text())
    config["clusters"].append({**member["clusters"][0], "name": "newcomer"})
    config["users"].append({**member["users"][0], "name": "newcomer"})
    config["contexts"].append({"name": "newcomer", "context": {"cluster": "newcomer", "user": "newcomer"}})
    both = tmp_path / "both.config"
    both.write_text(yaml.dump(config))
    assert federation.run("join", "newcomer", KUBECONFIG=str(both)).code == 0
    accounts = ["get", "sa", "-n", "karmada-cluster", "--kubeconfig", str(newcomer)]
    assert "karmada-newcomer" in federation.run(*accounts).out
    assert federation.run("unjoin", "newcomer", KUBECONFIG=str(both)).err == ""
    assert "karmada-newcomer" not in federation.run(*accounts).out


def test_what_unjoin_cannot_undo_is_said(federation: World, newcomer: Path) -> None:
    assert federation.run("join", "newcomer", "--cluster-kubeconfig", str(newcomer)).code == 0
    left = federation.run("unjoin", "newcomer")
    assert (left.code, left.out) == (0, "cluster(newcomer) is unjoined successfully\n")
    assert left.err.startswith("the service account by which newcomer was reached stays in it: unjoin with the flags")


def test_the_version_is_printed_for_programs(federation: World) -> None:
    assert json.loads(federation.run("version", "-o", "json").out)["gitVersion"].startswith("v")


def test_pods_that_are_sought_in_the_control_plane_are_pointed_to(federation: World) -> None:
    outcome = federation.run("get", "pods", "-n", "default")
    assert outcome.err.splitlines()[-1] == "pods are in the members: karmadactl get pods -s members"
    assert "in the members" not in federation.run("get", "configmaps", "-n", federation.namespace() + "-none").err


def test_a_member_that_does_not_answer_is_named_when_it_joins(
    federation: World, newcomer: Path, tmp_path: Path
) -> None:
    config = tmp_path / "down.config"
    config.write_text(re.sub(r"https://127.0.0.1:\d+", "https://127.0.0.1:1", newcomer.read_text()))
    outcome = federation.run("join", "lost", "--cluster-kubeconfig", str(config))
    assert outcome.code == 1
    assert outcome.err.startswith("error: cluster lost does not answer: no connection to https://127.0.0.1:1: ")
    assert outcome.err.endswith("and is lost running?\n")


@pytest.mark.parametrize(
    "words",
    [["cordon", "membr1"], ["uncordon", "membr1"], ["taint", "clusters", "membr1", "a=b:NoSchedule"]],
    ids=lambda words: words[0],
)
def test_a_cluster_that_is_misspelt_is_suggested(federation: World, words: list[str]) -> None:
    outcome = federation.run(*words)
    missing = 'clusters.cluster.karmada.io "membr1" not found'
    assert outcome == (1, "", f"Error from server (NotFound): {missing} (did you mean member1?)\n")
    assert "(did you mean member1?)" in federation.run("get", "pods", "-s", "members", "-C", "membr1").err
    assert "(did you mean member1?)" in federation.run("apply", "-f", "/nope", "-C", "membr1").err


def test_without_a_kubeconfig_that_of_karmada_up_is_suggested(federation: World) -> None:
    outcome = federation.run("get", "pods", config=False)
    assert outcome.code == 1
    assert "export KUBECONFIG=$(karmada kubeconfig)" in outcome.err


def test_unregister_refuses_push_clusters(federation: World) -> None:
    words = ("unregister", "member1", "--cluster-kubeconfig", federation.member_config("member1"))
    outcome = federation.run(*words, "--karmada-config", str(federation.kubeconfig))
    assert outcome.code == 1
    assert "please use command `unjoin`" in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "accepts 1 arg(s), received 0"),
        (["127.0.0.1:1"], "token is required"),
        (["127.0.0.1:1", "--token=abcdef.0123456789abcdef"], "need to verify CACertHashes"),
    ],
)
def test_register_says_what_is_missing(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run("register", *words, "--kubeconfig", federation.member_config("member1"))
    assert outcome.code == 1
    assert message in outcome.err


def test_tokens_are_made_listed_and_forgotten(federation: World) -> None:
    token = federation.run("token", "create", "--ttl", "1h", "--description", "for a test").out.strip()
    assert re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", token)
    row = next(line for line in federation.run("token", "list").out.splitlines() if line.startswith(token))
    assert "for a test" in row
    assert federation.run("token", "delete", token).out == f'bootstrap token "{token[:6]}" deleted\n'
    assert token not in federation.run("token", "list").out


def test_clusters_are_cordoned_and_tainted(federation: World) -> None:
    taints = ("get", "cluster", "member3", "-o", "jsonpath={.spec.taints[*].key}")
    assert federation.run("cordon", "member3") == (0, "member3 cluster cordoned\n", "")
    assert federation.run("cordon", "member3").out == "member3 cluster already cordoned\n"
    assert federation.run(*taints).out == "cluster.karmada.io/unschedulable"
    assert federation.run("uncordon", "member3").out == "member3 cluster uncordoned\n"
    assert federation.run("taint", "clusters", "member3", "team=a:NoSchedule").out == "cluster/member3 tainted\n"
    assert federation.run(*taints).out == "team"
    assert federation.run("taint", "clusters", "member3", "team:NoSchedule-").out == "cluster/member3 untainted\n"
    assert federation.run(*taints).out == ""


def test_a_cluster_that_changed_since_it_was_read_is_tainted_and_keeps_the_taints_of_others(federation: World) -> None:
    async def race() -> list[str]:
        clusters = federation.plane.client.resource(CLUSTERS)
        seen = await clusters.get("member3")
        await clusters.patch("member3", {"spec": {"taints": [{"key": "theirs", "effect": "NoSchedule"}]}})
        await write(clusters, seen, lambda taints: [*taints, {"key": "ours", "effect": "NoSchedule"}])
        return [taint["key"] for taint in taints_of(await clusters.get("member3"))]

    assert federation.call(race()) == ["theirs", "ours"]
    assert federation.run("taint", "clusters", "member3", "theirs-", "ours-").code == 0


def test_kinds_versions_and_options_are_listed(federation: World) -> None:
    kinds = federation.run("api-resources", "--api-group=work.karmada.io", "--no-headers").out
    assert [line.split()[0] for line in kinds.splitlines()] == ["clusterresourcebindings", "resourcebindings", "works"]
    there = federation.run("api-resources", "-s", "members", "--cluster=member1", "-o", "name").out.splitlines()
    assert "deployments.apps" in there
    assert "works.work.karmada.io" not in there
    assert "policy.karmada.io/v1alpha1" in federation.run("api-versions").out.splitlines()
    assert federation.run("version", config=False).out.startswith("karmadactl version: version.Info{GitVersion:")
    assert "GoVersion" in federation.run("--kubeconfig=any", "version", config=False).out
    assert "--debug" in federation.run("options", config=False).out


def test_a_healthy_control_plane_passes_its_check(federation: World) -> None:
    report = json.loads(federation.run("check", "-o", "json").out)
    states = {finding["what"]: finding["state"] for finding in report["findings"]}
    assert states["control plane"] == states["cluster member1"] == states["proxy to member1"] == "ok"
    assert states["clock of member1"] == states["deletions"] == "ok"


def test_an_unreachable_control_plane_is_one_clear_line(federation: World, tmp_path: Path) -> None:
    text = re.sub(r"https://127.0.0.1:\d+", "https://127.0.0.1:1", federation.kubeconfig.read_text())
    config = tmp_path / "config"
    config.write_text(text)
    outcome = federation.run("get", "pods", "--kubeconfig", str(config))
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1
    assert "127.0.0.1:1" in outcome.err
    assert "✗ control plane" in federation.run("check", "--kubeconfig", str(config)).out


def test_a_rollout_is_followed_in_all_clusters(federation: World, shop: str) -> None:
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:1.26"}]}}}}'
    federation.run("patch", "deployment", "shop", "-n", shop, "-p", patch)
    outcome = federation.run("rollout", "status", "deployment/shop", "-n", shop, "--timeout", "60s")
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith('deployment "shop" successfully rolled out in 2 clusters\n')
    history = [
        line.split() for line in federation.run("rollout", "history", "deployment/shop", "-n", shop).out.splitlines()
    ]
    assert [(row[0], row[3]) for row in history[1:] if row[0] == "member1"] == [
        ("member1", "nginx:1.25"),
        ("member1", "nginx:1.26"),
    ]


def test_a_rollout_is_undone_in_all_clusters(federation: World, shop: str) -> None:
    def image() -> str:
        path = "jsonpath={.spec.template.spec.containers[0].image}"
        return federation.run("get", "deployment", "shop", "-n", shop, "-o", path).out

    before = image()
    patch = '{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"nginx:9"}]}}}}'
    federation.run("patch", "deployment", "shop", "-n", shop, "-p", patch)
    history = ["rollout", "history", "deployment/shop", "-n", shop]
    federation.eventually(lambda: federation.run(*history).out.count("nginx:9") == 2)
    undo = ["rollout", "undo", "deployment/shop", "-n", shop]
    assert federation.run(*undo, "--dry-run=client").out.endswith(" (dry run)\n")
    assert image() == "nginx:9"
    done = federation.run(*undo)  # the copy in member2 is overridden: what member1 had counts
    assert re.fullmatch(r"deployment.apps/shop rolled back to revision \d+ of member1\n", done.out), done.err
    assert image() == before
    outcome = federation.run("rollout", "status", "deployment/shop", "-n", shop, "--timeout", "60s")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to-revision", "99"], "no cluster has revision 99 of shop: see karmadactl rollout history"),
        (["-C", "member9"], "shop does not go to member9, but to member1, member2"),
    ],
)
def test_a_rollout_that_cannot_be_undone_says_why(federation: World, shop: str, words: list[str], message: str) -> None:
    outcome = federation.run("rollout", "undo", "deployment/shop", "-n", shop, *words)
    assert (outcome.code, outcome.err) == (1, f"error: {message}\n")


def test_revisions_of_overridden_copies_are_no_way_back(federation: World, shop: str, tmp_path: Path) -> None:
    policy = tmp_path / "override.yaml"
    policy.write_text(f"""
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {{name: image, namespace: {shop}}}
spec:
  resourceSelectors: [{{apiVersion: apps/v1, kind: Deployment, name: shop}}]
  overrideRules: [{{overriders: {{imageOverrider: [{{component: Tag, operator: replace, value: "8"}}]}}}}]
""")
    federation.run("apply", "-f", str(policy))
    history = ["rollout", "history", "deployment/shop", "-n", shop]
    federation.eventually(lambda: federation.run(*history).out.count("nginx:8") == 2)
    outcome = federation.run("rollout", "undo", "deployment/shop", "-n", shop)
    federation.run("delete", "-f", str(policy))
    assert outcome.code == 1
    assert "the copies in member1, member2 are changed by override policies" in outcome.err


def test_top_adds_up_over_members(federation: World, shop: str) -> None:
    def rows() -> list[list[str]]:
        return [line.split() for line in federation.run("top", "pods", "-n", shop).out.splitlines()]

    # The rollouts of the tests before may still be under way.
    federation.eventually(lambda: [row[1] for row in rows()[1:]] == ["member1", "member1", "member2"])
    assert rows()[0] == ["NAME", "CLUSTER", "CPU(cores)", "MEMORY(bytes)"]
    nodes = federation.run("top", "node", "-C", "member2").out.splitlines()
    assert nodes[0].split() == ["NAME", "CLUSTER", "CPU(cores)", "CPU%", "MEMORY(bytes)", "MEMORY%"]
    assert len(nodes) == 2


def test_explaining_a_field(federation: World) -> None:
    output = federation.run("explain", "pp.spec.placement.clusterAffinity").out
    assert "GROUP:      policy.karmada.io\nKIND:       PropagationPolicy\nVERSION:    v1alpha1\n" in output
    assert "clusterNames\t<[]string>" in output
    typo = federation.run("explain", "pp.spec.placment")
    assert typo.err == 'error: field "placment" does not exist (did you mean placement?)\n'


def test_interpreting_needs_no_control_plane(federation: World, tmp_path: Path) -> None:
    customization, widget = tmp_path / "ric.yaml", tmp_path / "widget.yaml"
    customization.write_text(WIDGET)
    widget.write_text(
        "{apiVersion: demo.example.io/v1, kind: Widget, metadata: {name: w}, spec: {size: 2}, status: {ready: 2}}"
    )
    words = ("interpret", "-f", str(customization))
    assert "InterpretHealth:                PASS" in federation.run(*words, "--check", config=False).out
    arguments = (*words, "--observed-file", str(widget), "--operation", "interpretHealth")
    assert federation.run(*arguments, config=False).out == "---\n# [1/1] healthy:\ntrue\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch"], 'error: unknown command "nosuch" for "karmadactl"\n'),
        (["gte"], "Did you mean this?\n\tget\n"),
        (["token", "creat"], "Did you mean this?\n\tcreate\n"),
        (["join"], "error: cluster name is required\n"),
        (["cordon"], "error: cluster name is required\n"),
        (["taint", "nodes", "x", "a=b:NoSchedule"], 'invalid resource type "nodes"'),
        (["taint", "clusters", "member1"], "at least one taint update is required"),
        (["taint", "clusters", "member1", "a=b:NoSchedule", "a:NoSchedule-"], "cannot add and remove the same taint"),
        (["addons", "enable", "nosuch"], "[nosuch] addon not be found"),
        (["completion"], "shell not specified"),
    ],
)
def test_bad_input_gets_one_clear_line(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run(*words)
    assert outcome.code == 1
    assert message in outcome.err


@pytest.mark.parametrize("program", ["karmadactl", "kubectl karmada"])
async def test_both_names_are_one_program(program: str) -> None:
    for words in (["--help"], ["why", "--help"]):
        out = io.StringIO()
        assert await execute(words, Session(out=out, err=io.StringIO(), program=program)) == 0
        assert f"\n  {program} " in out.getvalue()


def test_flags_may_come_before_the_command(federation: World) -> None:
    outcome = federation.run("--kubeconfig", str(federation.kubeconfig), "get", "clusters", "-o", "name", config=False)
    assert outcome.out.splitlines()[0] == "cluster.cluster.karmada.io/member1"


def test_debug_shows_where_a_failure_came_from(federation: World) -> None:
    assert "Traceback" in federation.run("get", "nosuch", "--debug").err
