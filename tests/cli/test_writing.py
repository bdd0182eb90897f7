"""Commands that write: create, apply, patch, edit, label, annotate, delete, promote."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.cli.samples import SHOP
from tests.cli.world import World

from karmada.api import yaml


@pytest.fixture(scope="module")
def space(federation: World) -> str:
    return federation.namespace()


@pytest.mark.parametrize(
    ("words", "kind", "path", "expected"),
    [
        (["configmap", "--from-literal=a=1"], "cm", "{.data}", '{"a":"1"}'),
        (["secret", "generic", "--from-literal=a=1"], "secret", "{.data.a}", "MQ=="),
        (["deployment", "--image=nginx", "--replicas=2"], "deploy", "{.spec.replicas}", "2"),
        (["service", "clusterip", "--tcp=80:8080"], "svc", "{.spec.ports[0].targetPort}", "8080"),
        (["service", "nodeport", "--tcp=80"], "svc", "{.spec.type}", "NodePort"),
        (["service", "externalname", "--external-name=x.org"], "svc", "{.spec.externalName}", "x.org"),
        (["job", "--image=nginx", "--", "date"], "job", "{.spec.template.spec.containers[0].command}", '["date"]'),
        (["cronjob", "--image=nginx", "--schedule=* * * * *"], "cj", "{.spec.schedule}", "* * * * *"),
        (["quota", "--hard=pods=2"], "quota", "{.spec.hard.pods}", "2"),
        (["role", "--verb=get,list", "--resource=pods,deployments.apps"], "role", "{.rules[*].apiGroups[0]}", " apps"),
        (["rolebinding", "--clusterrole=view", "--user=jo"], "rolebinding", "{.subjects[0].name}", "jo"),
        (["pdb", "--selector=app=x", "--min-available=50%"], "pdb", "{.spec.minAvailable}", "50%"),
        (["ingress", "--rule=x.org/a*=svc:80"], "ing", "{.spec.rules[0].http.paths[0].pathType}", "Prefix"),
        (["serviceaccount"], "sa", "{.metadata.name}", None),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_create_makes_objects_from_arguments(
    federation: World, space: str, words: list[str], kind: str, path: str, expected: str | None
) -> None:
    name = f"made-{words[0]}-{words[1].strip('-').partition('=')[0] if len(words) > 1 else 'x'}"
    split = words.index("--") if "--" in words else len(words)
    front = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    line = [*words[:front], name, *words[front:split], "-n", space, *words[split:]]
    outcome = federation.run("create", *line)
    assert outcome.code == 0, outcome.err
    assert outcome.out.endswith(f"/{name} created\n")
    found = federation.run("get", kind, name, "-n", space, "-o", f"jsonpath={path}").out
    assert found == (name if expected is None else expected)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["create"], "You must provide one or more resources"),
        (["create", "nonsense"], 'unknown kind "nonsense"'),
        (["create", "deployment", "x"], 'required flag(s) "image" not set'),
        (["create", "configmap"], "exactly one NAME is required"),
        (["create", "cm", "x", "--from-literal=a"], "expected key=value"),
        (["create", "service", "clusterip", "x"], "at least one tcp port"),
        (["apply"], "must specify one of -f and -k"),
        (["apply", "-f", "/nope"], 'the path "/nope" does not exist'),
        (["apply", "-f", "/nope", "--prune"], "all resources selected for prune without explicitly passing --all"),
        (["apply", "-f", "/nope", "--prune", "--all", "-l", "a=b"], "cannot set --all and --selector"),
        (
            ["apply", "-f", "/nope", "--prune", "--all", "--prune-allowlist=Pod"],
            "invalid GroupVersionKind format: Pod, please follow <group/version/kind>",
        ),
        (["apply", "-f", "/nope", "-k", "/nope"], "only one of -f or -k can be specified"),
        (
            ["apply", "-f", "http://127.0.0.1:1/x.yaml"],
            'unable to read URL "http://127.0.0.1:1/x.yaml": Connection refused',
        ),
        (["patch", "cm", "x"], "must specify exactly one of --patch and --patch-file"),
        (["patch", "cm", "x", "-p", "{", "--type=merge"], "unable to parse"),
        (["label", "cm", "x"], "at least one label update is required"),
        (["label", "cm", "a=b"], "resource(s) were provided, but no name was specified"),
        (["delete", "cm"], "resource(s) were provided, but no name was specified"),
        (["apply", "-f", "a.yaml", "b.yaml"], "unexpected arguments: [b.yaml]: write -f before each file"),
        (["interpret", "-f", "a.yaml", "b.yaml"], "unexpected arguments: [b.yaml]: write -f before each file"),
        (["delete", "-f", "a.yaml", "b.yaml"], "you may not specify resource arguments as well (b.yaml)"),
        (["describe", "-f", "a.yaml", "b.yaml"], "you may not specify resource arguments as well (b.yaml)"),
        (["init", "--cert-validity-period=-1h"], '"-1h" for "--cert-validity-period" flag: it must last for some time'),
        (["token", "create", "--ttl=-1s"], "--ttl takes a time to come, or 0 for ever"),
        (["token", "create", "--usages=signin"], '"signin" is no usage of a token: --usages takes signing, authent'),
        (["token", "create", "--usages="], '"" is no usage of a token'),
        (["token", "create", "--groups=dev"], '"dev" is no group of tokens: --groups takes names that match'),
        (["token", "create", "--cluster-names=a,B"], "invalid cluster name(B): "),
        (["token", "create", "abcdef.0123456789abcdef"], "unexpected arguments: [abcdef.0123456789abcdef]"),
        (["unjoin", "member1", "member2"], "one cluster at a time: member1 or member2?"),
        (["unregister", "member1", "member2"], "one cluster at a time: member1 or member2?"),
        (["register", "a:1", "b:1"], "accepts 1 arg(s), received 2"),
        (["get", "cm", ""], "resource name may not be empty"),
        (["describe", "cm", "x", ""], "resource name may not be empty"),
        (["delete", "cm", ""], "error: resource name may not be empty"),
        (["top", "pods", ""], "error: resource name may not be empty"),
        (["cordon", ""], "error: resource name may not be empty"),
        (["uncordon", ""], "error: resource name may not be empty"),
        (["unjoin", ""], "error: resource name may not be empty"),
        (["attach", "", "-C", "member1"], "error: resource name may not be empty"),
        (["delete", "cm", "x", "--cascade=maybe"], "invalid cascade value (maybe)"),
        (["edit", "cm/nosuch"], 'configmaps "nosuch" not found'),
        (["promote", "cm", "x"], "the cluster cannot be empty"),
    ],
)
def test_bad_input_gets_one_clear_line(federation: World, words: list[str], message: str) -> None:
    outcome = federation.run(*words)
    assert outcome.code == 1
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_a_file_that_is_no_yaml_is_named_with_its_line(federation: World, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("kind: A\n  b: c\n")
    outcome = federation.run("apply", "-f", str(file))
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: error parsing {file}: yaml: line 2")


def test_apply_changes_lists_by_their_keys(federation: World, space: str, tmp_path: Path) -> None:
    item = next(yaml.load_all(SHOP))
    item["metadata"]["name"] = "applied"
    file = tmp_path / "deployment.yaml"
    file.write_text(yaml.dump(item))
    assert federation.run("apply", "-f", str(file), "-n", space).out == "deployment.apps/applied created\n"
    item["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "busybox"})
    file.write_text(yaml.dump(item))
    assert federation.run("apply", "-f", str(file), "-n", space).out == "deployment.apps/applied configured\n"
    assert federation.run("apply", "-f", str(file), "-n", space).out == "deployment.apps/applied unchanged\n"
    words = ("get", "deploy", "applied", "-n", space, "-o", "jsonpath={.spec.template.spec.containers[*].name}")
    assert federation.run(*words).out == "main side"
    dry = federation.run(
        "apply", "-f", str(file), "-n", space, "--server-side", "--dry-run=server", "--force-conflicts"
    )
    assert dry.out == "deployment.apps/applied serverside-applied (server dry run)\n"


def test_objects_come_from_standard_input_and_directories(federation: World, space: str, tmp_path: Path) -> None:
    text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: piped}}"
    assert federation.run("apply", "-f", "-", "-n", space, stdin=text).out == "configmap/piped created\n"
    (tmp_path / "below").mkdir()
    (tmp_path / "one.yaml").write_text(text.replace("piped", "one"))
    (tmp_path / "below" / "two.json").write_text('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"}}')
    flat = federation.run("apply", "-f", str(tmp_path), "-n", space)
    assert flat.out == "configmap/one created\n"
    deep = federation.run("apply", "-R", "-f", str(tmp_path), "-n", space)
    assert deep.out == "configmap/two created\nconfigmap/one unchanged\n"


def test_a_dry_run_creates_nothing(federation: World, space: str) -> None:
    outcome = federation.run("create", "cm", "dry", "-n", space, "--dry-run=client", "-o", "name")
    assert outcome.out == "configmap/dry\n"
    assert federation.run("get", "cm", "dry", "-n", space).code == 1


def test_marks_are_set_kept_and_removed(federation: World, space: str) -> None:
    federation.run("create", "cm", "marked", "-n", space)
    outputs = [
        federation.run("label", "cm", "marked", "-n", space, *words)
        for words in (["a=1"], ["a=2"], ["a=2", "--overwrite"], ["a=2"], ["a-"], ["zz-"])
    ]
    assert [one.code for one in outputs] == [0, 1, 0, 0, 0, 0]
    assert outputs[1].err == "error: configmap/marked: 'a' already has a value (1), and --overwrite is false\n"
    assert [one.out.split()[-1] for one in outputs if not one.code] == [
        "labeled",
        "labeled",
        "labeled",
        "unlabeled",
        "labeled",
    ]
    assert federation.run("annotate", "cm", "marked", "-n", space, "x=y").out == "configmap/marked annotated\n"
    assert federation.run("annotate", "cm", "marked", "-n", space, "--list").out == "x=y\n"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"data":{"a":"2"}}'),
        ("merge", "data: {a: '2'}"),
        ("json", '[{"op":"add","path":"/data","value":{"a":"2"}}]'),
    ],
)
def test_patches_of_every_type(federation: World, space: str, kind: str, patch: str) -> None:
    federation.run("create", "cm", f"patch-{kind}", "-n", space)
    outcome = federation.run("patch", "cm", f"patch-{kind}", "-n", space, "--type", kind, "-p", patch)
    assert outcome.out == f"configmap/patch-{kind} patched\n"
    again = federation.run("patch", "cm", f"patch-{kind}", "-n", space, "--type", kind, "-p", patch)
    assert again.out == f"configmap/patch-{kind} patched (no change)\n"


def test_editing_sends_what_the_editor_changed(federation: World, space: str) -> None:
    federation.run("create", "cm", "edited", "-n", space, "--from-literal=key=before")
    outcome = federation.run("edit", "cm/edited", "-n", space, EDITOR="sed -i s/before/after/")
    assert outcome.out == "configmap/edited edited\n"
    assert federation.run("get", "cm", "edited", "-n", space, "-o", "jsonpath={.data.key}").out == "after"
    unchanged = federation.run("edit", "cm/edited", "-n", space, EDITOR="true")
    assert unchanged.out == "Edit cancelled, no changes made.\n"
    missing = federation.run("edit", "cm/edited", "-n", space, EDITOR="no-such-editor")
    assert missing.code == 1
    assert "set KUBE_EDITOR" in missing.err


def test_editing_keeps_the_object_for_apply_when_the_flag_says_so(federation: World, space: str) -> None:
    federation.run("create", "cm", "kept", "-n", space, "--from-literal=key=before")
    edited = federation.run("edit", "cm/kept", "-n", space, "--save-config", EDITOR="sed -i s/before/after/")
    assert edited.out == "configmap/kept edited\n"
    path = r"jsonpath={.metadata.annotations.kubectl\.kubernetes\.io/last-applied-configuration}"
    assert '"data":{"key":"after"}' in federation.run("get", "cm", "kept", "-n", space, "-o", path).out


def test_deleting_waits_until_objects_are_gone(federation: World, space: str) -> None:
    federation.run("create", "cm", "leaving", "-n", space)
    finalizer = '{"metadata":{"finalizers":["example.org/hold"]}}'
    federation.run("patch", "cm", "leaving", "-n", space, "--type=merge", "-p", finalizer)
    held = federation.run("delete", "cm", "leaving", "-n", space, "--timeout=300ms")
    assert held.code == 1
    assert held.err == "error: timed out waiting for the condition on configmap/leaving\n"
    federation.run("patch", "cm", "leaving", "-n", space, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert federation.run("delete", "cm", "leaving", "-n", space, "--ignore-not-found").code == 0


def test_deleting_asks_when_the_flag_says_so(federation: World, space: str) -> None:
    federation.run("create", "cm", "asked", "-n", space)
    assert "deletion is cancelled" in federation.run("delete", "cm", "asked", "-n", space, "-i", stdin="n\n").out
    assert "deleted" in federation.run("delete", "cm", "asked", "-n", space, "-i", stdin="y\n").out


def test_promoting_takes_what_the_object_needs_along(federation: World, space: str) -> None:
    member = federation.member_config("member3")
    federation.run("create", "cm", "needed", "-n", space, "--kubeconfig", member)
    item = next(yaml.load_all(SHOP))
    item["metadata"] = {"name": "old", "namespace": space}
    item["spec"]["template"]["spec"]["volumes"] = [{"name": "v", "configMap": {"name": "needed"}}]
    file = federation.folder / "old.yaml"
    file.write_text(yaml.dump(item))
    assert federation.run("apply", "-f", str(file), "--kubeconfig", member).code == 0
    outcome = federation.run("promote", "deployment", "old", "-n", space, "-C", "member3", "-d")
    assert outcome.code == 0, outcome.err
    assert f"ResourceTemplate ({space}/needed) is created successfully" in outcome.out
    assert outcome.out.endswith(f'"apps/v1, Resource=deployments"({space}/old) is promoted successfully\n')

    def settled() -> bool:
        rb = json.loads(federation.run("get", "rb", "old-deployment", "-n", space, "-o", "json").out)
        return bool([target["name"] for target in rb["spec"].get("clusters") or ()] == ["member3"])

    federation.eventually(settled)


class Lying(BaseHTTPRequestHandler):
    """A member that calls Secrets ConfigMaps, and answers every question with a bootstrap token of its choice."""

    TOKEN: ClassVar[dict[str, Any]] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "bootstrap-token-abcdef", "namespace": "kube-system"},
        "type": "bootstrap.kubernetes.io/token",
    }
    SECRETS: ClassVar[dict[str, Any]] = {
        "name": "secrets",
        "singularName": "cm",
        "namespaced": True,
        "kind": "Secret",
        "verbs": ["get"],
    }
    PAGES: ClassVar[dict[str, Any]] = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "groups": []},
        "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [SECRETS]},
    }

    def do_GET(self) -> None:
        body = json.dumps(self.PAGES.get(self.path.partition("?")[0], self.TOKEN)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""


def test_promoting_takes_nothing_but_what_was_named(federation: World, space: str) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Lying) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        config = federation.folder / "lying.config"
        target = {"server": f"http://127.0.0.1:{server.server_port}"}
        entry = {"name": "x", "context": {"cluster": "x", "user": ""}}
        clusters = [{"name": "x", "cluster": target}]
        config.write_text(yaml.dump({"clusters": clusters, "contexts": [entry], "current-context": "x"}))
        words = ["promote", "cm", "shop", "-n", space, "-C", "member3", "--cluster-kubeconfig", str(config)]
        outcome = federation.run(*words, "--cluster-context", "x")
        server.shutdown()
    assert (outcome.code, outcome.out) == (1, "")
    assert f"answered with another object than ConfigMap {space}/shop: nothing was taken over" in outcome.err
    assert federation.run("get", "secret", Lying.TOKEN["metadata"]["name"], "-n", "kube-system").code == 1


def config_map(name: str, value: str = "1", **labels: str) -> str:
    about = {"name": name, "labels": labels}
    return yaml.dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": {"a": value}})


def test_what_the_files_have_no_more_is_pruned(federation: World, tmp_path: Path) -> None:
    space = federation.namespace()
    file = tmp_path / "all.yaml"
    file.write_text("---\n".join(config_map(name, app="x") for name in ("kept", "gone")))
    base = ("apply", "-f", str(file), "-n", space, "-l", "app=x")
    assert federation.run(*base).code == 0
    federation.run("create", "cm", "by-hand", "-n", space)
    federation.run("label", "cm", "by-hand", "-n", space, "app=x")
    file.write_text(config_map("kept", app="x"))
    for word, suffix in (("client", "(dry run)"), ("server", "(server dry run)")):
        dry = federation.run(*base, "--prune", f"--dry-run={word}")
        assert dry.out.splitlines()[-1] == f"configmap/gone pruned {suffix}"
    other = federation.run(*base, "--prune", "--prune-allowlist=core/v1/Secret")
    assert other.out == "configmap/kept unchanged\n"
    assert federation.run("get", "cm", "gone", "-n", space).code == 0
    pruned = federation.run(*base, "--prune", "--prune-allowlist=core/v1/ConfigMap", "--wait")
    assert pruned.out == "configmap/kept unchanged\nconfigmap/gone pruned\n"
    left = federation.run("get", "cm", "-n", space, "-l", "app=x", "-o", "name").out
    assert left == "configmap/by-hand\nconfigmap/kept\n"


def test_a_dry_run_deletes_nothing(federation: World, space: str) -> None:
    federation.run("create", "cm", "staying", "-n", space)
    for word, suffix in (("client", "(dry run)"), ("server", "(server dry run)")):
        outcome = federation.run("delete", "cm", "staying", "-n", space, f"--dry-run={word}")
        assert outcome.out == f'configmap "staying" deleted from {space} namespace {suffix}\n'
    assert federation.run("get", "cm", "staying", "-n", space).code == 0


def test_one_object_that_fails_does_not_keep_the_others_from_being_applied(
    federation: World, space: str, tmp_path: Path
) -> None:
    file = tmp_path / "mixed.yaml"
    wrong = config_map("wrong").replace("name: wrong", "name: Wrong_Name")
    file.write_text("---\n".join([config_map("before"), wrong, config_map("after")]))
    outcome = federation.run("apply", "-f", str(file), "-n", space)
    assert (outcome.code, outcome.out) == (1, "configmap/before created\nconfigmap/after created\n")
    assert outcome.err.startswith('The ConfigMap "Wrong_Name" is invalid: metadata.name: ')


KIND = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.light.example.com}
spec:
  group: light.example.com
  names: {kind: Lamp, plural: lamps}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: light.example.com/v1
kind: Lamp
metadata: {name: desk}
"""


@pytest.mark.parametrize("command", ["apply", "create"])
def test_an_object_of_an_unknown_kind_is_named_and_the_rest_is_done(
    federation: World, space: str, tmp_path: Path, command: str
) -> None:
    file = tmp_path / "lamp.yaml"
    file.write_text(KIND.replace("light", command))
    outcome = federation.run(command, "-f", str(file), "-n", space)
    kind = f"customresourcedefinition.apiextensions.k8s.io/lamps.{command}.example.com"
    assert (outcome.code, outcome.out) == (1, f"{kind} created\n")
    assert outcome.err == (
        f'error: resource mapping not found for name: "desk" namespace: "" from "{file}": '
        f'no matches for kind "Lamp" in version "{command}.example.com/v1"\nensure CRDs are installed first\n'
    )


@pytest.mark.parametrize(
    ("command", "doing"), [("create", "creating"), ("apply", "applying"), ("delete", "deleting")], ids=lambda word: word
)
def test_the_file_of_an_object_that_is_refused_is_named(
    federation: World, space: str, tmp_path: Path, command: str, doing: str
) -> None:
    file = tmp_path / "elsewhere.yaml"
    place = space if command == "delete" else "no-such-namespace"
    file.write_text(config_map("elsewhere").replace("name: elsewhere", f"name: elsewhere\n  namespace: {place}"))
    outcome = federation.run(command, "-f", str(file))
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f'Error from server (NotFound): error when {doing} "{file}": ')


def test_an_object_that_may_not_be_deleted_does_not_keep_the_others(federation: World, space: str) -> None:
    for name in ("kept", "going"):
        federation.run("create", "cm", name, "-n", space)
    federation.run("label", "cm", "kept", "-n", space, "resourcetemplate.karmada.io/deletion-protected=Always")
    outcome = federation.run("delete", "cm", "kept", "going", "-n", space)
    assert outcome.code == 1
    assert outcome.out == f'configmap "going" deleted from {space} namespace\n'
    assert "protected" in outcome.err


def test_a_refusal_of_no_object_speaks_of_the_request(federation: World, space: str) -> None:
    federation.run("create", "deployment", "typed", "--image=nginx", "-n", space)
    outcome = federation.run("patch", "deploy", "typed", "-n", space, "-p", '{"spec":{"replicas":"x"}}')
    assert outcome.code == 1
    assert outcome.err.startswith("The request is invalid: patch: Invalid value: ")
    outcome = federation.run("label", "deploy", "typed", "-n", space, "a b=c")
    assert outcome.code == 1
    assert outcome.err.count("metadata.labels: Invalid value") == 1


def test_what_cannot_be_changed_is_replaced_by_force(federation: World, space: str, tmp_path: Path) -> None:
    file = tmp_path / "fixed.yaml"
    fixed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fixed"}, "immutable": True}
    file.write_text(yaml.dump({**fixed, "data": {"a": "1"}}))
    base = ("apply", "-f", str(file), "-n", space)
    assert federation.run(*base).code == 0
    file.write_text(yaml.dump({**fixed, "data": {"a": "2"}}))
    refused = federation.run(*base)
    assert refused.code == 1
    assert "immutable" in refused.err
    assert federation.run(*base, "--force").out == "configmap/fixed configured\n"
    assert federation.run("get", "cm", "fixed", "-n", space, "-o", "jsonpath={.data.a}").out == "2"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A web server for a folder, on this machine."""
    handler = partial(Quiet, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Tests print nothing."""


def test_objects_come_from_the_web(federation: World, space: str, tmp_path: Path, web: str) -> None:
    (tmp_path / "cm.yaml").write_text(config_map("downloaded"))
    assert federation.run("apply", "-f", f"{web}/cm.yaml", "-n", space).out == "configmap/downloaded created\n"
    missing = federation.run("apply", "-f", f"{web}/none.yaml", "-n", space)
    message = "server reported 404 File not found, status code=404"
    assert missing == (1, "", f'error: unable to read URL "{web}/none.yaml", {message}\n')


KUSTOMIZE = """#!/bin/sh
[ "$1" = kustomize ] || exit 9
[ -f "$2/kustomization.yaml" ] || { echo "error: must build at directory: not a valid directory: $2" >&2; exit 1; }
cat "$2/cm.yaml"
"""


def test_a_kustomization_is_built_by_the_program_that_can(federation: World, space: str, tmp_path: Path) -> None:
    folder, programs = tmp_path / "base", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    (folder / "cm.yaml").write_text(config_map("built"))
    (folder / "kustomization.yaml").write_text("resources: [cm.yaml]\n")
    base = ("apply", "-n", space, "-k")
    alone = federation.run(*base, str(folder), PATH=str(programs))
    assert alone == (1, "", "error: -k needs kubectl or kustomize on the PATH: install one of them\n")
    (programs / "kubectl").write_text(KUSTOMIZE)
    (programs / "kubectl").chmod(0o755)
    built = federation.run(*base, str(folder), PATH=f"{programs}:/usr/bin:/bin")
    assert built == (0, "configmap/built created\n", "")
    wrong = federation.run(*base, str(programs), PATH=f"{programs}:/usr/bin:/bin")
    assert wrong.err == f"error: must build at directory: not a valid directory: {programs}\n"


def test_everything_in_a_file_goes_to_all_clusters(federation: World, tmp_path: Path) -> None:
    space = federation.namespace()
    file = tmp_path / "cm.yaml"
    file.write_text(config_map("everywhere"))
    outcome = federation.run("apply", "-f", str(file), "-n", space, "--all-clusters")
    assert outcome.code == 0, outcome.err
    first, second = outcome.out.splitlines()
    assert first == "configmap/everywhere created"
    assert second.startswith("propagationpolicy.policy.karmada.io/everywhere-")

    def arrived() -> bool:
        rows = federation.run("get", "cm", "everywhere", "-n", space, "-s", "members", "--no-headers").out
        return [line.split()[1] for line in rows.splitlines()] == ["member1", "member2", "member3"]

    federation.eventually(arrived)
