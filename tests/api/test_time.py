"""Durations, timestamps and cron schedules."""

from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.growth import work

from karmada.api import cron, duration, timestamps
from karmada.api.cron import CronError
from karmada.api.duration import DurationError
from karmada.api.timestamps import TimestampError


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("1h30m", 5400 * 10**9),
        ("1.5s", 15 * 10**8),
        ("-250ms", -250 * 10**6),
        ("+3us", 3000),
        ("1µs2ns", 1002),
        (".5m", 30 * 10**9),
        ("1h0m0s", 3600 * 10**9),
    ],
)
def test_durations_are_read(text: str, nanoseconds: int) -> None:
    assert duration.parse(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("abc", 'time: invalid duration "abc"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        ("1h.", 'time: invalid duration "1h."'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
    ],
)
def test_bad_durations_are_refused_in_known_words(text: str, message: str) -> None:
    with pytest.raises(DurationError) as raised:
        duration.parse(text)
    assert (str(raised.value), raised.value.text) == (message, text)


@given(st.integers(-(2**63), 2**63 - 1))
def test_durations_read_back(nanoseconds: int) -> None:
    assert duration.parse(duration.spell(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(3600, "1h0m0s"), (0, "0s"), (1.5, "1.5s"), (0.25, "250ms"), (90, "1m30s"), (-61, "-1m1s"), (0.000002, "2µs")],
)
def test_durations_are_spelled_as_go_does(seconds: float, text: str) -> None:
    assert duration.spell(round(seconds * 10**9)) == text


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (5 * 3600 + 60, "5h1m"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
    ],
)
def test_ages_are_shown_as_kubectl_shows_them(age: float, text: str) -> None:
    assert duration.human(age) == text


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_timestamps_read_back(naive: datetime) -> None:
    moment = naive.replace(tzinfo=UTC)
    assert timestamps.parse(timestamps.to_time(moment)) == moment.replace(microsecond=0)


def test_offsets_and_nanoseconds_are_accepted() -> None:
    assert timestamps.parse("2026-01-02T03:04:05.123456789+02:00") == datetime(2026, 1, 2, 1, 4, 5, 123456, UTC)


@pytest.mark.parametrize(
    "text", ["", "2026-01-02", "2026-01-02T03:04:05", "2026-13-02T03:04:05Z", "2026-01-02 03:04:05Z", "now"]
)
def test_bad_timestamps_are_named(text: str) -> None:
    with pytest.raises(TimestampError) as raised:
        timestamps.parse(text)
    assert raised.value.text == text


def at(text: str) -> datetime:
    return timestamps.parse(text)


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "runs"),
    [
        pytest.param(
            "30 2 * 3 *",
            "America/New_York",
            "2026-03-07T12:00:00Z",
            ["2026-03-09T06:30:00Z"],
            id="a skipped wall time does not run",
        ),
        pytest.param(
            "30 1 * * *",
            "America/New_York",
            "2026-11-01T00:00:00Z",
            ["2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"],
            id="a repeated wall time runs twice",
        ),
        pytest.param("0 0 * * *", "", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00Z"], id="strictly after"),
        pytest.param("59 23 * * *", "", "2026-01-01T23:59:30Z", ["2026-01-02T23:59:00Z"], id="last minute of the day"),
        pytest.param(
            "TZ=Asia/Tokyo 0 6 * * *",
            "Europe/Berlin",
            "2027-01-13T12:20:49Z",
            ["2027-01-13T21:00:00Z"],
            id="zone prefix wins",
        ),
        pytest.param(
            "0 12 13 * 5",
            "",
            "2026-09-03T07:54:40Z",
            ["2026-09-04T12:00:00Z", "2026-09-11T12:00:00Z", "2026-09-13T12:00:00Z"],
            id="either day field",
        ),
        pytest.param(
            "0 12 */2 * 5",
            "",
            "2026-09-01T13:00:00Z",
            ["2026-09-03T12:00:00Z", "2026-09-04T12:00:00Z"],
            id="a stepped star restricts",
        ),
        pytest.param("@every 1h30m", "", "2026-09-01T13:00:00.5Z", ["2026-09-01T14:30:00Z"], id="every"),
    ],
)
def test_next_runs(schedule: str, zone: str, after: str, runs: list[str]) -> None:
    moment = at(after)
    for run in runs:
        following = cron.parse(schedule, zone).next_run(moment)
        assert following == at(run)
        assert following is not None
        moment = following


def test_a_schedule_that_never_runs_says_so() -> None:
    assert cron.parse("0 0 30 2 *").next_run(at("2026-01-01T00:00:00Z")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("0 2 * * 7", "end of range (7) above maximum (6): 7"),
        ("0 0 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("9-3 * * * *", "beginning of range (9) beyond end of range (3): 9-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("@reboot", "unrecognized descriptor: @reboot"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
        ("TZ=Moon/Base 0 0 * * *", "provided bad location Moon/Base: unknown time zone Moon/Base"),
    ],
)
def test_bad_schedules_are_refused_in_known_words(text: str, message: str) -> None:
    with pytest.raises(CronError) as raised:
        cron.parse(text)
    assert str(raised.value) == message


def test_bad_zone_is_named() -> None:
    with pytest.raises(CronError, match="Moon/Base"):
        cron.parse("* * * * *", "Moon/Base")


fields = st.tuples(
    st.sampled_from(["*", "*/7", "0", "30", "5-50/9", "59"]),
    st.sampled_from(["*", "0", "1", "2", "1-3", "*/5", "23"]),
    st.sampled_from(["*", "1", "31", "*/3", "8"]),
    st.sampled_from(["*", "MAR", "11", "2-4"]),
    st.sampled_from(["*", "SUN", "1-5", "?"]),
).map(" ".join)
zones = st.sampled_from(["UTC", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "America/Havana", "Asia/Beirut"])
moments = st.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(2027, 1, 1)).map(
    lambda naive: naive.replace(tzinfo=UTC)
)


@given(fields, zones, moments)
def test_runs_strictly_increase_and_match_the_wall_clock(schedule: str, zone: str, after: datetime) -> None:
    parsed = cron.parse(schedule, zone)
    moment = after
    for _ in range(4):
        following = parsed.next_run(moment)
        if following is None:
            return
        assert following > moment
        assert isinstance(parsed, cron.Calendar)
        local = following.astimezone(ZoneInfo(zone))
        assert local.hour in parsed.hours
        assert local.minute in parsed.minutes
        assert local.month in parsed.months
        moment = following


@given(fields, zones, moments)
@settings(max_examples=30)
def test_no_run_is_missed(schedule: str, zone: str, after: datetime) -> None:
    parsed = cron.parse(schedule, zone)
    following = parsed.next_run(after)
    assert isinstance(parsed, cron.Calendar)
    moment = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
    for _ in range(36 * 60):
        local = moment.astimezone(ZoneInfo(zone))
        matches = local.month in parsed.months and local.hour in parsed.hours and local.minute in parsed.minutes
        if matches and parsed._matches_day(local.date()):
            assert following == moment
            return
        moment += timedelta(minutes=1)
    assert following is None or following >= moment


def test_a_day_that_no_month_has_is_not_looked_for_day_by_day() -> None:
    schedule = cron.parse("0 0 31 2,4,6,9,11 *")
    assert work(lambda: schedule.next_run(datetime(2024, 1, 1, tzinfo=UTC)) is not None).calls < 500


@pytest.mark.parametrize(
    "schedule",
    ["* * 8 3 *", "59 23 1 11 *", ", * * * *", "* , * * *", "* * , * ,", "* * * * ,", "* * 31 2,4 ,"],
)
def test_a_change_of_the_clock_or_a_field_without_values_makes_no_schedule_slow(schedule: str) -> None:
    parsed = cron.parse(schedule, "America/New_York")

    def runs(start: datetime) -> bool:
        return parsed.next_run(start) is not None

    for start in (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 8, 6, 30, tzinfo=UTC)):
        assert work(partial(runs, start)).calls < 500


def test_a_schedule_that_is_longer_than_all_values_spelled_out_is_not_read() -> None:
    spelled = [",".join(map(str, values)) for values in (range(60), range(24), range(1, 32), range(1, 13), range(7))]
    cron.parse(" ".join(spelled))
    with pytest.raises(CronError, match="at most 1024 characters"):
        cron.parse("*/1," * 300 + " * * * *")


def test_reading_a_schedule_does_not_spell_out_its_times() -> None:
    assert work(lambda: cron.parse("*,7,8,9 * * * *") is None).calls < 500
