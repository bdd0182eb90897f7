import asyncio
import itertools
import logging
from collections import Counter
from random import Random

import pytest

from karmada.machinery.codec import TREE
from karmada.machinery.controller import DONE, MANY, Controller, GiveUp, RequeueAfter, Retry, own_key
from karmada.machinery.errors import Conflict
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource
from karmada.machinery.workqueue.queue import Priority
from karmada.testing.loop import VirtualClock, run_virtual

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


def start(reconcile, **options):
    controller = Controller("test", reconcile, clock=VirtualClock(), random=Random(1), **options)
    task = asyncio.get_running_loop().create_task(controller.run())
    return controller, task


@pytest.mark.parametrize(
    ("result", "times", "counted"),
    [
        (DONE, [0.0], "success"),
        (RequeueAfter(10), [0.0, 10.0, 20.0], "requeue_after"),
        (GiveUp("no such class"), [0.0], "given_up"),
    ],
    ids=["done", "requeue after", "give up"],
)
def test_the_result_decides_when_the_key_comes_again(result, times, counted):
    async def main():
        seen = []

        async def reconcile(key):
            seen.append(asyncio.get_running_loop().time())
            return result

        controller, _ = start(reconcile)
        controller.enqueue("a")
        await asyncio.sleep(25)
        assert seen == times
        assert controller.results[counted] == len(times)

    run_virtual(main)


@pytest.mark.parametrize(
    "failure",
    [Retry("not ready"), ValueError("bug"), Conflict("changed"), "hang"],
    ids=["retry", "bug", "conflict", "hang"],
)
def test_a_failing_key_is_retried_with_growing_pauses_and_disturbs_no_other(failure, failures):
    async def main():
        attempts, others = [], []

        async def reconcile(key):
            if key != "bad":
                others.append(key)
                return DONE
            attempts.append(asyncio.get_running_loop().time())
            if failure == "hang":
                await asyncio.Event().wait()
            if isinstance(failure, Exception):
                raise failure
            return failure

        controller, task = start(reconcile, workers=1, deadline=1)
        controller.enqueue("bad")
        for number in range(50):
            controller.enqueue(number)
        await asyncio.sleep(30)
        assert others == list(range(50))
        pauses = [after - before for before, after in itertools.pairwise(attempts)]
        assert len(attempts) >= 5
        assert pauses == sorted(pauses)
        assert not task.done()

    run_virtual(main)


def test_a_slow_cluster_keeps_only_its_share_of_the_workers():
    async def main():
        finished = []

        async def reconcile(key):
            if key[0] == "slow":
                await asyncio.sleep(1000)
            finished.append(key)
            return DONE

        controller, _ = start(reconcile, workers=4, lane=lambda key: key[0], lane_limit=2, deadline=5000)
        for number in range(10):
            controller.enqueue(("slow", number))
        for number in range(10):
            controller.enqueue(("fast", number))
        await asyncio.sleep(1)
        assert [key for key in finished if key[0] == "fast"] == [("fast", number) for number in range(10)]

    run_virtual(main)


@pytest.mark.parametrize("priority", [Priority.NORMAL, Priority.INITIAL], ids=["fresh", "first load"])
def test_slow_clusters_delay_no_other_however_many_there_are(priority):
    async def main():
        finished, most = [], Counter()

        async def reconcile(key):
            cluster, number = key
            if cluster == "fast":
                finished.append(number)
                return DONE
            most[cluster] += 1
            await asyncio.sleep(1000)
            return DONE

        controller, _ = start(reconcile, workers=4, lane=lambda key: key[0], lane_limit=3, deadline=5000)
        for number in range(20):
            for cluster in range(10):
                controller.enqueue((cluster, number), priority)
        await asyncio.sleep(0.1)
        for number in range(10):
            controller.enqueue(("fast", number), priority)
        await asyncio.sleep(15)
        assert finished == list(range(10))
        await asyncio.sleep(100)
        assert most == dict.fromkeys(range(10), 3)

    run_virtual(main)


def test_there_are_no_more_workers_than_usual_once_slow_keys_are_done():
    async def main():
        running, most = 0, 0

        async def reconcile(key):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(10 if key[0] == "slow" else 0.5)
            running -= 1
            return DONE

        controller, _ = start(reconcile, workers=2, lane=lambda key: key[0], lane_limit=2)
        for number in range(2):
            controller.enqueue(("slow", number))
        await asyncio.sleep(5)
        controller.enqueue(("other", 0))
        await asyncio.sleep(0.1)
        assert running == 3
        await asyncio.sleep(30)
        most = 0
        for number in range(20):
            controller.enqueue((number, 0))
        await asyncio.sleep(30)
        assert most == 2

    run_virtual(main)


def test_nothing_is_reconciled_before_the_informers_it_needs_have_synced(server):
    async def main():
        seen = []

        async def reconcile(key):
            seen.append(informer.get(key.name, key.namespace))
            return DONE

        server.put(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
        informer = Informer(server, CONFIG_MAPS, TREE, clock=VirtualClock(), random=Random(1))
        controller, _ = start(reconcile, needs=[informer])
        controller.watch(informer, own_key)
        await asyncio.sleep(60)
        assert seen == []
        following = asyncio.create_task(informer.run())
        await asyncio.sleep(1)
        assert len(seen) == 1
        following.cancel()

    run_virtual(main)


def test_slow_reconciles_are_logged(caplog):
    async def main():
        async def reconcile(key):
            await asyncio.sleep(7)
            return DONE

        controller, _ = start(reconcile, slow_after=5)
        controller.enqueue("tortoise")
        await asyncio.sleep(10)

    with caplog.at_level(logging.WARNING):
        run_virtual(main)
    assert "test took 7.0 s for tortoise" in caplog.text


def test_workers_that_never_wait_let_others_run():
    async def main():
        async def reconcile(key):
            return DONE

        controller = Controller("busy", reconcile, workers=1)
        for key in range(20_000):
            controller.enqueue(key)
        task = asyncio.create_task(controller.run())
        turns = 0
        while len(controller.queue):
            await asyncio.sleep(0)
            turns += 1
        task.cancel()
        return turns

    assert asyncio.run(main()) > 2


def test_many_keys_are_added_with_turns_for_others_in_between():
    async def main():
        controller = Controller("many", None, lane=lambda key: key % 3)
        controller.enqueue_all(range(5 * MANY))
        added = [len(controller.queue)]
        while len(controller.queue) < 5 * MANY:
            await asyncio.sleep(0)
            added.append(len(controller.queue))
        return added

    assert asyncio.run(main()) == [MANY * times for times in range(1, 6)]
