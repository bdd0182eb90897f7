"""The controller of docs/writing-a-controller.md: short, and the same on both transports, live and simulated."""

import asyncio
import contextlib
import re
from pathlib import Path

import orjson
import pytest

from karmada.machinery.client import Client
from karmada.machinery.committer import Committer
from karmada.machinery.errors import ApiError
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.resource import Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.world import Component

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-controller.md"
CODE = re.findall(r"```python file=copier.py\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


@pytest.fixture
def copier():
    names = {}
    exec(compile(CODE, str(PAGE), "exec"), names)
    return names["Copier"]


def test_it_is_short():
    assert len(CODE.strip().splitlines()) <= 60


@contextlib.asynccontextmanager
async def transport_to(server, kind):
    if kind == "direct":
        yield server.direct()
        return
    from karmada.apiserver.auth.kubeconfig import kubeconfig

    port = await server.listen()
    authority = server.identity.authority
    certificate, key = authority.issue_client("copier", ["system:masters"])
    url = f"https://127.0.0.1:{port}"
    config = kubeconfig(url, authority.certificate_pem, certificate=certificate, key=key)
    transport = HttpTransport(from_bytes(orjson.dumps(config)).target())
    yield transport
    await transport.close()


async def until(client, namespace, expected):
    """Follow the copies of a namespace until they are as expected."""
    maps = client.resource(CONFIG_MAPS)
    async with asyncio.timeout(30):
        listing = await maps.list(Scope(namespace, labels="copied-from"))
        copies = {item["metadata"]["name"]: item["data"] for item in listing.items}
        scope = Scope(namespace, labels="copied-from")
        async with maps.watch(scope, listing.resource_version, allowWatchBookmarks="true") as batches:
            while copies != expected:
                for kind, item in await anext(batches):
                    if kind == "DELETED":
                        copies.pop(item["metadata"]["name"])
                    elif kind != "BOOKMARK":
                        copies[item["metadata"]["name"]] = item["data"]


@pytest.mark.parametrize("kind", ["direct", "http"])
async def test_it_runs_on_both_transports(apiserver, copier, kind):
    async with apiserver() as server, transport_to(server, kind) as transport, Supervisor() as supervisor:
        client = Client(transport)
        copier(client, supervisor)
        maps = client.resource(CONFIG_MAPS)
        labels = {"copy-to": "kube-public"}
        metadata = {"name": "a", "namespace": "default", "labels": labels}
        source = await maps.create({"metadata": metadata, "data": {"x": "1"}})
        await until(client, "kube-public", {"a": {"x": "1"}})
        await Committer(maps).commit(source, lambda tree: tree | {"data": {"x": "2"}})
        await until(client, "kube-public", {"a": {"x": "2"}})
        await maps.delete("a", "kube-public")
        await until(client, "kube-public", {"a": {"x": "2"}})
        await maps.delete("a", "default")
        await until(client, "kube-public", {})


def test_it_converges_whatever_happens(explore, copier):
    async def run(around):
        async with Supervisor(around.clock, around.random) as supervisor:
            copier(around.client, supervisor, around.clock, around.random)
            await supervisor.wait()

    async def scenario(world):
        maps = world.client("user").resource(CONFIG_MAPS)
        world.start(Component("copier", run))

        async def use():
            for number in range(12):
                await world.clock.sleep(world.random.random() * 4)
                name = world.random.choice("abc")
                labels = {"copy-to": world.random.choice(["kube-public", "kube-system"])}
                metadata = {"name": name, "namespace": "default", "labels": labels}
                with contextlib.suppress(ApiError):
                    await maps.delete(name, "default")
                if world.random.random() < 0.8:
                    await maps.create({"metadata": metadata, "data": {"x": str(number)}})

        using = world.background(use())
        await world.storm(40)
        await using
        await world.calm(300)
        sources = {
            (tree["metadata"]["labels"]["copy-to"], tree["metadata"]["name"]): tree["data"]
            for tree in world.objects(CONFIG_MAPS, "default")
            if "labels" in tree["metadata"]
        }
        copies = {
            (tree["metadata"]["namespace"], tree["metadata"]["name"]): tree["data"]
            for tree in world.objects(CONFIG_MAPS)
            if "copied-from" in tree["metadata"].get("labels", {})
        }
        if sources != copies:
            world.fail("copies are like their sources", f"{sources} {copies}")

    for seed in range(25):
        explore(scenario, seed)
