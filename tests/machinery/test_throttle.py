"""What happens often is logged once a minute, and taken at a rate."""

import logging

import pytest

from karmada.machinery import throttle
from karmada.machinery.limits import printable
from karmada.machinery.throttle import ThrottledLog, TokenBucket

log = logging.getLogger("karmada.tests.throttle")


class Time:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_one_line_per_cause_and_minute(caplog):
    time = Time()
    throttled = ThrottledLog(log, time)
    for second in range(130):
        time.now = float(second)
        throttled.warning("m1", "%s failed", "m1")
        if second == 30:
            throttled.warning("m2", "%s failed", "m2", trace=ValueError("why"))
    assert [record.getMessage() for record in caplog.records] == [
        "m1 failed",
        "m2 failed",
        "m1 failed (59 more like this in the 60 s before)",
        "m1 failed (59 more like this in the 60 s before)",
    ]
    assert [bool(record.exc_info) for record in caplog.records] == [False, True, False, False]


def test_causes_without_end_are_not_remembered_without_end(caplog):
    throttled = ThrottledLog(log, Time())
    for number in range(3 * throttle.CAUSES):
        throttled.warning(number, "failed")
    assert len(throttled._logged) == throttle.CAUSES


def test_a_bucket_gives_a_burst_and_then_a_rate():
    bucket = TokenBucket(10, 2.0, 100.0)
    assert [bucket.take(1, 100.0) for _ in range(10)] == [0.0] * 10
    assert bucket.take(1, 100.0) == 0.5
    assert bucket.wait(100.25) == 0.25
    assert bucket.wait(1000.0) == 0.0
    assert bucket.take(11, 1000.0) == 0.5


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fine", "fine"),
        ("two\nlines", "two\nlines"),
        ("\x1b[31mred\x00", "\ufffd[31mred\ufffd"),
        ("right\u202eleft", "right\ufffdleft"),
        ("x" * 3000, "x" * 1024 + "... (3000 characters)"),
    ],
    ids=["plain", "lines", "control", "bidi", "long"],
)
def test_what_is_shown_of_other_peoples_words(text, shown):
    assert printable(text) == shown
