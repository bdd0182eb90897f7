import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.workqueue.lanes import LEAST_TURN, Lanes
from karmada.machinery.workqueue.queue import Priority, QueueClosed, WorkQueue
from karmada.testing.loop import VirtualClock, run_virtual


def queue(**options):
    return WorkQueue("test", clock=VirtualClock(), random=Random(1), **options)


async def drain(work):
    taken = []
    while len(work):
        key = await work.get()
        work.done(key)
        taken.append(key)
    return taken


def test_a_key_added_many_times_is_taken_once():
    async def main():
        work = queue()
        for _ in range(10):
            work.add("a")
        assert await drain(work) == ["a"]
        assert work.adds == 1

    run_virtual(main)


def test_a_key_in_process_comes_again_only_after_done():
    async def main():
        work = queue()
        work.add("a")
        await work.get()
        work.add("a")
        work.add("a")
        assert len(work) == 0
        work.done("a")
        assert await drain(work) == ["a"]
        assert work.idle

    run_virtual(main)


def test_fresh_changes_go_before_what_the_first_load_found():
    async def main():
        work = queue()
        for number in range(5):
            work.add(f"old{number}", Priority.INITIAL)
        work.add("fresh")
        work.add("old3")
        assert await drain(work) == ["fresh", "old3", "old0", "old1", "old2", "old4"]

    run_virtual(main)


def test_priority_is_only_ever_raised():
    async def main():
        work = queue()
        work.add("a", Priority.HIGH)
        work.add("b")
        work.add("a", Priority.INITIAL)
        assert await drain(work) == ["a", "b"]

    run_virtual(main)


def test_a_stream_of_urgent_keys_does_not_starve_the_others():
    async def main():
        work = queue()
        work.add("low", Priority.INITIAL)
        for turn in range(LEAST_TURN):
            work.add(f"urgent{turn}", Priority.HIGH)
            key = await work.get()
            work.done(key)
            if key == "low":
                return
        pytest.fail("the low key never had a turn")

    run_virtual(main)


def test_lanes_take_turns():
    async def main():
        work = queue(lane=lambda key: key[0])
        for key in ("a1", "a2", "a3", "b1", "c1", "b2"):
            work.add(key)
        assert await drain(work) == ["a1", "b1", "c1", "a2", "b2", "a3"]

    run_virtual(main)


def test_a_lane_never_holds_more_workers_than_its_limit():
    async def main():
        work = queue(lane=lambda key: key[0], lane_limit=2)
        for key in ("a1", "a2", "a3", "b1"):
            work.add(key)
        held = [await work.get() for _ in range(3)]
        assert held == ["a1", "b1", "a2"]
        waiting = asyncio.create_task(work.get())
        await asyncio.sleep(1)
        assert not waiting.done()
        work.done("a1")
        assert await waiting == "a3"

    run_virtual(main)


def test_delayed_keys_come_when_they_are_due_and_the_earlier_moment_counts():
    async def main():
        work = queue()
        work.add_after("a", 10)
        work.add_after("b", 5)
        work.add_after("a", 3)
        work.add_after("a", 20)
        seen = []
        for _ in range(2):
            key = await work.get()
            seen.append((key, asyncio.get_running_loop().time()))
            work.done(key)
        assert seen == [("a", 3.0), ("b", 5.0)]
        assert work.idle

    run_virtual(main)


def test_retries_pause_longer_and_longer_until_forgotten():
    async def main():
        work = queue(retries=BackoffPolicy(initial=1, maximum=8))
        pauses = [work.retry("a") for _ in range(6)]
        assert pauses == [1, 2, 4, 8, 8, 8]
        assert work.retry("b") == 1
        work.forget("a")
        assert work.retry("a") == 1
        assert work.retried == 8

    run_virtual(main)


def test_a_cancelled_waiter_passes_its_key_on():
    async def main():
        work = queue()
        first, second = asyncio.create_task(work.get()), asyncio.create_task(work.get())
        await asyncio.sleep(0)
        work.add("a")
        first.cancel()
        assert await second == "a"

    run_virtual(main)


def test_closing_hands_out_what_is_ready_and_then_ends_the_workers():
    async def main():
        work = queue()
        work.add("a")
        waiting = [asyncio.create_task(work.get()) for _ in range(2)]
        await asyncio.sleep(0)
        work.close()
        work.add("late")
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert sorted(map(str, results)) == ["a", "test"]
        assert any(isinstance(result, QueueClosed) for result in results)

    run_virtual(main)


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.integers(0, 20), st.sampled_from([-100, 0, 100])),
        st.tuples(st.just("pop"), st.just(0), st.just(0)),
        st.tuples(st.just("free"), st.integers(0, 5), st.just(0)),
    ),
    max_size=200,
)


@given(OPERATIONS, st.sampled_from([None, 1, 2]))
def test_lanes_lose_and_repeat_nothing(operations, limit):
    lanes = Lanes(limit)
    waiting, held = set(), []
    for operation, number, priority in operations:
        if operation == "push":
            lanes.push(number, number % 3, priority)
            waiting.add(number)
        elif operation == "pop":
            taken = lanes.pop()
            free = {lane for lane in range(3) if limit is None or held.count(lane) < limit}
            if taken is None:
                assert not any(key % 3 in free for key in waiting)
            else:
                waiting.remove(taken[0])
                assert taken[1] in free
                held.append(taken[1])
        elif held:
            lanes.free(held.pop(number % len(held)))
        assert len(lanes) == len(waiting)


def test_what_the_first_load_found_leaves_the_loop_to_others_between_keys():
    async def main():
        work, rounds = queue(), []
        for number in range(20):
            work.add(number, Priority.INITIAL)

        async def count():
            while len(work):
                rounds.append(len(work))
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        assert await drain(work) == list(range(20))
        await counting
        assert len(rounds) >= 10

    run_virtual(main)


def test_workers_are_left_for_fresh_changes_while_the_first_load_waits():
    async def main():
        work, started = queue(background_limit=2), []
        release = asyncio.Event()

        async def worker():
            while True:
                key = await work.get()
                started.append(key)
                if work.is_background(key):
                    await release.wait()
                work.done(key)

        workers = [asyncio.create_task(worker()) for _ in range(4)]
        for number in range(5):
            work.add(f"old{number}", Priority.INITIAL)
        await asyncio.sleep(1)
        assert started == ["old0", "old1"]
        work.add("fresh")
        await asyncio.sleep(1)
        assert started[2:] == ["fresh"]
        release.set()
        await asyncio.sleep(1)
        assert sorted(started[3:]) == ["old2", "old3", "old4"]
        for one in workers:
            one.cancel()

    run_virtual(main)


def test_who_comes_with_one_key_to_a_busy_lane_is_not_behind_the_many_of_another_tenant():
    lanes: Lanes[str] = Lanes(1)
    for number in range(100):
        lanes.push(f"storm-{number}", "member1", Priority.NORMAL, "storm")
    taken, lane, _ = lanes.pop()
    lanes.push("second-0", "member1", Priority.NORMAL, "second")
    order = [taken]
    for _ in range(3):
        lanes.free(lane)
        taken, lane, _ = lanes.pop()
        order.append(taken)
    assert order == ["storm-0", "storm-1", "second-0", "storm-2"]


def test_what_the_first_load_found_waits_while_it_is_held_and_can_be_withdrawn():
    async def main():
        work = queue(background_limit=2)
        work.hold()
        for key in ("a", "b", "urgent"):
            work.add(key, Priority.INITIAL)
        work.add("urgent")
        work.add_after("later", 5)
        assert [work.is_pending(key) for key in ("a", "urgent", "later", "none")] == [True, True, True, False]
        assert await work.get() == "urgent"
        assert work.is_pending("urgent")
        assert not work.withdraw("urgent")
        work.done("urgent")
        waiting = asyncio.ensure_future(work.get())
        await asyncio.sleep(1)
        assert not waiting.done()
        assert work.withdraw("a")
        assert not work.withdraw("a")
        assert not work.is_pending("a")
        work.release()
        assert await waiting == "b"
        work.done("b")
        assert await work.get() == "later"
        work.add("later", Priority.INITIAL)
        assert not work.withdraw("later")
        work.done("later")
        assert await drain(work) == ["later"]
        assert work.idle

    run_virtual(main)


def test_a_withdrawn_key_comes_when_something_happens_to_it():
    async def main():
        work = queue()
        work.add("a", Priority.INITIAL)
        work.add("b", Priority.INITIAL)
        work.withdraw("a")
        work.add("a", Priority.INITIAL)
        work.withdraw("b")
        work.add("b")
        assert await drain(work) == ["b", "a"]

    run_virtual(main)
