"""Leaders that are cut off from the API server, and clocks that are set, on the real engine: who writes, leads."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.engine.world import Counting, deployment
from tests.federation.conftest import Federation

from karmada.machinery.client import Client
from karmada.machinery.clock import LoopClock
from karmada.machinery.errors import ApiError
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.leader import LEASES, LeaderElector, LeadershipLost, Timing
from karmada.machinery.resource import Scope
from karmada.testing.stage.federation import CONTROLLERS, SCHEDULER, Stage, eventually
from karmada.testing.stage.line import Line

from .conftest import CONFIG_MAPS, DEPLOYMENTS, POLICIES, PUSHED
from .steps import PATIENCE, arrive, holder, policy
from .test_takeover import generations

TIMING = Timing(lease=3.0, renew_deadline=2.0, retry=0.4)
STORM = 30.0
JUMPS = (-86_400.0, 0.0, 86_400.0, 3650 * 86_400.0)


@pytest.mark.parametrize("program", [CONTROLLERS, SCHEDULER])
@pytest.mark.parametrize("answers_only", [False, True], ids=["nothing passes", "answers are lost"])
async def test_a_leader_that_is_cut_off_ends_and_no_write_of_it_lands(
    stage: Stage, federation: Federation, program: str, answers_only: bool
) -> None:
    hub, first = federation.hub, stage.components[program]
    async with Line(stage.hub.port) as line:
        before = await eventually(lambda: holder(hub, program), PATIENCE)
        await first.end()
        leader = await stage.start(program, endpoint=line.endpoint)

        async def another_than(known: str) -> str:
            found = await holder(hub, program)
            return found if found != known else ""

        cut_off = await eventually(lambda: another_than(before), PATIENCE)
        assert f"_{leader.pid}_" in cut_off
        successor = stage.components[program] = await stage.start(program)
        await hub.resource(POLICIES).create(policy(*PUSHED))
        apps = [f"app-{number}" for number in range(10)]
        async with Counting(federation.members["member1"], DEPLOYMENTS) as counting:
            await hub.resource(DEPLOYMENTS).create(deployment(apps[0]))
            await arrive(federation.members, apps[0])
            restarts = leader.restarts
            for name in apps[1:5]:  # They are in its hands when the line is cut.
                await hub.resource(DEPLOYMENTS).create(deployment(name))
            line.cut(answers_only=answers_only)
            for name in apps[5:]:
                await hub.resource(DEPLOYMENTS).create(deployment(name))
            leads = await eventually(lambda: another_than(cut_off), PATIENCE)
            assert f"_{successor.pid}_" in leads
            await arrive(federation.members, *apps)
            decided = await generations(hub)

            async def ended() -> bool:
                return leader.restarts > restarts

            await eventually(ended, PATIENCE)
            line.mend()
            await leader.healthy()
            assert await holder(hub, program) == leads
            assert await generations(hub) == decided
            assert counting.comings == {("ADDED", f"default/{name}"): 1 for name in apps}
            assert set(counting.generations.values()) == {1}
        await leader.end()


class JumpingClock(LoopClock):
    """Somebody sets the clock while time itself goes on."""

    offset = 0.0

    def now(self) -> float:
        return super().now() + self.offset


class Candidate:
    """Writes its name into a journal while it leads, and takes it out again; nothing but the fence guards it."""

    def __init__(self, name: str, target: Target) -> None:
        self.name, self.clock = name, JumpingClock()
        self._client = Client(HttpTransport(target))
        self._elector = LeaderElector(self._client, "drill", "default", name, timing=TIMING, clock=self.clock)
        self._journal = Client(self._elector.fenced(self._client.transport)).resource(CONFIG_MAPS)
        self.terms = 0

    async def run(self) -> None:
        try:
            while True:
                with contextlib.suppress(LeadershipLost):
                    await self._elector.run(self._write)
        finally:
            await self._client.close()

    async def _write(self) -> None:
        self.terms += 1
        while True:
            with contextlib.suppress(ApiError):
                await self._journal.patch("journal", {"data": {"writer": self.name}}, "default")
                await self._journal.patch("journal", {"data": {"writer": None}}, "default")
            await asyncio.sleep(0.05)


async def test_whoever_writes_leads_whatever_is_cut_and_whatever_the_clocks_say(stage: Stage) -> None:
    """The soak's leadership scenario on the real engine: by the order of etcd, no write is out of its writer's term."""
    hub, chance = stage.client, random.Random(28)
    journal = await hub.resource(CONFIG_MAPS).create(
        {"metadata": {"name": "journal", "namespace": "default"}}, "default"
    )
    history: list[tuple[int, str, str]] = []
    admin, names = load([stage.hub.kubeconfig]).target(), ("one", "two", "three")
    tasks: list[asyncio.Task[None]] = []
    try:
        async with contextlib.AsyncExitStack() as stack:
            since = journal["metadata"]["resourceVersion"]
            for type_, reader in ((LEASES, _holder_of), (CONFIG_MAPS, _writer_of)):
                tasks.append(asyncio.create_task(_follow(hub, type_, since, reader, history)))
            lines, candidates = [], []
            for name in names:
                lines.append(await stack.enter_async_context(Line(stage.hub.port)))
                candidates.append(Candidate(name, admin._replace(server=lines[-1].endpoint)))
                tasks.append(asyncio.create_task(candidates[-1].run()))
            until = asyncio.get_running_loop().time() + STORM
            while asyncio.get_running_loop().time() < until:
                line, candidate = chance.choice(lines), chance.choice(candidates)
                candidate.clock.offset = chance.choice(JUMPS)
                line.cut(answers_only=chance.random() < 0.5)
                await asyncio.sleep(chance.uniform(0.5, 5.0))
                line.mend()
                await asyncio.sleep(chance.uniform(0.0, 2.0))
            await asyncio.sleep(TIMING.lease)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await hub.resource(CONFIG_MAPS).delete("journal", "default")
        await hub.resource(LEASES).delete("drill", "default")
    leader, terms, writes = "", 0, 0
    for _, what, who in sorted(history):
        if what == "lease":
            terms += who not in ("", leader)
            leader = who
        elif who:
            writes += 1
            assert who == leader, f"{who} wrote while {leader or 'nobody'} led: {sorted(history)[-50:]}"
    assert terms >= 3
    assert writes >= 50


def _holder_of(tree: dict[str, Any]) -> tuple[str, str]:
    return "lease", str((tree.get("spec") or {}).get("holderIdentity") or "")


def _writer_of(tree: dict[str, Any]) -> tuple[str, str]:
    return "journal", str((tree.get("data") or {}).get("writer") or "")


async def _follow(
    hub: Client,
    type_: Any,
    since: str,
    reader: Callable[[dict[str, Any]], tuple[str, str]],
    history: list[tuple[int, str, str]],
) -> None:
    """Write down what an object says in the order in which etcd committed it."""
    scope = Scope("default", fields=f"metadata.name={'drill' if type_ is LEASES else 'journal'}")
    async with hub.resource(type_).watch(scope, since) as events:
        async for batch in events:
            trees = [event.object for event in batch]
            history += [(int(tree["metadata"]["resourceVersion"]), *reader(tree)) for tree in trees]
