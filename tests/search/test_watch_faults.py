"""Clients that follow the protocol see the truth in the end, whatever comes in between: seeded histories.

Members change, join, leave and are loaded anew; connections break in the middle of a chunk and are resumed.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import orjson
import pytest
from tests.search.world import PODS

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.requests.model import Answer, Call
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.discovery import ApiResource
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.informers.cache import Room
from karmada.machinery.transport import EventType, WatchEvent
from karmada.search.kinds import Kinds
from karmada.search.mirror import Mirror
from karmada.search.reading import list_objects
from karmada.search.sources import Ask, Source, Sources
from karmada.search.watching import watch

SERVED = Kinds()(ApiResource(PODS, "Pod", True))
USER = UserInfo("admin")
STEPS = 40


class Member:
    """A cluster as its API server knows it."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.revision = random.randrange(10, 1000)
        self.objects: dict[str, int] = {}
        self.mirror: Mirror | None = None
        self._random = random

    def body(self, name: str, revision: int) -> bytes:
        metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(revision)}
        return orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})

    def change(self) -> None:
        """One write, which the mirror hears of."""
        self.revision += self._random.randrange(1, 4)
        name = self._random.choice("abcdef")
        if name in self.objects and self._random.random() < 0.4:
            del self.objects[name]
            event = WatchEvent(EventType.DELETED, self.body(name, self.revision))
        else:
            kind = EventType.MODIFIED if name in self.objects else EventType.ADDED
            self.objects[name] = self.revision
            event = WatchEvent(kind, self.body(name, self.revision))
        if self.mirror is not None and self.mirror.loaded.is_set():
            self.mirror._feed.apply([event])

    def load(self) -> None:
        """The mirror reads everything, for the first time or because it lost the thread."""
        assert self.mirror is not None
        feed = self.mirror._feed
        items = [feed.read(self.body(name, revision)) for name, revision in self.objects.items()]
        list(feed.replace(items, str(self.revision)))
        self.mirror._first_load()


class Fleet:
    """Stands for the caches and for the finder: everybody may read everything."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.members = {name: Member(name, self.random) for name in ("m1", "m2", "m3")}
        self.listeners: list[Callable[[Mirror], None]] = []

    def subscribe(self, type_: object, joined: Callable[[Mirror], None]) -> Callable[[], None]:
        self.listeners.append(joined)
        return lambda: self.listeners.remove(joined)

    async def sources(self, ask: Ask, mirrors: list[Mirror] | None = None) -> Sources:
        known = [member.mirror for member in self.members.values() if member.mirror is not None]
        asked = known if mirrors is None else [mirror for mirror in mirrors if mirror in known]
        return Sources([Source(mirror) for mirror in asked if mirror.loaded.is_set()])

    async def join(self, member: Member) -> None:
        client = Client(None)  # type: ignore[arg-type]  # nothing is asked of the member here
        member.mirror = Mirror(member.name, SERVED, client, frozenset(), Room(), REAL, self._loaded)
        await member.mirror.store.start()
        member.load()

    async def leave(self, member: Member) -> None:
        mirror, member.mirror = member.mirror, None
        assert mirror is not None
        mirror.leave()
        await mirror.store.stop()

    def _loaded(self, mirror: Mirror) -> None:
        for joined in tuple(self.listeners):
            joined(mirror)

    def truth(self) -> dict[tuple[str, str], int]:
        return {
            (member.name, name): revision
            for member in self.members.values()
            if member.mirror is not None
            for name, revision in member.objects.items()
        }


class Follower:
    """A client: lists, watches, resumes where it was, and lists again when told to."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.seen: dict[tuple[str, str], int] = {}
        self.version = ""
        self.lists = 0

    async def run(self) -> None:
        while True:
            try:
                await self._watch()
            except Failure as failure:
                if failure.code != 410:
                    raise
                self.version = ""

    async def _list(self) -> None:
        self.lists += 1
        ask = Ask(USER, "list", PODS)
        answer = await list_objects(self.fleet, Call("list", SERVED, USER), ask)  # type: ignore[arg-type]
        assert isinstance(answer, Answer)
        found = orjson.loads(answer.body)
        self.version = found["metadata"]["resourceVersion"]
        self.seen = {_place(item): int(item["metadata"]["resourceVersion"]) for item in found["items"]}

    async def _watch(self) -> None:
        if not self.version:
            await self._list()
        params = {"resourceVersion": self.version, "watch": "1", "allowWatchBookmarks": "true"}
        call = Call("watch", SERVED, USER, params=params)
        opened = await watch(self.fleet, self.fleet, call, Ask(USER, "watch", PODS))  # type: ignore[arg-type]
        try:
            async for chunk in opened.chunks:
                lines = chunk.splitlines()
                breaks = self.fleet.random.random() < 0.3
                for line in lines[: self.fleet.random.randrange(len(lines) + 1)] if breaks else lines:
                    self._apply(orjson.loads(line))
                if breaks:
                    return
        finally:
            await opened.chunks.aclose()  # type: ignore[attr-defined]

    def _apply(self, event: dict[str, Any]) -> None:
        obj = event["object"]
        if event["type"] == "ERROR":
            raise Failure(obj["code"], obj["reason"], obj["message"])
        self.version = obj["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return
        if event["type"] == "DELETED":
            self.seen.pop(_place(obj), None)
        else:
            self.seen[_place(obj)] = -1


def _place(obj: dict[str, Any]) -> tuple[str, str]:
    return obj["metadata"]["annotations"]["resource.karmada.io/cached-from-cluster"], obj["metadata"]["name"]


async def _history(seed: int) -> None:
    fleet = Fleet(seed)
    for member in fleet.members.values():
        if fleet.random.random() < 0.7:
            await fleet.join(member)
    follower = Follower(fleet)
    task = asyncio.create_task(follower.run())
    for _ in range(STEPS):
        member = fleet.random.choice(list(fleet.members.values()))
        choice = fleet.random.random()
        if choice < 0.75:
            member.change()
        elif choice < 0.85:
            await (fleet.leave(member) if member.mirror is not None else fleet.join(member))
        elif choice < 0.9 and member.mirror is not None:
            member.load()
        for _ in range(fleet.random.randrange(6)):
            await asyncio.sleep(0)
    for _ in range(300):
        await asyncio.sleep(0)
        if task.done() or follower.seen.keys() == fleet.truth().keys():
            break
    if task.done():
        task.result()
    assert follower.seen.keys() == fleet.truth().keys(), f"seed {seed}"
    task.cancel()
    await asyncio.wait([task])
    for member in fleet.members.values():
        if member.mirror is not None:
            await fleet.leave(member)


@pytest.mark.parametrize("part", range(10))
async def test_clients_see_the_truth_in_the_end(part: int) -> None:
    for seed in range(part * 100, (part + 1) * 100):
        await _history(seed)
