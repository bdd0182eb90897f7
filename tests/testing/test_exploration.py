"""The toolkit under faults: nothing breaks in many seeds, and five planted bugs are each found."""

import asyncio
import contextlib
import copy
import os
import subprocess
import sys

import pytest

from karmada.machinery.client import Client
from karmada.machinery.controller import DONE, Controller
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import EventType
from karmada.testing.faults import Faults
from karmada.testing.loop import Deadlock, VirtualClock, run_virtual
from karmada.testing.scenarios.mirror import (
    CONFIG_MAPS,
    MIRROR,
    Mirror,
    finalizers,
    scenario,
    with_finalizer,
)
from karmada.testing.world import Broken, Component, explore

SEEDS_PER_TEST = 20


@pytest.mark.parametrize("first", range(0, 200, SEEDS_PER_TEST), ids="seeds from {}".format)
def test_nothing_breaks_whatever_happens(first):
    for seed in range(first, first + SEEDS_PER_TEST):
        explore(scenario(), seed)


class WritesWithoutVersion(Mirror):
    """Puts the finalizer on with an unguarded PUT of what it saw."""

    async def hold(self, source):
        if MIRROR in finalizers(source):
            return source
        held = copy.deepcopy(with_finalizer(MIRROR, True)(source))
        held["metadata"].pop("resourceVersion")
        return await self.resource.update(held)


class ActsBeforeSync(Mirror):
    """Cleans up by a cache that it did not wait for."""

    def controller(self):
        return Controller("mirror", self.reconcile, clock=self.around.clock, random=self.around.random)

    async def reconcile(self, name):
        if not self.sources.has_synced:
            if Key("source", name) not in self.sources._cache.items:
                await self.resource.delete(name, "target")
            return DONE
        if not self.copies.has_synced:
            await self.copies.synced()
        return await super().reconcile(name)


class LosesEvents:
    """A transport that leaves out an event now and then."""

    def __init__(self, inner, random):
        self._inner = inner
        self._random = random

    def __getattr__(self, name):
        return getattr(self._inner, name)

    @contextlib.asynccontextmanager
    async def watch(self, request):
        async with self._inner.watch(request) as stream:
            yield self._lossy(stream)

    async def _lossy(self, stream):
        async for batch in stream:
            yield [event for event in batch if event.type is EventType.BOOKMARK or self._random.random() > 0.1]


class DropsEvents(Mirror):
    """Follows its collections through a transport that loses events."""

    def __init__(self, around):
        lossy = LosesEvents(around.client.transport, around.random)
        super().__init__(around._replace(client=Client(lossy, field_manager="mirror")))


class ReplacesLists(Mirror):
    """Writes the whole list of finalizers as it saw it, without saying which state that was."""

    async def hold(self, source):
        if MIRROR in finalizers(source):
            return source
        patch = {"metadata": {"finalizers": [*finalizers(source), MIRROR]}}
        return await self.resource.patch(source["metadata"]["name"], patch, "source")


class LetsGoTooEarly(Mirror):
    """Removes its finalizer before the copy."""

    async def finish(self, source):
        if MIRROR in finalizers(source):
            await self.committer.commit(source, with_finalizer(MIRROR, False))
            await self.remove_copy(source)
        return DONE


BUGS = [
    (WritesWithoutVersion, "no update of the user is undone"),
    (ActsBeforeSync, "a copy goes only when its source goes"),
    (DropsEvents, "in the end sources and copies agree"),
    (ReplacesLists, "nobody removes another's finalizer"),
    (LetsGoTooEarly, "a source goes only after its copy"),
]


def first_failure(mirror, rule, seeds=1000):
    for seed in range(seeds):
        try:
            explore(scenario(mirror), seed)
        except Broken as broken:
            if str(broken).startswith(f"seed {seed}: {rule}: "):
                return seed, str(broken)
    return None


@pytest.mark.parametrize(("bug", "rule"), BUGS, ids=[bug.__name__ for bug, _ in BUGS])
def test_a_planted_bug_is_found_and_its_seed_replays_exactly(bug, rule):
    found = first_failure(bug, rule)
    assert found is not None
    seed, message = found
    with pytest.raises(Broken) as again:
        explore(scenario(bug), seed)
    assert str(again.value) == message


def test_a_seed_takes_the_same_steps_in_every_process():
    program = (
        "import logging; logging.disable(logging.CRITICAL)\n"
        "from karmada.testing.scenarios.mirror import scenario\n"
        "from karmada.testing.world import explore\n"
        "print('\\n'.join(explore(scenario(), 7)))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert b"configmaps" in outputs[0]


def test_different_seeds_take_different_steps():
    assert explore(scenario(), 1) != explore(scenario(), 2)


def test_time_passes_only_when_nothing_can_run():
    async def main():
        before = asyncio.get_running_loop().time()
        await asyncio.sleep(3600)
        assert asyncio.get_running_loop().time() - before == 3600
        assert VirtualClock().now() == 1_700_003_600

    run_virtual(main)


def test_a_program_that_can_never_go_on_is_distinguished_from_a_slow_one():
    async def main():
        await asyncio.Event().wait()

    with pytest.raises(Deadlock, match="main"):
        run_virtual(main)


def test_the_order_of_tasks_depends_on_the_seed_alone():
    async def main():
        order = []

        async def step(name):
            for _ in range(3):
                await asyncio.sleep(0)
                order.append(name)

        await asyncio.gather(*map(step, "abcd"))
        return "".join(order)

    orders = {run_virtual(main, seed) for seed in range(20)}
    assert len(orders) > 5
    assert run_virtual(main, 3) == run_virtual(main, 3)


def test_a_component_that_fails_breaks_the_world():
    async def fail(around):
        raise ValueError("bug")

    async def story(world):
        world.start(Component("fragile", fail))
        await world.calm(10)

    with pytest.raises(Broken, match=r"seed 3: components do not fail by themselves: fragile: ValueError"):
        explore(story, 3)


def test_a_crashed_component_starts_again_and_its_remains_have_no_effect():
    starts = []

    async def run(around):
        starts.append(around.clock.monotonic())
        maps = around.client.resource(CONFIG_MAPS)
        try:
            with contextlib.suppress(ApiError):
                await maps.create({"metadata": {"name": f"m{len(starts)}", "namespace": "default"}})
            await asyncio.Event().wait()
        finally:
            if len(starts) == 1:
                with contextlib.suppress(ApiError):
                    await maps.create({"metadata": {"name": "ghost", "namespace": "default"}})

    async def story(world):
        world.faults = Faults(crash=1.0)
        world.start(Component("mortal", run))
        await world.clock.sleep(0.05)
        await world.calm(20)
        assert world.object(CONFIG_MAPS, "ghost", "default") is None
        assert world.object(CONFIG_MAPS, "m2", "default") is not None

    explore(story, 1)
    assert len(starts) == 2
