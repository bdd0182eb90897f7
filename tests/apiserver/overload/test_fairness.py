import asyncio

import pytest

from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.fairness import FairQueue
from karmada.apiserver.overload.deadlines import TICK, Deadlines, request_seconds
from karmada.apiserver.overload.traffic import Traffic
from karmada.apiserver.overload.watches import WatchBudget
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpRequest
from karmada.testing.loop import run_virtual

A, B = UserInfo("a"), UserInfo("b")
MASTER = UserInfo("root", ("system:masters",))


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_busy_user_delays_another_by_one_request():
    queue = FairQueue(seats=1)
    order = []

    async def request(user):
        await queue.take(user.name)
        order.append(user.name)
        await asyncio.sleep(0)
        queue.give_back()

    tasks = [asyncio.create_task(request(A)) for _ in range(10)]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(request(B)))
    await asyncio.gather(*tasks)
    assert order.index("b") <= 3
    assert (queue.free, queue.waiting) == (1, 0)


async def test_a_full_queue_is_429_for_that_user_only():
    queue = FairQueue(seats=1, per_user=2)
    await queue.take("a")
    waiting = [asyncio.create_task(queue.take("a")) for _ in range(2)]
    await settle()
    with pytest.raises(Failure) as failure:
        await queue.take("a")
    assert (failure.value.code, failure.value.headers) == (429, {"Retry-After": "1"})
    other = asyncio.create_task(queue.take("b"))
    await settle()
    assert not other.done()
    queue.give_back()
    await settle()
    queue.give_back()
    await settle()
    queue.give_back()
    await asyncio.gather(*waiting, other)


async def test_masters_never_wait():
    queue = FairQueue(seats=1)
    traffic = Traffic(queue=queue)
    await queue.take("a")
    visit = traffic.arrive(HttpRequest("GET", "/", "", {}, b"", ("", 0), None))
    visit.user = MASTER
    async with traffic.seat(visit, 60):
        assert queue.waiting == 0
    assert queue.free == 0


async def test_when_the_whole_queue_is_full_the_newest_of_the_user_with_most_is_refused():
    queue = FairQueue(seats=1, per_user=3, total=4)
    await queue.take("x")
    asked = [asyncio.create_task(queue.take(user)) for user in ("a", "a", "a", "b")]
    await settle()
    newcomer = asyncio.create_task(queue.take("c"))
    await settle()
    assert [task.done() for task in asked] == [False, False, True, False]
    assert queue.waiting == 4
    with pytest.raises(Failure):
        await asked.pop(2)
    with pytest.raises(Failure):
        await queue.take("a")
    for _ in range(5):
        queue.give_back()
    await asyncio.gather(*asked, newcomer)


async def test_who_must_not_be_refused_counts_for_nothing_and_goes_before_others_of_the_user():
    queue, order = FairQueue(seats=1, per_user=1, total=1), []
    await queue.take("x")

    async def take(refusable):
        await queue.take("a", refusable)
        order.append(refusable)
        queue.give_back()

    asked = [asyncio.create_task(take(refusable)) for refusable in (True, False, False)]
    await settle()
    assert queue.waiting == 1
    queue.give_back()
    await asyncio.gather(*asked)
    assert order == [False, False, True]
    assert (queue.free, queue.waiting) == (1, 0)


async def test_a_request_that_is_refused_and_cancelled_at_once_gives_back_no_seat():
    queue = FairQueue(seats=1, total=2)
    await queue.take("x")
    asked = [asyncio.create_task(queue.take("a")) for _ in range(2)]
    await settle()
    coming = asyncio.create_task(queue.take("b"))
    await asyncio.sleep(0)
    asked[1].cancel()
    await asyncio.gather(asked[1], return_exceptions=True)
    assert queue.free == 0
    for _ in range(3):
        queue.give_back()
        await settle()
    await asyncio.gather(asked[0], coming)
    assert (queue.free, queue.waiting) == (1, 0)


async def test_patience_ends_with_429():
    queue = FairQueue(seats=1, patience=0.01)
    await queue.take("a")
    with pytest.raises(Failure):
        await queue.take("a")
    assert queue.waiting == 0
    queue.give_back()
    assert queue.free == 1


async def test_a_cancelled_request_loses_no_seat():
    queue = FairQueue(seats=1)
    await queue.take("a")
    waiting = asyncio.create_task(queue.take("a"))
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    handed = asyncio.create_task(queue.take("a"))
    await settle()
    queue.give_back()
    handed.cancel()
    await asyncio.gather(handed, return_exceptions=True)
    assert (queue.free, queue.waiting) == (1, 0)


def open_all(budget, user):
    """How many watches a user gets who takes all that can be had."""
    for count in range(1000):
        try:
            budget.open(user)
        except Failure:
            return count
    raise AssertionError("there is no end to them")


def test_no_user_takes_the_watches_of_others_and_none_those_of_the_owner():
    budget = WatchBudget(total=100, reserve=10)
    assert open_all(budget, A) == 50
    assert open_all(budget, B) == 25
    assert [open_all(budget, UserInfo(name)) for name in ("c", "d", "e")] == [13, 2, 0]
    assert open_all(budget, MASTER) == 10


def test_a_watch_that_ends_is_given_back_once():
    budget = WatchBudget(total=4, reserve=0)
    tickets = [budget.open(A), budget.open(A)]
    with pytest.raises(Failure):
        budget.open(A)
    tickets[0].close()
    tickets[0].close()
    assert budget.count == 1
    budget.open(A)


@pytest.mark.parametrize(("wish", "seconds"), [("", 60), ("10s", 10), ("1m30s", 60), ("500ms", 0.5), ("0s", 60)])
def test_deadlines(wish, seconds):
    assert request_seconds({"timeout": wish}) == seconds


def test_unreadable_deadlines_are_bad_requests():
    with pytest.raises(Failure, match='time: invalid duration "soon"'):
        request_seconds({"timeout": "soon"})


@pytest.mark.parametrize("verb", ["get", "create"])
async def test_a_write_that_takes_too_long_is_cut_off_and_gives_its_seat_back(verb):
    queue = FairQueue(seats=1)
    traffic = Traffic(queue=queue)
    visit = traffic.arrive(HttpRequest("POST", "/", "", {}, b"", ("", 0), None))
    visit.user, visit.attributes = A, Attributes(verb, resource="pods")
    gate = asyncio.Event()
    if verb == "get":
        asyncio.get_running_loop().call_later(0.05, gate.set)
    try:
        async with traffic.seat(visit, 0.01):
            await gate.wait()
        assert verb == "get"
    except TimeoutError:
        assert verb == "create"
    assert queue.free == 1
    assert traffic.metrics.inflight == {"readOnly": 0, "mutating": 0}


def test_a_request_in_time_is_not_touched_by_its_deadline():
    async def request():
        deadlines = Deadlines()
        task = deadlines.begin(0.0)
        assert not deadlines.end(task)
        await asyncio.sleep(2 * TICK)
        return task.cancelling()

    assert run_virtual(request) == 0


def test_a_deadline_is_kept_to_the_tick_for_each_request_by_itself():
    async def main():
        deadlines, ended = Deadlines(), {}

        async def request(seconds):
            task = deadlines.begin(seconds)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                assert deadlines.end(task)
                ended[seconds] = asyncio.get_running_loop().time()

        await asyncio.gather(*(request(seconds) for seconds in (1, 5, 60)))
        return ended

    ended = run_virtual(main)
    assert all(seconds <= at <= seconds + TICK for seconds, at in ended.items())


async def test_long_running_requests_are_counted_until_they_end():
    traffic = Traffic(watches=WatchBudget(total=1, reserve=0))
    visit = traffic.arrive(HttpRequest("GET", "/", "", {}, b"", ("", 0), None))
    visit.user, visit.attributes = A, Attributes("watch", resource="pods")
    leave = traffic.stay(visit)
    with pytest.raises(Failure):
        traffic.stay(visit)
    assert list(traffic.metrics.longrunning.values()) == [1]
    leave()
    traffic.stay(visit)
    assert traffic.metrics.rejected == 1
