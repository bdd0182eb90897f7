"""No component depends on its transport: the same requests give the same answers, errors and events on both."""

import contextlib
import re

import orjson
import pytest

from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.resource import Propagation, Scope
from karmada.machinery.transport import GroupVersionResource, PatchType

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
NOTHING = GroupVersionResource("none.example", "v1", "things")
CHANGING = re.compile(r'"(uid|creationTimestamp|deletionTimestamp|time)":"[^"]*"|[0-9a-f]{8}-[0-9a-f-]{27}')


def plain(value):
    """Without what differs from run to run."""
    text = value if isinstance(value, bytes) else orjson.dumps(value)
    return CHANGING.sub("~", text.decode())


@contextlib.asynccontextmanager
async def transport_to(server, kind):
    if kind == "direct":
        yield server.direct()
        return
    from karmada.apiserver.auth.kubeconfig import kubeconfig

    port = await server.listen()
    authority = server.identity.authority
    certificate, key = authority.issue_client("system:admin", ["system:masters"])
    config = kubeconfig(f"https://127.0.0.1:{port}", authority.certificate_pem, certificate=certificate, key=key)
    transport = HttpTransport(from_bytes(orjson.dumps(config)).target(), agent="karmada")
    yield transport
    await transport.close()


def deployment(name):
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


async def story(client):
    """One request after the other; yields the awaitables to compare."""
    maps, deployments = client.resource(CONFIG_MAPS), client.resource(DEPLOYMENTS)
    body = {"metadata": {"name": "a", "namespace": "default", "labels": {"app": "x"}}, "data": {"k": "1"}}
    yield "create", maps.create(body)
    yield "create again", maps.create(body)
    yield "create nowhere", maps.create(body | {"metadata": {"name": "a", "namespace": "nowhere"}})
    yield "create invalid", maps.create({"metadata": {"name": "A_", "namespace": "default"}})
    yield "create in dry run", maps.create({"metadata": {"name": "dry", "namespace": "default"}}, dry_run=True)
    yield "get", maps.get("a", "default")
    yield "get what is not there", maps.get("b", "default")
    yield "get an unknown kind", client.resource(NOTHING).get("x")
    yield "merge patch", maps.patch("a", {"data": {"l": "2"}}, "default")
    add = [{"op": "add", "path": "/data/m", "value": "3"}]
    yield "json patch", maps.patch("a", add, "default", kind=PatchType.JSON)
    bad = [{"op": "test", "path": "/data/m", "value": "4"}]
    yield "failing json patch", maps.patch("a", bad, "default", kind=PatchType.JSON)
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": body["metadata"], "data": {"k": "9"}}
    yield "apply in conflict", maps.apply(applied, field_manager="other")
    yield "apply with force", maps.apply(applied, field_manager="other", force=True)
    yield "update with an old version", maps.update(body | {"metadata": body["metadata"] | {"resourceVersion": "1"}})
    yield "create a deployment", deployments.create(deployment("web"))
    yield "scale", deployments.scale("web", "default")
    yield "set scale", deployments.set_scale("web", 5, "default")
    yield "scaled", deployments.scale("web", "default")
    yield "status", deployments.patch("web", {"status": {"replicas": 5}}, "default", subresource="status")
    yield "list by label", maps.list(Scope("default", labels="app=x"))
    yield "list by field", maps.list(Scope("default", fields="metadata.name=a"))
    yield "list by a wrong selector", maps.list(Scope("default", labels="=="))
    yield "page", client.resource(NAMESPACES).page(limit=2)
    yield "delete", maps.delete("a", "default", propagation=Propagation.BACKGROUND)
    yield "delete again", maps.delete("a", "default")
    yield "a page that is none", client.transport.raw("GET", "/nothing")
    yield "version of the server", client.transport.raw("GET", "/version")


async def recorded(apiserver, kind):
    results = {}
    async with apiserver() as server, transport_to(server, kind) as transport:
        client = Client(transport, field_manager="tester")
        maps = client.encoded(CONFIG_MAPS)
        seen = []
        scope = Scope("default", fields="metadata.name!=kube-root-ca.crt")
        async with maps.watch(
            scope, sendInitialEvents="true", resourceVersionMatch="NotOlderThan", allowWatchBookmarks="true"
        ) as batches:
            async for name, request in story(client):
                try:
                    results[name] = plain_answer(await request)
                except ApiError as error:
                    results[name] = f"{type(error).__name__}: {error} {error.causes}"
            while "DELETED" not in [kind for kind, _ in seen]:
                seen += [(event.type.value, plain(event.object)) for event in await anext(batches)]
        results["events"] = [event for event in seen if event[0] != "BOOKMARK"]
    return results


def plain_answer(answer):
    if hasattr(answer, "items") and isinstance(answer, tuple):
        return [plain(item) for item in answer.items]
    return plain(answer)


async def test_both_transports_answer_the_same(apiserver):
    direct = await recorded(apiserver, "direct")
    http = await recorded(apiserver, "http")
    assert direct.keys() == http.keys()
    for name, answer in direct.items():
        assert revisionless(http[name]) == revisionless(answer), name


def revisionless(answer):
    """Revisions may differ where the server did something on its own in between."""
    if isinstance(answer, list):
        return [revisionless(part) for part in answer]
    if isinstance(answer, tuple):
        return tuple(revisionless(part) for part in answer)
    return re.sub(r'"resourceVersion":"\d+"', '"resourceVersion":"~"', answer)


@pytest.mark.parametrize("kind", ["direct", "http"])
async def test_errors_carry_their_type(apiserver, kind):
    results = await recorded(apiserver, kind)
    expected = {
        "create again": "AlreadyExists",
        "create nowhere": "NotFound",
        "create invalid": "Invalid",
        "get what is not there": "NotFound",
        "get an unknown kind": "NotFound",
        "apply in conflict": "Conflict",
        "update with an old version": "Conflict",
        "list by a wrong selector": "BadRequest",
        "delete again": "NotFound",
        "a page that is none": "NotFound",
    }
    assert {name: results[name].partition(":")[0] for name in expected} == expected
    assert [kind for kind, _ in results["events"]] == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]
