"""The real kubectl on objects: everything an operator does in a day."""

import asyncio
import json

import pytest

pytestmark = pytest.mark.tools

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
"""


async def done(kubectl, *arguments: str, stdin: str = "") -> str:
    result = await kubectl(*arguments, stdin=stdin)
    assert result.code == 0, result.err
    return result.out


@pytest.fixture
async def web(kubectl):
    await done(kubectl, "apply", "-f", "-", stdin=DEPLOYMENT)
    return kubectl


async def test_client_side_apply_creates_changes_and_leaves_alone(kubectl):
    assert await done(kubectl, "apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web created\n"
    assert await done(kubectl, "apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web unchanged\n"
    changed = DEPLOYMENT.replace("replicas: 2", "replicas: 3")
    assert await done(kubectl, "apply", "-f", "-", stdin=changed) == "deployment.apps/web configured\n"


async def test_server_side_apply_conflicts_until_forced(web):
    await done(web, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=DEPLOYMENT)
    await done(web, "scale", "deployment/web", "--replicas=5")
    refused = await web("apply", "--server-side", "--field-manager=other", "-f", "-", stdin=DEPLOYMENT)
    assert refused.code == 1
    assert "conflict" in refused.err
    out = await done(
        web, "apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-", stdin=DEPLOYMENT
    )
    assert out == "deployment.apps/web serverside-applied\n"


async def test_diff_shows_what_would_change(web):
    changed = await web("diff", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 7"))
    assert changed.code == 1
    assert "+  replicas: 7" in changed.out
    assert (await web("diff", "-f", "-", stdin=DEPLOYMENT)).code == 0


async def test_edit_with_a_scripted_editor(web, tmp_path):
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/replicas: 2/replicas: 9/" "$1"\n')
    editor.chmod(0o755)
    result = await web("edit", "deployment/web", editor=str(editor))
    assert result.code == 0, result.err
    assert await done(web, "get", "deployment/web", "-o", "jsonpath={.spec.replicas}") == "9"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}}'),
        ("merge", '{"metadata":{"labels":{"x":"y"}}}'),
        ("json", '[{"op":"replace","path":"/spec/replicas","value":4}]'),
    ],
)
async def test_patch_of_each_kind(web, kind, patch):
    assert await done(web, "patch", "deployment/web", f"--type={kind}", "-p", patch) == "deployment.apps/web patched\n"


async def test_label_annotate_scale_and_wait(web):
    await done(web, "label", "deployment/web", "tier=front")
    await done(web, "annotate", "deployment/web", "note=hello")
    await done(web, "scale", "deployment/web", "--replicas=3")
    await done(web, "wait", "deployment/web", "--for=jsonpath={.spec.replicas}=3", "--timeout=5s")
    found = json.loads(await done(web, "get", "deployment", "-l", "tier=front", "-o", "json"))
    assert found["items"][0]["metadata"]["annotations"]["note"] == "hello"


async def test_the_forms_of_get(web):
    assert "CONTAINERS" in await done(web, "get", "deployment", "-o", "wide")
    assert await done(web, "get", "deployment", "-o", "name") == "deployment.apps/web\n"
    columns = await done(web, "get", "deployment", "-o", "custom-columns=NAME:.metadata.name,WANT:.spec.replicas")
    assert columns.split() == ["NAME", "WANT", "web", "2"]
    assert "apiVersion: apps/v1" in await done(web, "get", "deployment/web", "-o", "yaml")
    for name in ("b", "a"):
        await done(web, "create", "configmap", name)
    listed = await done(web, "get", "configmap", "--sort-by=.metadata.creationTimestamp", "-o", "name")
    assert {"configmap/a", "configmap/b"} <= set(listed.split())


async def test_get_watches(web):
    process = await web.start("get", "configmap", "-w", "-o", "name")
    assert process.stdout is not None
    try:
        async with asyncio.timeout(30):
            await done(web, "create", "configmap", "seen")
            assert await process.stdout.readline() == b"configmap/seen\n"
    finally:
        process.kill()
        await process.communicate()


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
async def test_delete_with_each_cascade(web, cascade):
    out = await done(web, "delete", "deployment/web", f"--cascade={cascade}", "--timeout=20s")
    assert out == 'deployment.apps "web" deleted\n'
    assert (await web("get", "deployment/web")).code == 1


async def test_explain_and_api_resources(kubectl):
    explained = await done(kubectl, "explain", "deployment.spec.replicas")
    assert "FIELD: replicas <integer>" in explained
    assert "DESCRIPTION:\n    Number of desired pods." in explained
    resources = await done(kubectl, "api-resources", "--namespaced=true", "-o", "name")
    assert "deployments.apps" in resources.split()


async def test_rollout_history_undo_and_status(web):
    await done(web, "patch", "deployment/web", "--subresource=status", "--type=merge", "-p", _status(1))
    assert "successfully rolled out" in await done(web, "rollout", "status", "deployment/web", "--timeout=10s")
    await done(web, "rollout", "restart", "deployment/web")
    paused = await done(web, "rollout", "pause", "deployment/web")
    assert paused == "deployment.apps/web paused\n"


def _status(generation: int) -> str:
    counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 2)
    return json.dumps({"status": {"observedGeneration": generation, **counts}})


async def test_drain_evicts_the_pods_of_a_node(kubectl):
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"nodeName": "n1", "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]},
    }
    for body in (node, pod):
        await done(kubectl, "create", "-f", "-", stdin=json.dumps(body))
    out = await done(kubectl, "drain", "n1", "--force", "--timeout=20s")
    assert "pod/p evicted" in out
    assert (await kubectl("get", "pod/p")).code == 1
    assert await done(kubectl, "get", "node/n1", "-o", "jsonpath={.spec.unschedulable}") == "true"


async def test_a_custom_resource_from_definition_to_deletion(kubectl):
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}
                            },
                        }
                    },
                    "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                }
            ],
        },
    }
    await done(kubectl, "apply", "-f", "-", stdin=json.dumps(definition))
    await done(kubectl, "wait", "crd/widgets.example.dev", "--for=condition=Established", "--timeout=10s")
    widget = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    await done(kubectl, "apply", "-f", "-", stdin=json.dumps(widget))
    assert (await done(kubectl, "get", "wd")).split() == ["NAME", "SIZE", "w", "3"]
    refused = await kubectl("apply", "-f", "-", stdin=json.dumps({**widget, "spec": {"size": 0}}))
    assert "should be greater than or equal to 1" in refused.err
    await done(kubectl, "delete", "crd", "widgets.example.dev", "--timeout=20s")
    assert (await kubectl("get", "wd")).code == 1
