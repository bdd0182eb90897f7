"""Watches over all members: merged, resumed, and alive when clusters join and leave."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from tests.search.world import CLUSTER, PODS, Searched, pod, registry

from karmada.machinery.client import Client
from karmada.machinery.errors import Gone
from karmada.machinery.transport import Request, Verb
from karmada.membership.unjoin import unjoin
from karmada.search.resource_versions import ResourceVersions


class Watched:
    """The events of a watch, as they come."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._events: list[Any] = []
        self.version = ""

    async def take(self, count: int) -> list[tuple[str, str, str]]:
        """The next events: type, cluster and name."""
        async with asyncio.timeout(20):
            while len(self._events) < count:
                self._events += list(await anext(self._stream))
        taken, self._events = self._events[:count], self._events[count:]
        self.version = taken[-1].object["metadata"]["resourceVersion"]
        return [
            (
                str(event.type),
                event.object["metadata"]["annotations"][CLUSTER],
                event.object["metadata"]["name"],
            )
            for event in taken
        ]


@contextlib.asynccontextmanager
async def watching(client: Client, version: str = "") -> AsyncIterator[Watched]:
    async with client.resource(PODS).watch(resource_version=version) as stream:
        yield Watched(stream)


@pytest.fixture
async def ready(searched: Searched) -> Searched:
    for name, member in searched.members.items():
        await member.client.resource(PODS).create(pod(f"of-{name}"))
    await searched.register(registry(("v1", "Pod")))
    return searched


async def test_events_of_all_members_come_in_one_watch(ready: Searched) -> None:
    client = ready.client()
    listed = await client.resource(PODS).list()
    async with watching(client, listed.resource_version) as watched:
        await ready.members["member1"].client.resource(PODS).create(pod("a"))
        assert await watched.take(1) == [("ADDED", "member1", "a")]
        await ready.members["member2"].client.resource(PODS).create(pod("b"))
        assert await watched.take(1) == [("ADDED", "member2", "b")]
        await ready.members["member1"].client.resource(PODS).delete("a", "default")
        assert await watched.take(1) == [("MODIFIED", "member1", "a")]  # it ends gracefully
    await client.close()


async def test_a_watch_goes_on_after_its_last_event(ready: Searched) -> None:
    client = ready.client()
    listed = await client.resource(PODS).list()
    one, two = (ready.members[name].client.resource(PODS) for name in ("member1", "member2"))
    async with watching(client, listed.resource_version) as watched:
        await one.create(pod("a"))
        await watched.take(1)
        version = watched.version
    await two.create(pod("b"))
    await one.create(pod("c"))
    async with watching(client, version) as watched:
        assert sorted(await watched.take(2)) == [("ADDED", "member1", "c"), ("ADDED", "member2", "b")]
    await client.close()


async def test_clusters_that_a_client_invents_are_not_in_the_version_of_every_object(ready: Searched) -> None:
    client = ready.client()
    invented = dict.fromkeys(map(str, range(1000)), 0)
    version = base64.urlsafe_b64encode(orjson.dumps(invented)).rstrip(b"=").decode()
    async with watching(client, version) as watched:
        await ready.members["member1"].client.resource(PODS).create(pod("a"))
        seen = set()
        while not any("a" in event for event in seen):
            seen |= set(await watched.take(1))
        assert set(ResourceVersions.parse(watched.version).versions or {}) <= {"member1", "member2"}
    await client.close()


async def test_without_a_version_everything_comes_first(ready: Searched) -> None:
    client = ready.client()
    async with watching(client) as watched:
        assert sorted(await watched.take(2)) == [("ADDED", "member1", "of-member1"), ("ADDED", "member2", "of-member2")]
    await client.close()


async def test_a_cluster_that_joins_appears_in_open_watches(ready: Searched) -> None:
    client = ready.client()
    listed = await client.resource(PODS).list()
    async with watching(client, listed.resource_version) as watched:
        third = await ready.world.member("member3")
        await third.client.resource(PODS).create(pod("of-member3"))
        await ready.adopt(third)
        assert await watched.take(1) == [("ADDED", "member3", "of-member3")]
        await third.client.resource(PODS).create(pod("later"))
        assert await watched.take(1) == [("ADDED", "member3", "later")]
        assert "member3" in (ResourceVersions.parse(watched.version).versions or {})
    await client.close()


async def test_a_cluster_that_leaves_takes_its_objects_along(ready: Searched) -> None:
    client = ready.client()
    listed = await client.resource(PODS).list()
    async with watching(client, listed.resource_version) as watched:
        member = ready.members["member2"]
        await unjoin(ready.hub, "member2", member.client)
        assert await watched.take(1) == [("DELETED", "member2", "of-member2")]
        await ready.members["member1"].client.resource(PODS).create(pod("a"))
        assert await watched.take(1) == [("ADDED", "member1", "a")]
        assert list(ResourceVersions.parse(watched.version).versions or {}) == ["member1"]
    with pytest.raises(Gone):
        async with watching(client, listed.resource_version) as watched:
            await watched.take(1)
    await client.close()


async def test_a_streamed_list_ends_with_one_bookmark(ready: Searched) -> None:
    client = ready.client()
    params = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    request = Request(Verb.WATCH, PODS, params=params)
    seen: list[str] = []
    async with asyncio.timeout(20), client.transport.watch(request) as stream:
        async for batch in stream:
            seen += [str(event.type) for event in batch]
            if "BOOKMARK" in seen:
                break
    assert seen == ["ADDED", "ADDED", "BOOKMARK"]
    await client.close()


async def test_nobody_watches_what_they_may_not_read(ready: Searched) -> None:
    rule = {"apiGroups": ["search.karmada.io"], "resources": ["proxying/proxy"], "verbs": ["*"]}
    await ready.grant(ready.hub, "dev", rule)
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
    await ready.grant(ready.members["member2"].client, "dev", pods)
    dev = ready.client("dev")
    async with watching(dev) as watched:
        assert await watched.take(1) == [("ADDED", "member2", "of-member2")]
        await ready.members["member1"].client.resource(PODS).create(pod("hidden"))
        await ready.members["member2"].client.resource(PODS).create(pod("shown"))
        assert await watched.take(1) == [("ADDED", "member2", "shown")]
    await dev.close()
