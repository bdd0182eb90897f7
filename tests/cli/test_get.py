"""`get` against a control plane and its members."""

import json

import pytest
from tests.cli.samples import SHOP, apply
from tests.cli.world import World


@pytest.fixture(scope="module")
def shop(federation: World) -> str:
    namespace = federation.namespace()
    apply(federation, SHOP, namespace)
    return namespace


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_clusters_are_listed_with_where_they_are_from(federation: World) -> None:
    outcome = federation.run("get", "clusters")
    rows = table(outcome.out)
    assert outcome.code == 0, outcome.err
    assert rows[0] == ["NAME", "CLUSTER", "VERSION", "MODE", "READY", "AGE", "ADOPTION"]
    assert [row[0] for row in rows[1:]] == ["member1", "member2", "member3"]
    assert {row[1] for row in rows[1:]} == {"Karmada"}
    assert {row[-1] for row in rows[1:]} == {"-"}


def test_the_same_object_of_all_clusters_stands_side_by_side(federation: World, shop: str) -> None:
    outcome = federation.run("get", "deployments", "-n", shop, "-s", "all")
    rows = table(outcome.out)
    assert rows[0] == ["NAME", "CLUSTER", "READY", "UP-TO-DATE", "AVAILABLE", "AGE", "ADOPTION"]
    assert [(row[0], row[1], row[2], row[-1]) for row in rows[1:]] == [
        ("shop", "Karmada", "3/3", "-"),
        ("shop", "member1", "2/2", "Y"),
        ("shop", "member2", "1/1", "Y"),
    ]


def test_pods_of_members_have_no_adoption(federation: World, shop: str) -> None:
    rows = table(federation.run("get", "pods", "-n", shop, "-s", "members").out)
    assert rows[0] == ["NAME", "CLUSTER", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row[1] for row in rows[1:]] == ["member1", "member1", "member2"]


def test_several_kinds_get_a_table_each_with_their_kind_in_names(federation: World, shop: str) -> None:
    outcome = federation.run("get", "deploy,svc", "-n", shop)
    blocks = outcome.out.split("\n\n")
    assert [block.splitlines()[1].split()[0] for block in blocks] == ["service/shop", "deployment.apps/shop"]


def test_clusters_are_ignored_in_the_scope_of_the_control_plane(federation: World, shop: str) -> None:
    rows = table(federation.run("get", "deployments", "-n", shop, "-C", "member1").out)
    assert [row[1] for row in rows[1:]] == ["Karmada"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["get"], "error: cluster(Karmada): You must provide one or more resources", id="nothing"),
        pytest.param(
            ["get", "nosuch"],
            'error: cluster(Karmada): the server doesn\'t have a resource type "nosuch"\n',
            id="unknown kind",
        ),
        pytest.param(["get", "deploymnets"], '(did you mean "deployments"?)', id="typo in a kind"),
        pytest.param(
            ["get", "pods", "-s", "wrong"],
            'error: invalid argument "wrong" for "-s, --operation-scope" flag: not support OperationScope: wrong\n'
            "See 'karmadactl get --help' for usage.\n",
            id="unknown scope",
        ),
        pytest.param(["get", "pods", "-s", "members", "-C", "x"], "error: cluster x does not exist", id="no cluster"),
        pytest.param(["get", "pods", "--contxt=x"], "error: unknown flag: --contxt", id="unknown flag"),
        pytest.param(["get", "pods", "-z"], "error: unknown shorthand flag: 'z' in -z", id="unknown letter"),
        pytest.param(["get", "pods", "-o", "xml"], 'suitable for the output format "xml"', id="unknown format"),
        pytest.param(
            ["get", "pods", "--karmada-context", "x"], 'error: context "x" does not exist', id="unknown context"
        ),
        pytest.param(["get", "pods", "--kubeconfig", "/nope"], "error: stat /nope: no such file", id="no kubeconfig"),
    ],
)
def test_bad_input_gets_one_clear_line(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run(*words)
    assert outcome.code == 1
    assert outcome.out == ""
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_objects_that_are_nowhere_are_said_for_each_cluster(federation: World, shop: str) -> None:
    outcome = federation.run("get", "deployment", "ghost", "-n", shop, "-s", "all")
    clusters = ("Karmada", "member1", "member2", "member3")
    assert outcome.code == 1
    assert outcome.err.splitlines() == [f'cluster({name}): deployments.apps "ghost" not found' for name in clusters]


@pytest.mark.parametrize("command", ["get", "describe"])
def test_an_absent_namespace_is_named_rather_than_what_cannot_be_in_it(federation: World, command: str) -> None:
    outcome = federation.run(command, "pod", "web", "-n", "nowhere")
    assert outcome.code == 1
    assert 'namespaces "nowhere" not found' in outcome.err


def test_nothing_found_is_said_beside_the_output(federation: World, shop: str) -> None:
    outcome = federation.run("get", "jobs", "-n", shop)
    assert outcome == (0, "", f"No resources found in {shop} namespace.\n")


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("name", "deployment.apps/shop\n"),
        ("jsonpath={.items[*].metadata.name}", "shop"),
        ("custom-columns=NAME:.metadata.name,WANT:.spec.replicas", "NAME   WANT\nshop   3\n"),
        ('go-template={{range .items}}{{.metadata.name}} {{.spec.replicas}}{{"\\n"}}{{end}}', "shop 3\n"),
    ],
)
def test_output_formats(federation: World, shop: str, output: str, expected: str) -> None:
    assert federation.run("get", "deployments", "-n", shop, "-o", output).out == expected


def test_json_of_several_clusters_shows_where_objects_are_from(federation: World, shop: str) -> None:
    outcome = federation.run("get", "deployment", "shop", "-n", shop, "-s", "all", "-o", "json")
    items = json.loads(outcome.out)["items"]
    origins = [item["metadata"]["annotations"]["resource.karmada.io/cached-from-cluster"] for item in items]
    assert origins == ["Karmada", "member1", "member2"]
    assert "managedFields" not in items[0]["metadata"]
    assert "cluster(member3)" in outcome.err


def test_one_object_is_no_list(federation: World, shop: str) -> None:
    found = json.loads(federation.run("get", "deployment/shop", "-n", shop, "-o", "json").out)
    assert found["kind"] == "Deployment"


def test_rows_can_be_sorted_and_labelled(federation: World) -> None:
    words = ("get", "clusters", "--sort-by", ".spec.region", "-L", "tier", "--no-headers")
    rows = table(federation.run(*words).out)
    assert [row[0] for row in rows][-1] == "member3"
    assert rows[-1][-1] == "silver"
