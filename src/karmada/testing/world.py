"""A world in one process: embedded API servers in memory, components that can crash and be cut off, virtual time.

async def scenario(world: World) -> None:
    world.check("never two copies", two_copies)          # asked after every committed change
    world.start(Component("mirror", run_mirror))          # restarted when it crashes
    await world.storm(60)                                 # faults for a virtual minute
    await world.calm(120)                                 # then time to settle

explore(scenario, seed=7)                                 # raises Broken; the same seed breaks in the same way

Most worlds have one server, the hub. Others may have more, members say; every component has a link of its own to each
server it uses, and each link fails by itself.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from random import Random
from typing import Any, NamedTuple

import orjson

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.apiserver.watchcache import StoreEvent
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject, Transport
from karmada.testing.blueprint import PLAIN, Blueprint
from karmada.testing.faults import CALM, STORMY, Faults, FaultyTransport
from karmada.testing.loop import VirtualClock, run_virtual
from karmada.testing.unexpected import UnexpectedFailures

HUB = "hub"
RESTART = (0.1, 5.0)
"""Seconds between a crash and the new start."""
THOROUGH = 20
"""Worlds between two full garbage collections."""
SHOWN = 40
"""Steps shown of a broken world."""


class Broken(AssertionError):
    """A world broke one of its rules; the message has the seed, the rule and the last steps."""


class Surroundings(NamedTuple):
    """What a component gets: nothing that would show it a simulation."""

    client: Client
    """To the hub."""
    clock: Clock
    random: Random
    link: Callable[[str], Transport]
    """To any server, by its name."""


@dataclass(frozen=True, slots=True)
class Component:
    """A process: a function that runs until it is cancelled."""

    name: str
    run: Callable[[Surroundings], Awaitable[None]]
    user: UserInfo = ADMIN
    """Who it is to the hub; to other servers it is an administrator, as whoever has a member's Secret is."""


class Step:
    """One committed change. Its objects are decoded when a rule looks at them: most steps are no rule's business."""

    def __init__(self, server: str, kind: tuple[str, str], event: StoreEvent) -> None:
        self.server = server
        self.kind = kind
        """Group and plural of the collection."""
        self.type: EventType = event.type
        self._event = event

    @cached_property
    def object(self) -> JSONObject:
        """The state after the change; the last state for a deletion."""
        tree: JSONObject = orjson.loads(self._event.item.body)
        return tree

    @cached_property
    def previous(self) -> JSONObject | None:
        """The state before the change."""
        before = self._event.previous
        return None if before is None else orjson.loads(before.body)


Rule = Callable[[Step], str | None]
"""What is wrong after a step; None when nothing is."""

Scenario = Callable[["World"], Coroutine[Any, Any, None]]


class World:
    """Servers and the components that use them."""

    def __init__(self, servers: Mapping[str, ApiServer], seed: int) -> None:
        self._servers = servers
        self.seed = seed
        self.random = Random(f"world {seed}")
        self.clock = VirtualClock()
        self.faults: Faults = CALM
        self.trace: list[str] = []
        """One line per committed change, crash and partition."""
        self._rules: list[tuple[str, Rule]] = []
        self._components: dict[str, Component] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._links: dict[tuple[str, str], FaultyTransport] = {}
        """By component and server."""
        self._outages: dict[tuple[str, str], bool] = {}
        """By component and server: whether requests still arrive, and only answers are lost."""
        self._incarnations: dict[str, int] = {}
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for name, server in servers.items():
            server.store.subscribe(partial(self._committed, name))

    # What a scenario uses.

    def client(self, name: str = "observer", server: str = HUB) -> Client:
        """A client without faults."""
        return Client(self._servers[server].direct(agent=name), field_manager=name)

    def check(self, name: str, rule: Rule) -> None:
        """Ask a rule after every committed change."""
        self._rules.append((name, rule))

    def objects(self, type_: GroupVersionResource, namespace: str = "", server: str = HUB) -> list[JSONObject]:
        """All objects of a collection right now, without waiting."""
        page = self._servers[server].store.list((type_.group, type_.resource), namespace)
        return [orjson.loads(item.body) for item in page.items]

    def object(
        self, type_: GroupVersionResource, name: str, namespace: str = "", server: str = HUB
    ) -> JSONObject | None:
        """One object right now, without waiting."""
        item = self._servers[server].store.get((type_.group, type_.resource), namespace, name)
        return None if item is None else orjson.loads(item.body)

    def start(self, component: Component) -> None:
        """Run a component; when it crashes it starts again."""
        self._components[component.name] = component
        self._spawn(component)

    async def storm(self, seconds: float, faults: Faults = STORMY) -> None:
        """Let faults happen for some time, crashes and partitions among them."""
        self.faults = faults
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            await self.clock.sleep(self.random.uniform(0.5, 10.0))
            if self._links and self.random.random() < 0.2:
                self._partition(*self.random.choice(sorted(self._links)))
        self.faults = CALM

    async def calm(self, seconds: float) -> None:
        """No faults for some time."""
        self.faults = CALM
        for link in self._links.values():
            link.partitioned = False
        await self.clock.sleep(seconds)

    def cut(self, component: str, server: str) -> Callable[[], None]:
        """Cut a component off from a server; the function that ends it."""
        link = self._links[component, server]
        self._note(f"{component} is cut off from {server}")
        link.partitioned = True

        def heal() -> None:
            link.partitioned = False
            self._note(f"{component} reaches {server} again")

        return heal

    def linked(self, server: str) -> list[str]:
        """The components that use a server."""
        return [component for component, used in self._links if used == server]

    def outage(self, component: str, server: str, one_way: bool = False) -> Callable[[], None]:
        """Have a component lose a server, through its crashes as well; the function that ends it.

        One way: what it asks for still takes effect, and it never hears of it.
        """
        self._note(f"{component} loses {'answers of ' if one_way else ''}{server}")
        self._outages[component, server] = one_way
        self._apply_outage(component, server)

        def heal() -> None:
            self._outages.pop((component, server), None)
            self._apply_outage(component, server)
            self._note(f"{component} has {server} again")

        return heal

    def _apply_outage(self, component: str, server: str) -> None:
        link, one_way = self._links.get((component, server)), self._outages.get((component, server))
        if link is not None:
            link.partitioned, link.deaf = one_way is False, one_way is True

    def background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something of the scenario's own at the same time; it ends with the world."""
        task = asyncio.get_running_loop().create_task(work)
        self._running[f"background {len(self._running)}"] = task
        return task

    def fail(self, rule: str, what: str) -> None:
        """Declare the world broken."""
        if not self._broken.done():
            steps = "\n  ".join(self.trace[-SHOWN:])
            self._broken.set_exception(Broken(f"seed {self.seed}: {rule}: {what}\n  {steps}"))

    # What happens behind the scenes.

    async def live(self, scenario: Scenario) -> None:
        """Run a scenario to its end, or until a rule is broken."""
        script = asyncio.get_running_loop().create_task(scenario(self), name="scenario")
        try:
            await asyncio.wait({script, self._broken}, return_when=asyncio.FIRST_COMPLETED)
            if self._broken.done():
                self._broken.result()
            script.result()
            if self._broken.done():
                self._broken.result()
        finally:
            await self._end(script)
            if self._broken.done():
                self._broken.exception()

    async def _end(self, script: asyncio.Task[None]) -> None:
        for link in self._links.values():
            link.dead = True
        tasks = [script, *self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _spawn(self, component: Component) -> None:
        name = component.name
        number = self._incarnations[name] = self._incarnations.get(name, 0) + 1
        links: dict[str, Transport] = {}

        def link(server: str) -> Transport:
            if server not in links:
                links[server] = self._link(name, number, server)
            return links[server]

        surroundings = Surroundings(
            Client(link(HUB), field_manager=name), self.clock, Random(f"{name} {number} {self.seed} own"), link
        )
        self._note(f"{name} starts ({number})")
        task = asyncio.get_running_loop().create_task(self._run(component, surroundings), name=name)
        self._running[name] = task

    def _link(self, name: str, number: int, server: str) -> FaultyTransport:
        random = Random(f"{name} {number} {server} {self.seed}")
        user = self._components[name].user if server == HUB else ADMIN
        inner = self._servers[server].direct(user, name)
        link = FaultyTransport(inner, lambda: self.faults, random, lambda: self._crash(name))
        before = self._links.get((name, server))
        if before is not None:
            link.remember(before)
        self._links[name, server] = link
        self._apply_outage(name, server)
        return link

    async def _run(self, component: Component, surroundings: Surroundings) -> None:
        try:
            await component.run(surroundings)
        except Exception as error:
            self.fail("components do not fail by themselves", f"{component.name}: {error!r}")

    def _crash(self, name: str) -> None:
        self._note(f"{name} crashes")
        for (owner, _), link in self._links.items():
            link.dead = link.dead or owner == name
        self._running[name].cancel()
        component = self._components[name]
        self.clock.call_later(self.random.uniform(*RESTART), lambda: self._revive(component))

    def _revive(self, component: Component) -> None:
        if not self._broken.done():
            self._spawn(component)

    def _partition(self, name: str, server: str) -> None:
        self.clock.call_later(self.random.uniform(1.0, 20.0), self.cut(name, server))

    def _committed(self, server: str, kind: tuple[str, str], event: StoreEvent) -> None:
        item = event.item
        self._note(f"{server}: {event.type} {kind[1]} {item.namespace}/{item.name} at {item.revision}")
        if not self._rules or self._broken.done():
            return
        step = Step(server, kind, event)
        for name, rule in self._rules:
            problem = rule(step)
            if problem:
                self.fail(name, problem)

    def _note(self, text: str) -> None:
        self.trace.append(f"{self.clock.monotonic():9.3f} {text}")


ONE_SERVER: Mapping[str, Blueprint] = {HUB: PLAIN}


def explore(scenario: Scenario, seed: int, servers: Mapping[str, Blueprint] = ONE_SERVER) -> list[str]:
    """Run a scenario in a new world; the steps it took. The same seed takes the same steps."""

    async def main() -> list[str]:
        async with AsyncExitStack() as stack:
            running = {name: await stack.enter_async_context(made.server()) for name, made in servers.items()}
            world = World(running, seed)
            with UnexpectedFailures(partial(world.fail, "nothing fails that a retry hides")).listening():
                await world.live(scenario)
            return world.trace

    for blueprint in servers.values():
        blueprint.prepare()
    with _collecting_at_the_end():
        return run_virtual(main, seed)


_worlds = count(1)


@contextmanager
def _collecting_at_the_end() -> Iterator[None]:
    """A world is full of cycles that live as long as it does: looking for garbage meanwhile costs a quarter more.

    What a world leaves is collected right after it, without a look at anything older; now and then all of it, as logs
    may have kept parts of earlier worlds alive.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect(0 if next(_worlds) % THOROUGH else 2)
