"""The recorded answers of karmada-search: discovery, registries, `search/cache` and reads through `proxying`."""

import re
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import yaml
from tests.search.world import NODES, PODS, REGISTRIES, Searched, pod

from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects
from karmada.search.resource_versions import decoded

RECORDED = Path(__file__).parents[3] / "shared" / "golden" / "pull"
pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason="needs ../shared/golden/pull")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
CLUSTER = "resource.karmada.io/cached-from-cluster"
PREFIX = "/apis/search.karmada.io/v1alpha1"
OTHERWISE = {
    f"GET {PREFIX}/proxying": "the reference breaks the connection; ours is a 404",
    f"GET {PREFIX}/proxying/karmada": "the reference breaks the connection; ours is a 404",
    f"GET {PREFIX}/proxying/karmada/proxy/version": "every server has its own version",
    f"GET {PREFIX}/proxying/karmada/proxy/api": "the address of the server is its own",
    f"GET {PREFIX}/proxying/karmada/proxy/api/v1/nodes?Table": "columns of the kind and the cluster, not names only",
    f"GET {PREFIX}/resourceregistries/everything": "conditions are maintained",
    f"GET {PREFIX}/resourceregistries?Table": "readiness is shown",
}
"""Where another answer is wanted (docs/differences-from-karmada.md)."""


def calls(folder: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((RECORDED / folder / "calls.yaml").read_text())["calls"]
    return found


def deployment(name: str, namespace: str = "default", **labels: str) -> JSONObject:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx:1.25"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name, **labels}},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
    }


def node(name: str) -> JSONObject:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def replica(app: str) -> JSONObject:
    return pod(f"{app}-5d4f8c7b9d-x2x4z", app=app) | {
        "metadata": {
            "name": f"{app}-5d4f8c7b9d-x2x4z",
            "namespace": "default",
            "labels": {"app": app, "pod-template-hash": "5d4f8c7b9d"},
        }
    }


@pytest.fixture
async def populated(searched: Searched) -> Searched:
    await searched.join("member3")
    one, three = (searched.members[name].client for name in ("member1", "member3"))
    for client, apps, nodes in ((one, ("api", "web"), ("m1-a", "m1-b")), (three, ("edge", "web"), ("m3-a",))):
        for app in apps:
            await client.resource(DEPLOYMENTS).create(deployment(app, tier="back" if app == "api" else "front"))
            await client.resource(PODS).create(replica(app))
        for name in nodes:
            await client.resource(NODES).create(node(name))
    await three.resource(objects.NAMESPACES).create(objects.namespace("karmada-system"))
    await three.resource(DEPLOYMENTS).create(deployment("karmada-agent", "karmada-system"))
    return searched


async def answered(world: Searched, folder: Path, call: dict[str, Any], token: str) -> tuple[int, str, Any, str]:
    """Code, content type, body as the recording shows it, and the continue token."""
    method, _, path = call["request"].partition(" ")
    server = world.world.plane.server
    context = ssl.create_default_context(cadata=server.identity.authority.certificate_pem.decode())
    admin = call["user"] == "admin"
    pair = server.identity.authority.issue_client(
        "system:admin" if admin else "dev", ["system:masters"] if admin else []
    )
    (folder / "client.pem").write_bytes(b"".join(pair))
    context.load_cert_chain(folder / "client.pem")
    body = call.get("requestBody")
    headers = {"Content-Type": "application/json"} | (call.get("requestHeaders") or {})
    if call.get("note") == "Table":
        headers["Accept"] = "application/json;as=Table;v=v1;g=meta.k8s.io"
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(world.world.endpoint, connector=connector) as session:
        data = orjson.dumps(body) if body else None
        async with session.request(method, path.replace("<continue>", token), data=data, headers=headers) as answer:
            kind, raw = answer.headers.get("Content-Type", ""), await answer.read()
            if "json" not in kind:
                return answer.status, kind, raw.decode(), ""
            tree = orjson.loads(raw)
            return answer.status, kind, shown(tree), str((tree.get("metadata") or {}).get("continue") or "")


def shown(tree: dict[str, Any]) -> Any:
    """An answer in the words of the recording."""
    if tree.get("kind") in ("Status", "APIResourceList", "Table", "APIVersions") or "kind" not in tree:
        return _without_hash(tree)
    if "items" not in tree:
        return _object(tree)
    metadata = dict(tree["metadata"])
    if tree["kind"] == "ResourceRegistryList" and not metadata.get("continue"):
        metadata.pop("continue", None)  # empty, as in lists of every kind that is defined by a schema here
    if metadata.get("continue"):
        metadata["continue"] = "<continue>"
    if "resourceVersion" in metadata:
        metadata["resourceVersion"] = _version(metadata["resourceVersion"])
    items = sorted((_object(item) for item in tree["items"]), key=_order)
    return {**tree, "metadata": metadata, "items": items}


def _order(item: Any) -> tuple[str, str, str]:
    return item.get("namespace", ""), item["name"], (item.get("annotations") or {}).get(CLUSTER, "")


def _object(tree: dict[str, Any]) -> dict[str, Any]:
    meta = tree["metadata"]
    found: dict[str, Any] = {
        "name": re.sub("-5d4f8c7b9d-x2x4z$", "-<hash>-<rand>", meta["name"]),
        "hasUid": "uid" in meta,
        "hasManagedFields": "managedFields" in meta,
        "kind": tree["kind"],
        "apiVersion": tree["apiVersion"],
    }
    found |= {key: meta[key] for key in ("namespace", "annotations", "labels") if meta.get(key)}
    if "resourceVersion" in meta:
        found["resourceVersion"] = _version(meta["resourceVersion"])
    if "pod-template-hash" in (found.get("labels") or {}):
        found["labels"] = {**found["labels"], "pod-template-hash": "<hash>"}
    return found


def _version(text: str) -> Any:
    versions = decoded(text) if not text.isdecimal() else None
    return {"<base64url-json>": dict.fromkeys(versions, "<rv>")} if versions else "<rv>"


def _without_hash(tree: dict[str, Any]) -> dict[str, Any]:
    for resource in tree.get("resources") or ():
        resource.pop("storageVersionHash", None)
    return tree


async def differences(world: Searched, folder: Path, recorded: list[dict[str, Any]]) -> list[str]:
    found, token = [], ""
    for call in recorded:
        original = call["request"]
        if call.get("note") == "Table" or "as=Table" in (call.get("requestHeaders") or {}).get("Accept", ""):
            original += "?Table" if "search/cache" not in original else ""
        code, content_type, body, following = await answered(world, folder, call, token)
        token = following or token
        if original in OTHERWISE:
            continue
        expected = call["body"]
        if isinstance(expected, list):
            (event,) = expected
            expected = event["notAWatchEvent"]
        if isinstance(expected, dict):
            expected = shown(expected) if expected.get("kind") == "APIResourceList" else expected
        if isinstance(expected, dict) and call.get("note") == "empty spec":
            expected = {**expected, "hasManagedFields": True}
        wanted = (call.get("code", 200), (call.get("headers") or {}).get("Content-Type", content_type), expected)
        if (code, content_type, body) != wanted:
            found.append(f"{call['user']}: {original}:\n  expected {wanted}\n  got      {(code, content_type, body)}")
    return found


async def test_registries_and_what_is_answered_without_one(populated: Searched, tmp_path: Path) -> None:
    problems = await differences(populated, tmp_path, calls("search-registry"))
    assert not problems, "\n".join(problems)


async def test_the_cache_and_the_proxy(populated: Searched, tmp_path: Path) -> None:
    created = next(call for call in calls("search-registry") if call.get("note") == "created")
    await populated.hub.resource(REGISTRIES).create(created["requestBody"])
    await populated.cached("everything")
    problems = await differences(populated, tmp_path, calls("search-cache") + calls("search-proxying-read"))
    assert not problems, "\n".join(problems)
