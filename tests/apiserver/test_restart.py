"""A server that is stopped and started again on the same data goes on where it was."""

import orjson
import pytest
from tests.apiserver.widgets import CRDS, WIDGETS, definition, version

from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, Request, Verb

CONFIGMAPS = GroupVersionResource("", "v1", "configmaps")
COLORED = {"type": "object", "properties": {"color": {"type": "string"}}}
SCHEMA = {"type": "object", "properties": {"spec": COLORED}}
CRD = definition(version(schema=SCHEMA, selectableFields=[{"jsonPath": ".spec.color"}]))


@pytest.fixture
def start(tmp_path):
    (tmp_path / "pki").mkdir()
    return lambda: ApiServer(ApiServerOptions(SqliteStorage(tmp_path / "db"), folder=tmp_path / "pki"))


async def test_objects_definitions_and_keys_are_still_there(start):
    async with start() as server:
        client = server.direct()
        await client.send(Request(Verb.CREATE, CRDS, body=CRD))
        for name, color in (("a", "red"), ("b", "blue")):
            body = {"metadata": {"name": name}, "spec": {"color": color}}
            await client.send(Request(Verb.CREATE, WIDGETS, "default", body=body))
        created = await client.send(Request(Verb.CREATE, CONFIGMAPS, "default", body={"metadata": {"name": "c"}}))
        authority = server.identity.authority.certificate_pem
        token = server.identity.tokens.key_set()
    async with start() as server:
        client = server.direct()
        assert await client.send(Request(Verb.GET, CONFIGMAPS, "default", "c")) == created
        params = {"fieldSelector": "spec.color=red"}
        listed = orjson.loads(await client.send(Request(Verb.LIST, WIDGETS, "default", params=params)))
        assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
        assert server.identity.authority.certificate_pem == authority
        assert server.identity.tokens.key_set() == token


async def test_a_watch_resumes_from_before_the_restart(start):
    async with start() as server:
        listed = orjson.loads(await server.direct().send(Request(Verb.LIST, CONFIGMAPS, "default")))
        await server.direct().send(Request(Verb.CREATE, CONFIGMAPS, "default", body={"metadata": {"name": "c"}}))
    async with start() as server:
        params = {"resourceVersion": listed["metadata"]["resourceVersion"], "timeoutSeconds": "1"}
        request = Request(Verb.WATCH, CONFIGMAPS, "default", params=params)
        names = []
        async with server.direct().watch(request) as stream:
            async for events in stream:
                names += [orjson.loads(event.object)["metadata"]["name"] for event in events]
        assert names == ["c"]


async def test_deletions_under_way_are_finished_after_the_restart(start):
    async with start() as server:
        client = server.direct()
        owner = orjson.loads(
            await client.send(Request(Verb.CREATE, CONFIGMAPS, "default", body={"metadata": {"name": "owner"}}))
        )
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        body = {"metadata": {"name": "dependent", "ownerReferences": [reference]}}
        await client.send(Request(Verb.CREATE, CONFIGMAPS, "default", body=body))
        await server._controllers[1].stop()
        await client.send(Request(Verb.DELETE, CONFIGMAPS, "default", "owner"))
    async with start() as server:
        import asyncio

        for _ in range(20_000):
            try:
                await server.direct().send(Request(Verb.GET, CONFIGMAPS, "default", "dependent"))
            except errors.NotFound:
                return
            await asyncio.sleep(0)
        raise AssertionError("the dependent is still there")
