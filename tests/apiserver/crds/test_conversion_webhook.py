"""Versions of a CRD that differ in shape, converted by a webhook. The webhook is a function, not a server."""

import orjson
import pytest
from tests.apiserver.widgets import CRDS, definition, version

from karmada.apiserver.outgoing import CallFailed, Response
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, Request, Verb

OLD, NEW = (GroupVersionResource("example.dev", name, "widgets") for name in ("v1", "v2"))
HOOK = {"clientConfig": {"url": "https://hooks.example/convert"}, "conversionReviewVersions": ["v1"]}
CRD = definition(version("v1", storage=False), version("v2"), conversion={"strategy": "Webhook", "webhook": HOOK})


def converted(obj, version):
    """v1 says spec.size, v2 spec.width."""
    spec = dict(obj["spec"])
    names = ("size", "width") if version == "example.dev/v2" else ("width", "size")
    if names[0] in spec:
        spec[names[1]] = spec.pop(names[0])
    return {**obj, "apiVersion": version, "spec": spec, "metadata": {**obj["metadata"], "name": "hijacked"}}


class Webhook:
    """Answers instead of the network."""

    reachable = True

    async def request(self, method, target, headers, body, timeout):
        incoming = orjson.loads(body)["request"]
        if not self.reachable:
            raise CallFailed("connection refused")
        objects = [converted(obj, incoming["desiredAPIVersion"]) for obj in incoming["objects"]]
        response = {"uid": incoming["uid"], "result": {"status": "Success"}, "convertedObjects": objects}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response}
        return Response(200, {}, orjson.dumps(review))

    async def close(self):
        pass


@pytest.fixture
async def server():
    async with ApiServer(ApiServerOptions(caller=Webhook())) as running:
        await running.direct().send(Request(Verb.CREATE, CRDS, body=CRD))
        yield running


async def test_each_version_is_served_in_its_own_shape(server):
    client = server.direct()
    body = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    created = orjson.loads(await client.send(Request(Verb.CREATE, OLD, "default", body=body)))
    assert created["spec"] == {"size": 3}
    newer = orjson.loads(await client.send(Request(Verb.GET, NEW, "default", "w")))
    assert (newer["apiVersion"], newer["spec"]) == ("example.dev/v2", {"width": 3})
    older = orjson.loads(await client.send(Request(Verb.LIST, OLD, "default")))
    assert [item["spec"] for item in older["items"]] == [{"size": 3}]


async def test_a_conversion_cannot_rename_an_object(server):
    client = server.direct()
    body = {"metadata": {"name": "w"}, "spec": {"size": 3}}
    await client.send(Request(Verb.CREATE, OLD, "default", body=body))
    assert orjson.loads(await client.send(Request(Verb.GET, NEW, "default", "w")))["metadata"]["name"] == "w"


async def test_a_failing_webhook_is_named(server):
    client = server.direct()
    await client.send(Request(Verb.CREATE, NEW, "default", body={"metadata": {"name": "w"}, "spec": {"width": 1}}))
    server.options.caller.reachable = False
    with pytest.raises(errors.ServerError, match=r"conversion webhook for example\.dev/v2, Kind=Widget failed"):
        await client.send(Request(Verb.GET, OLD, "default", "w"))
    assert await client.send(Request(Verb.GET, NEW, "default", "w"))
