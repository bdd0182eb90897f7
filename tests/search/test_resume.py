"""A restart costs no list: what was cached is kept in a file and followed from there, if it still is what it was."""

import asyncio
import sqlite3
import stat
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from tests.membership.world import eventually
from tests.search.world import PODS, pod

from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec
from karmada.api.meta import ObjectMeta
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.errors import Gone
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Request, Transport, WatchStream
from karmada.membership.connections import PushMembers
from karmada.search import database
from karmada.search.caches import Caches
from karmada.search.fulltext import FullText
from karmada.search.kinds import Kinds
from karmada.search.plan import KindRef, Part
from karmada.search.query import parse

POD, SECRET = KindRef("v1", "Pod"), KindRef("v1", "Secret")
EVERYTHING = Part()
SECRETS = GroupVersionResource("", "v1", "secrets")


class Counting:
    """A transport that counts loads: lists, and watches that begin with everything."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.loads: Counter[str] = Counter()
        self.refusing = False
        """Whether the next watches from a revision are refused with 410 Gone."""
        self.raw = inner.raw

    async def close(self) -> None:
        """The member goes on."""

    async def send(self, request: Request) -> bytes:
        if request.verb == "list" and request.resource in (PODS, SECRETS):
            self.loads[request.resource.resource] += 1
        return await self._inner.send(request)

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        if "sendInitialEvents" in request.params:
            self.loads[request.resource.resource] += 1
        elif self.refusing:
            raise Gone("too old resource version")
        async with self._inner.watch(request) as stream:
            yield stream


def _cluster(uid: str = "u1") -> Cluster:
    return Cluster(metadata=ObjectMeta(name="member1", uid=uid), spec=ClusterSpec(sync_mode="Push"))


class Member:
    """An API server with what was asked of it."""

    def __init__(self, server: ApiServer) -> None:
        self.client = Client(server.direct(ADMIN))
        self.transport = Counting(server.direct(ADMIN))

    @asynccontextmanager
    async def searched(
        self,
        file: Path,
        *kinds: KindRef,
        uid: str = "u1",
        part: Part = EVERYTHING,
        limit: int = database.LIMIT,
    ) -> AsyncIterator[tuple[Caches, FullText]]:
        """A process that caches kinds of the member, until it is stopped; `asked.loads` counts from its start."""
        self.transport.loads.clear()

        async def opened(cluster: Cluster) -> Transport:
            return self.transport

        async with Supervisor(REAL) as supervisor:
            caches = Caches(PushMembers(opened, REAL), Kinds(), supervisor, REAL)
            caches.index = FullText(file, limit)
            supervisor.start("index", caches.index.run)
            await caches.apply(_cluster(uid), dict.fromkeys(kinds or (POD,), part))
            held = caches.member("member1")
            assert held is not None
            for mirror in held.mirrors.values():
                async with asyncio.timeout(10):
                    await mirror.loaded.wait()
            yield caches, caches.index


Searched = Callable[..., AbstractAsyncContextManager[tuple[Caches, FullText]]]


@pytest.fixture
async def member() -> AsyncIterator[Member]:
    async with ApiServer() as server:
        yield Member(server)


def names(caches: Caches) -> list[str]:
    (mirror,) = caches.mirrors(PODS)
    return [item.name for item in mirror.store.list(mirror.key).items]


async def found(index: FullText, query: str) -> list[str]:
    return [each.name for each in (await index.find(parse(query), 0, 100)).found]


async def test_a_restart_lists_nothing_and_shows_what_happened_meanwhile(member: Member, tmp_path: Path) -> None:
    file = tmp_path / "search.db"
    pods = member.client.resource(PODS)
    for name in ("a", "b"):
        await pods.create(pod(name))
    async with member.searched(file) as (caches, _):
        assert names(caches) == ["a", "b"]
        await pods.create(pod("c"))
        await eventually(lambda: _equal(names(caches), ["a", "b", "c"]))
    assert member.transport.loads["pods"] == 1
    await pods.delete("a", "default")
    await pods.create(pod("d"))
    async with member.searched(file) as (caches, index):
        await eventually(lambda: _equal(names(caches), ["b", "c", "d"]))
        assert member.transport.loads["pods"] == 0

        async def indexed() -> list[str]:
            await index.flush()
            return sorted(await found(index, "kind:Pod"))

        await eventually(lambda: _same(indexed, ["b", "c", "d"]))
        assert await found(index, "name:c default") == ["c"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_revision_that_the_member_forgot_is_loaded_again(member: Member, tmp_path: Path) -> None:
    pods = member.client.resource(PODS)
    await pods.create(pod("a"))
    async with member.searched(tmp_path / "search.db"):
        pass
    await pods.create(pod("b"))
    member.transport.refusing = True
    async with member.searched(tmp_path / "search.db") as (caches, _):
        await eventually(lambda: _equal(names(caches), ["a", "b"]))
        assert member.transport.loads["pods"] == 1


@pytest.mark.parametrize("fault", ["another cluster", "less of it", "garbage", "torn", "foreign"])
async def test_a_file_that_does_not_fit_is_thrown_away(fault: str, member: Member, tmp_path: Path) -> None:
    file = tmp_path / "search.db"
    await member.client.resource(PODS).create(pod("a"))
    async with member.searched(file):
        pass
    uid, part = "u1", Part()
    if fault == "another cluster":
        uid = "u2"
    elif fault == "less of it":
        part = Part(frozenset({"default"}))
    elif fault == "garbage":
        file.write_bytes(b"x" * 10_000)
    elif fault == "torn":
        content = file.read_bytes()
        file.write_bytes(content[:4096] + b"\0" * (len(content) - 4096))
    else:
        file.unlink()
        with sqlite3.connect(file) as other:
            other.execute("create table mine (a)")
        other.close()
    async with member.searched(file, uid=uid, part=part) as (caches, index):
        assert names(caches) == ["a"]
        assert member.transport.loads["pods"] == 1
        await index.flush()
        assert await found(index, "kind:Pod") == ["a"]
    async with member.searched(file, uid=uid, part=part):
        assert member.transport.loads["pods"] == 0


async def test_a_full_disk_costs_the_restart_and_nothing_else(member: Member, tmp_path: Path) -> None:
    file = tmp_path / "search.db"
    big = pod("big")
    big["metadata"]["annotations"] = {"text": "word " * 40_000}
    await member.client.resource(PODS).create(big)
    async with member.searched(file, limit=200_000) as (caches, index):
        await index.flush()
        assert names(caches) == ["big"]
    assert file.stat().st_size <= 200_000
    async with member.searched(file) as (caches, index):
        assert member.transport.loads["pods"] == 1
        await index.flush()
        assert await found(index, "kind:Pod") == ["big"]


async def test_secrets_are_never_on_the_disk(member: Member, tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
    await member.client.resource(SECRETS).create(secret | {"stringData": {"password": "hunter2"}})
    async with member.searched(tmp_path / "search.db", POD, SECRET) as (_, index):
        await index.flush()
        assert await found(index, "kind:Secret") == ["s"]
    for file in (tmp_path / "search.db", tmp_path / "search.db-wal"):
        assert not file.exists() or b"aHVudGVyMg" not in file.read_bytes()
    async with member.searched(tmp_path / "search.db", POD, SECRET):
        assert (member.transport.loads["pods"], member.transport.loads["secrets"]) == (0, 1)


async def test_what_leaves_is_not_kept(member: Member, tmp_path: Path) -> None:
    await member.client.resource(PODS).create(pod("a"))
    async with member.searched(tmp_path / "search.db") as (caches, index):
        await index.flush()
        await caches.drop("member1")
        await index.flush()
        assert await found(index, "kind:Pod") == []
    async with member.searched(tmp_path / "search.db"):
        assert member.transport.loads["pods"] == 1


async def _equal(seen: list[str], wanted: list[str]) -> bool:
    return seen == wanted


async def _same(look: Callable[[], Awaitable[object]], wanted: list[str]) -> bool:
    return await look() == wanted
