"""Commands that write: create, apply, patch, edit, label, annotate, delete, promote."""

import json
from pathlib import Path

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
        (["apply", "-f", "/nope", "--prune"], "--prune is not supported"),
        (["patch", "cm", "x"], "must specify exactly one of --patch and --patch-file"),
        (["patch", "cm", "x", "-p", "{", "--type=merge"], "unable to parse"),
        (["label", "cm", "x"], "at least one label update is required"),
        (["label", "cm", "a=b"], "resource(s) were provided, but no name was specified"),
        (["delete", "cm"], "resource(s) were provided, but no name was specified"),
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
    said = [
        federation.run("label", "cm", "marked", "-n", space, *words)
        for words in (["a=1"], ["a=2"], ["a=2", "--overwrite"], ["a=2"], ["a-"], ["zz-"])
    ]
    assert [one.code for one in said] == [0, 1, 0, 0, 0, 0]
    assert said[1].err == "error: configmap/marked: 'a' already has a value (1), and --overwrite is false\n"
    assert [one.out.split()[-1] for one in said if not one.code] == [
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


def test_deleting_waits_until_objects_are_gone(federation: World, space: str) -> None:
    federation.run("create", "cm", "leaving", "-n", space)
    finalizer = '{"metadata":{"finalizers":["example.org/hold"]}}'
    federation.run("patch", "cm", "leaving", "-n", space, "--type=merge", "-p", finalizer)
    held = federation.run("delete", "cm", "leaving", "-n", space, "--timeout=300ms")
    assert held.code == 1
    assert held.err == "error: timed out waiting for the condition on configmap/leaving\n"
    federation.run("patch", "cm", "leaving", "-n", space, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    assert federation.run("delete", "cm", "leaving", "-n", space, "--ignore-not-found").code == 0


def test_deleting_asks_when_told_to(federation: World, space: str) -> None:
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
