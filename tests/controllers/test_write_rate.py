"""How often a Work and a member may have the control plane write."""

import pytest

from karmada.controllers.write_rate import (
    MEMBER_BURST,
    MEMBER_RATE,
    REMEMBERED,
    UNIT,
    WORK_BURST,
    WORK_RATE,
    Pace,
)
from karmada.machinery.informers.cache import Key
from karmada.testing.loop import VirtualClock, run_virtual

ONE, OTHER, ELSEWHERE = Key("karmada-es-m1", "one"), Key("karmada-es-m1", "other"), Key("karmada-es-m2", "one")


def in_time(test):
    async def scenario():
        clock = VirtualClock()
        await test(Pace(clock), clock)

    run_virtual(scenario)


def test_a_work_writes_a_burst_and_then_at_its_rate():
    async def test(pace, clock):
        assert pace.wait(ONE) == 0
        for _ in range(WORK_BURST):
            pace.take(ONE)
        assert pace.wait(ONE) == 0
        pace.take(ONE)
        pace.take(ONE)
        assert pace.wait(ONE) == pytest.approx(2 / WORK_RATE)
        assert (pace.wait(OTHER), pace.wait(ELSEWHERE)) == (0, 0)
        await clock.sleep(1)
        assert pace.wait(ONE) == pytest.approx(1 / WORK_RATE)

    in_time(test)


def test_what_a_write_carries_counts_for_its_member():
    async def test(pace, clock):
        pace.take(ONE, UNIT * (MEMBER_BURST - 1))
        assert pace.wait(OTHER) == 0
        pace.take(ONE, UNIT * 199)
        assert (pace.wait(OTHER), pace.wait(ONE)) == (pytest.approx(200 / MEMBER_RATE),) * 2
        assert pace.wait(ELSEWHERE) == 0
        pace.forget("karmada-es-m1")
        assert pace.wait(OTHER) == 0

    in_time(test)


def test_works_that_wrote_long_ago_are_forgotten_when_there_are_many():
    async def test(pace, clock):
        for work in (ONE, ELSEWHERE):
            for _ in range(WORK_BURST + 9):
                pace.take(work)
        for number in range(REMEMBERED - 2):
            pace.take(Key("karmada-es-m3", str(number)))
        pace.take(ONE)
        assert (pace.wait(ONE) > 0, pace.wait(ELSEWHERE) > 0) == (True, True)
        pace.take(Key("karmada-es-m3", "more"))
        assert (pace.wait(ONE) > 0, pace.wait(ELSEWHERE)) == (True, 0)

    in_time(test)


def test_the_limits_leave_room_for_rollouts():
    assert (WORK_BURST, WORK_RATE, MEMBER_BURST, MEMBER_RATE, UNIT) == (20, 1.0, 5000, 200.0, 4096)
