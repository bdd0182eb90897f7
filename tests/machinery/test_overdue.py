"""Workers that take long are relieved once, those that take too long are cancelled, and one timer does it for all."""

import asyncio
import contextlib

from karmada.machinery.clock import REAL
from karmada.machinery.overdue import Overdue
from karmada.testing.loop import run_virtual


def test_who_takes_long_is_relieved_once_and_cancelled_at_the_deadline():
    async def test():
        overdue = Overdue(REAL, 1.0, 60.0)
        happened: list[tuple[str, float]] = []
        began = REAL.monotonic()

        def note(what):
            happened.append((what, round(REAL.monotonic() - began, 3)))

        async def work(seconds, name):
            worker = asyncio.current_task()
            overdue.begin(worker, REAL.monotonic(), lambda: note(f"{name} relieved"))
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                assert overdue.end(worker)
                note(f"{name} cancelled")
            finally:
                assert not overdue.end(worker)

        async def later():
            await asyncio.sleep(30)
            await work(2, "second")

        await asyncio.gather(work(500, "first"), work(0.5, "quick"), later())
        assert happened == [("first relieved", 1.0), ("second relieved", 31.0), ("first cancelled", 60.0)]

    run_virtual(test)


def test_who_comes_further_has_the_deadline_anew_and_is_relieved_as_early():
    async def test():
        overdue, relieved = Overdue(REAL, 1.0, 60.0), []
        began = REAL.monotonic()

        async def work():
            worker = asyncio.current_task()
            overdue.begin(worker, REAL.monotonic(), lambda: relieved.append(REAL.monotonic() - began))
            try:
                for _ in range(100):
                    await asyncio.sleep(0.9)
                    overdue.extend(worker, REAL.monotonic())
                await asyncio.sleep(500)
            except asyncio.CancelledError:
                assert overdue.end(worker)

        await work()
        assert relieved == [1.0]
        assert round(REAL.monotonic() - began, 3) == 150.0

    run_virtual(test)


def test_a_worker_that_somebody_else_cancelled_too_is_not_only_late():
    async def test():
        overdue = Overdue(REAL, 1.0, 5.0)

        async def work():
            worker = asyncio.current_task()
            overdue.begin(worker, REAL.monotonic(), None)
            try:
                await asyncio.sleep(500)
            except asyncio.CancelledError:
                return overdue.end(worker)

        task = asyncio.create_task(work())
        REAL.call_later(5.0, task.cancel)
        assert await task is False

    run_virtual(test)


def test_work_that_ignores_its_end_leaves_nothing_behind():
    async def test():
        overdue = Overdue(REAL, 1.0, 5.0)

        async def work():
            worker = asyncio.current_task()
            overdue.begin(worker, REAL.monotonic(), None)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(500)
            overdue.end(worker)
            await asyncio.sleep(100)
            return worker.cancelling()

        assert await asyncio.create_task(work()) == 0

    run_virtual(test)
