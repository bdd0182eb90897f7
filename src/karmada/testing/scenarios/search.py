"""Watches of the global API while everything under them moves: members change, join, leave and are loaded anew,
karmada-search restarts from what it kept, connections break in the middle of a chunk.

A client that follows the protocol (list, watch, resume, list again after 410) sees every state of an object after the
one before, none twice, and in the end what is there.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any, NoReturn

import orjson

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.requests.model import Answer, Call
from karmada.apiserver.storage.base import Record, Snapshot
from karmada.apiserver.watchcache.keys import key_of
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.discovery import ApiResource
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.informers.cache import Room
from karmada.machinery.transport import EventType, GroupVersionResource, Request, WatchEvent, WatchStream
from karmada.search.access import Ask
from karmada.search.kinds import Kinds
from karmada.search.mirror import Mirror
from karmada.search.plan import Part
from karmada.search.reading import list_objects
from karmada.search.sources import Source, Sources
from karmada.search.watching import watch
from karmada.testing.loop import run_virtual
from karmada.testing.world import Broken

PODS = GroupVersionResource("", "v1", "pods")
SERVED = Kinds()(ApiResource(PODS, "Pod", True))
USER = UserInfo("admin")
STEPS = 60
CLUSTER = "resource.karmada.io/cached-from-cluster"


class NoTransport:
    """Fails whoever asks a member: the scenario feeds the mirrors itself."""

    async def send(self, request: Request) -> NoReturn:
        """Fail."""
        raise AssertionError(f"{request} is asked of a member")

    def watch(self, request: Request) -> AbstractAsyncContextManager[WatchStream]:
        """Fail."""
        raise AssertionError(f"{request} is asked of a member")

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> NoReturn:
        """Fail."""
        raise AssertionError(f"{method} {path} is asked of a member")

    async def close(self) -> None:
        """Nothing is open."""


class Member:
    """A cluster as its API server knows it, and what karmada-search has of it."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.revision = random.randrange(10, 1000)
        self.objects: dict[str, int] = {}
        self.mirror: Mirror | None = None
        self.kept: Snapshot | None = None
        self._log: list[tuple[int, WatchEvent]] = []
        self._sent = 0
        """How much of the log the mirror's watch has delivered."""

    def change(self) -> None:
        """One write."""
        self.revision += self.random.randrange(1, 4)
        name = self.random.choice("abcdef")
        known = name in self.objects
        if known and self.random.random() < 0.4:
            del self.objects[name]
            kind = EventType.DELETED
        else:
            self.objects[name] = self.revision
            kind = EventType.MODIFIED if known else EventType.ADDED
        self._log.append((self.revision, WatchEvent(kind, self._body(name, self.revision))))

    def deliver(self, most: int) -> None:
        """The watch brings some events."""
        if self.mirror is not None and self.mirror.loaded.is_set():
            events = [event for _, event in self._log[self._sent : self._sent + most]]
            self._sent += len(events)
            self.mirror._feed.apply(events)

    def load(self) -> None:
        """The mirror reads everything, for the first time or because its revision is gone."""
        assert self.mirror is not None
        feed = self.mirror._feed
        items = [feed.read(self._body(name, revision)) for name, revision in self.objects.items()]
        list(feed.replace(items, str(self.revision)))
        self._sent = len(self._log)
        self.mirror._first_load()

    def keep(self) -> None:
        """What the mirror has is written to the file."""
        if self.mirror is not None and self.mirror.loaded.is_set():
            store = self.mirror.store
            key, items = self.mirror.key, store.list(self.mirror.key).items
            records = [Record(key_of(key, item.namespace, item.name), item.body, item.revision) for item in items]
            self.kept = Snapshot(records, store.revision)

    async def start(self, loaded: Callable[[Mirror], None]) -> None:
        """A mirror begins with what was kept, or reads everything."""
        kept = self.kept

        async def resume(mirror: Mirror) -> Snapshot | None:
            return kept

        self.mirror = Mirror(self.name, SERVED, Client(NoTransport()), Part(), Room(), REAL, loaded, resume)
        await self.mirror._begin()
        if kept is None or self.random.random() < 0.1:  # nothing was kept, or the member has forgotten the revision
            self.load()
            return
        self._sent = sum(revision <= kept.revision for revision, _ in self._log)
        self.mirror._first_load()

    async def stop(self) -> None:
        """The mirror ends."""
        mirror, self.mirror = self.mirror, None
        assert mirror is not None
        mirror.leave()
        await mirror.store.stop()

    def _body(self, name: str, revision: int) -> bytes:
        metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": str(revision)}
        return orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"at": revision}})


class Fleet:
    """Stands for the caches and for the finder: everybody may read everything."""

    def __init__(self, seed: int, make: Callable[[str, Random], Member]) -> None:
        self.random = Random(f"search {seed}")
        self.members = [make(name, self.random) for name in ("m1", "m2", "m3")]
        self.listeners: list[Callable[[Mirror], None]] = []
        self.steps: list[str] = []
        self.restarts = 0

    def subscribe(self, type_: GroupVersionResource, joined: Callable[[Mirror], None]) -> Callable[[], None]:
        """As `Caches.subscribe`."""
        self.listeners.append(joined)
        return lambda: self.listeners.remove(joined) if joined in self.listeners else None

    async def sources(self, ask: Ask, mirrors: Sequence[Mirror] | None = None) -> Sources:
        """As `Finder.sources`."""
        known = [member.mirror for member in self.members if member.mirror is not None]
        chosen = known if mirrors is None else [mirror for mirror in mirrors if mirror in known]
        return Sources([Source(mirror) for mirror in chosen if mirror.loaded.is_set()])

    def joined(self, mirror: Mirror) -> None:
        """As `Caches._loaded`."""
        for listener in tuple(self.listeners):
            listener(mirror)

    async def step(self) -> None:
        """Something happens."""
        member, choice = self.random.choice(self.members), self.random.random()
        if choice < 0.45:
            member.change()
            self.steps.append(f"{member.name} is at {member.revision}")
        elif choice < 0.75:
            member.deliver(self.random.randrange(1, 4))
        elif choice < 0.83:
            member.keep()
            self.steps.append(f"{member.name} is kept")
        elif choice < 0.9:
            await self._come_or_go(member)
        elif choice < 0.95 and member.mirror is not None:
            member.load()
            self.steps.append(f"{member.name} is loaded again")
        elif choice >= 0.95:
            await self._restart()

    async def _come_or_go(self, member: Member) -> None:
        if member.mirror is None:
            self.steps.append(f"{member.name} joins")
            await member.start(self.joined)
        else:
            self.steps.append(f"{member.name} leaves")
            await member.stop()
            member.kept = None  # What leaves is not kept.

    async def _restart(self) -> None:
        self.steps.append("karmada-search restarts")
        self.restarts += 1
        self.listeners.clear()
        running = [member for member in self.members if member.mirror is not None]
        for member in running:
            await member.stop()
        for member in running:
            await member.start(self.joined)

    def truth(self) -> dict[tuple[str, str], int]:
        """What a client must have seen in the end."""
        return {
            (member.name, name): revision
            for member in self.members
            if member.mirror is not None
            for name, revision in member.objects.items()
        }


class Follower:
    """A client that lists, watches, resumes at its resourceVersion, and lists again after 410."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.seen: dict[tuple[str, str], int] = {}
        self.version = ""
        self.fault = ""

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                await self._watch()
            except Failure as failure:
                if failure.code != 410:
                    raise
                self.version = ""

    async def _watch(self) -> None:
        if not self.version:
            ask = Ask(USER, "list", PODS)
            answer = await list_objects(self.fleet, Call("list", SERVED, USER), ask)
            assert isinstance(answer, Answer)
            found = orjson.loads(answer.body)
            self.version = found["metadata"]["resourceVersion"]
            self.seen = {_place(item): item["spec"]["at"] for item in found["items"]}
        params = {"resourceVersion": self.version, "watch": "1", "allowWatchBookmarks": "true"}
        began = self.fleet.restarts
        call, ask = Call("watch", SERVED, USER, params=params), Ask(USER, "watch", PODS)
        opened = await watch(self.fleet, self.fleet, call, ask)
        chunks: Any = opened.chunks
        try:
            while self.fleet.restarts == began:
                try:
                    async with asyncio.timeout(0.5):
                        lines = (await anext(chunks)).splitlines()
                except TimeoutError:
                    continue
                except StopAsyncIteration:
                    return
                breaks = self.fleet.random.random() < 0.3
                for line in lines[: self.fleet.random.randrange(len(lines) + 1)] if breaks else lines:
                    self._apply(orjson.loads(line))
                if breaks:
                    return
        finally:
            await chunks.aclose()

    def _apply(self, event: dict[str, Any]) -> None:
        obj = event["object"]
        if event["type"] == "ERROR":
            raise Failure(obj["code"], obj["reason"], obj["message"])
        self.version = obj["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return
        place, at = _place(obj), obj["spec"]["at"]
        known = self.seen.get(place, 0)
        if event["type"] == "DELETED":
            if not known:
                self.fault = self.fault or f"{place} is deleted without having been there"
            self.seen.pop(place, None)
        else:
            if at <= known:
                self.fault = self.fault or f"{place} goes from {known} to {at}"
            self.seen[place] = at


def _place(obj: dict[str, Any]) -> tuple[str, str]:
    return obj["metadata"]["annotations"][CLUSTER], obj["metadata"]["name"]


def explore(seed: int, make: Callable[[str, Random], Member] = Member) -> list[str]:
    """Run one history; its steps. Raises `Broken` when a client saw an event lost, repeated or out of order."""
    fleet = Fleet(seed, make)
    problem = run_virtual(lambda: _history(fleet), seed)
    if problem:
        shown = "\n  ".join(fleet.steps[-40:])
        raise Broken(f"seed {seed}: search: {problem}\n  {shown}")
    return fleet.steps


async def _history(fleet: Fleet) -> str:
    for member in fleet.members:
        if fleet.random.random() < 0.7:
            await member.start(fleet.joined)
    follower = Follower(fleet)
    task = asyncio.create_task(follower.run())
    for _ in range(STEPS):
        await fleet.step()
        await asyncio.sleep(fleet.random.choice((0, 0, 0, 0.1, 1.0)))
    for member in fleet.members:
        member.deliver(1000)
    for _ in range(40):
        await asyncio.sleep(0.5)
        if task.done() or follower.seen == fleet.truth():
            break
    truth = fleet.truth()
    if task.done() and task.exception() is not None:
        return f"the client failed: {task.exception()!r}"
    task.cancel()
    await asyncio.wait([task])
    for member in fleet.members:
        if member.mirror is not None:
            await member.stop()
    if not follower.fault and follower.seen != truth:
        return f"the client sees {sorted(follower.seen.items())}, there is {sorted(truth.items())}"
    return follower.fault
