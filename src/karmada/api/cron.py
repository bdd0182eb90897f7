"""Cron schedules: when does a rule run next?

Five fields (minute, hour, day of month, month, day of week) with names, ranges, lists and steps; descriptors such as
`@daily`; `@every 90s`; and a leading `TZ=Area/City` that overrules the zone a caller gives. A run is a moment whose
local wall clock matches: wall times that a clock change skips do not run, those it repeats run twice. Days match when
day of month *or* day of week does, unless one of the two is unrestricted. Errors keep the wording of the library that
Karmada uses.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from karmada.api import duration

_HORIZON_YEARS = 5
"""A schedule without a run in this many years has none."""


_MINUTE = timedelta(minutes=1)
_LONGEST = 1024
"""Characters of a schedule: one that spells out every value has 400."""
_REMEMBERED = 512
"""Characters of a schedule and its zone that are worth keeping in a cache."""


class CronError(ValueError):
    """A schedule or time zone that makes no sense; `text` is what was given."""

    def __init__(self, message: str, text: str) -> None:
        self.text = text
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Every:
    """Runs at a fixed distance from the moment it is asked."""

    seconds: int

    def next_run(self, after: datetime) -> datetime | None:
        """The first run after a moment, in UTC; None when it is beyond all dates."""
        try:
            return after.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=self.seconds)
        except OverflowError:
            return None


@dataclass(frozen=True, slots=True)
class Calendar:
    """Runs when the wall clock in `zone` shows one of the times on a matching day; None stands for any day."""

    hours: tuple[int, ...]
    minutes: tuple[int, ...]
    """Both in order; together they make the wall times, of which there are up to 1,440."""
    days_of_month: frozenset[int] | None
    months: frozenset[int]
    days_of_week: frozenset[int] | None
    """0 is Sunday."""
    zone: ZoneInfo

    def next_run(self, after: datetime) -> datetime | None:
        """The first run strictly after a moment, in UTC; None when there is none within some years."""
        named = [days for days in (self.days_of_month, self.days_of_week) if days is not None]
        if not self.hours or not self.minutes or (named and not any(named)):
            return None  # a field of commas alone allows nothing
        start = after.astimezone(self.zone).date()
        for day in self._matching_days(start):
            for run in self._runs_of_day(day, after):
                return run
        return None

    def _matching_days(self, start: date) -> Iterator[date]:
        for year in range(start.year, min(start.year + _HORIZON_YEARS, date.max.year) + 1):
            for month in sorted(self.months):
                if (year, month) < (start.year, start.month):
                    continue
                for number in self._candidates(monthrange(year, month)[1]):
                    day = date(year, month, number)
                    if day >= start and self._matches_day(day):
                        yield day

    def _candidates(self, length: int) -> Sequence[int]:
        """Days of a month of some length that may match."""
        if self.days_of_month is None or self.days_of_week:
            return range(1, length + 1)
        return sorted(day for day in self.days_of_month if day <= length)

    def _matches_day(self, day: date) -> bool:
        in_month = self.days_of_month is None or day.day in self.days_of_month
        in_week = self.days_of_week is None or day.isoweekday() % 7 in self.days_of_week
        if self.days_of_month is None or self.days_of_week is None:
            return in_month and in_week
        return in_month or in_week

    def _runs_of_day(self, day: date, after: datetime) -> Iterator[datetime]:
        """The first run of a day after a moment, of every stretch between two changes of the clock."""
        for begin, end in _stretches(day, self.zone):
            # Within a stretch wall times and moments have the same order.
            present = after.astimezone(begin.tzinfo)
            earliest = begin if present < begin else present.replace(second=0, microsecond=0) + _MINUTE
            if earliest > end or (first := self._first_time(earliest.time())) is None:
                continue
            run = datetime.combine(day, first, begin.tzinfo)
            if run <= end:
                yield run.astimezone(UTC)

    def _first_time(self, earliest: time) -> time | None:
        """The first wall time that is not before another."""
        later = (time(hour, minute) for hour in self.hours if hour >= earliest.hour for minute in self.minutes)
        return next((at for at in later if at >= earliest), None)


def _stretches(day: date, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """The first and the last minute of a day, in the order of time and with a fixed offset; of its parts before and
    after the clock changes, on a day on which it does."""
    first = datetime.combine(day, time(), zone).astimezone(UTC)
    last = datetime.combine(day, time(23, 59, fold=1), zone).astimezone(UTC)
    before, after = (_offset(moment, zone) for moment in (first, last))
    if before == after:
        yield first.astimezone(before), last.astimezone(after)
        return
    low, high = 0, (last - first) // _MINUTE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(first + middle * _MINUTE, zone) == before else (low, middle)
    for begin, end, offset in ((0, low, before), (high, (last - first) // _MINUTE, after)):
        begins, ends = (first + minutes * _MINUTE for minutes in (begin, end))
        # A clock that is set back over midnight shows another day for a while.
        shown = max(begins.astimezone(offset), datetime.combine(day, time(), offset))
        until = min(ends.astimezone(offset), datetime.combine(day, time(23, 59), offset))
        if shown <= until:
            yield shown, until


def _offset(moment: datetime, zone: ZoneInfo) -> timezone:
    return timezone(moment.astimezone(zone).utcoffset() or timedelta())


Schedule = Every | Calendar


class _Field(NamedTuple):
    low: int
    high: int
    names: tuple[str, ...] = ()


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (_Field(0, 59), _Field(0, 23), _Field(1, 31), _Field(1, 12, _MONTHS), _Field(0, 6, _WEEKDAYS))
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def parse(text: str, zone: str = "") -> Schedule:
    """Read a schedule; without a zone it is meant in UTC."""
    return _parse(text, zone) if len(text) + len(zone) <= _REMEMBERED else _read(text, zone)


@lru_cache(maxsize=1024)
def _parse(text: str, zone: str) -> Schedule:
    return _read(text, zone)


def _read(text: str, zone: str) -> Schedule:
    if not text:
        raise CronError("empty spec string", text)
    if len(text) > _LONGEST:
        raise CronError(f"a schedule has at most {_LONGEST} characters, found {len(text)}", text[:_LONGEST])
    fields = text
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, _, fields = text.partition(" ")
        zone = prefix.partition("=")[2]
        fields = fields.strip()
    location = load_zone(zone, text)
    if fields.startswith("@every "):
        return _every(fields)
    if fields.startswith("@"):
        if fields not in _DESCRIPTORS:
            raise CronError(f"unrecognized descriptor: {fields}", text)
        fields = _DESCRIPTORS[fields]
    return _calendar(fields.split(), location, text)


def load_zone(name: str, text: str = "") -> ZoneInfo:
    """The time zone of that name; the empty name, and `Local` (where the control plane runs), are UTC."""
    try:
        return ZoneInfo("UTC" if name in ("", "Local") else name)
    except (KeyError, ValueError, OSError) as error:
        raise CronError(f"provided bad location {name}: unknown time zone {name}", text or name) from error


def _every(text: str) -> Every:
    try:
        delay = duration.parse(text.removeprefix("@every "))
    except duration.DurationError as error:
        raise CronError(f"failed to parse duration {text}: {error}", text) from error
    return Every(max(1, delay // duration.SECOND))


def _calendar(fields: list[str], zone: ZoneInfo, text: str) -> Calendar:
    if len(fields) != len(_FIELDS):
        raise CronError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]", text)
    sets = [_values(field, bounds, text) for field, bounds in zip(fields, _FIELDS, strict=True)]
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = sets
    return Calendar(
        tuple(sorted(hours)),
        tuple(sorted(minutes)),
        None if any_day else days,
        months,
        None if any_weekday else weekdays,
        zone,
    )


def _values(field: str, bounds: _Field, text: str) -> tuple[frozenset[int], bool]:
    """The values a field allows, and whether it is unrestricted."""
    values: set[int] = set()
    is_open = False
    for part in filter(None, field.split(",")):
        allowed, star = _range(part, bounds, text)
        values.update(allowed)
        is_open = is_open or star
    return frozenset(values), is_open


def _range(part: str, bounds: _Field, text: str) -> tuple[range, bool]:
    span, *steps = part.split("/")
    low, *high = span.split("-")
    is_star = low in ("*", "?")
    if is_star:
        first, last = bounds.low, bounds.high
    else:
        first = _number(low, bounds, text)
        if len(high) > 1:
            raise CronError(f"too many hyphens: {part}", text)
        last = _number(high[0], bounds, text) if high else first
    if len(steps) > 1:
        raise CronError(f"too many slashes: {part}", text)
    step = _number(steps[0], _Field(0, 0), text) if steps else 1
    if steps and not high:
        last = bounds.high
    if first < bounds.low:
        raise CronError(f"beginning of range ({first}) below minimum ({bounds.low}): {part}", text)
    if last > bounds.high:
        raise CronError(f"end of range ({last}) above maximum ({bounds.high}): {part}", text)
    if first > last:
        raise CronError(f"beginning of range ({first}) beyond end of range ({last}): {part}", text)
    if step == 0:
        raise CronError(f"step of range should be a positive number: {part}", text)
    return range(first, last + 1, step), is_star and step == 1


def _number(word: str, bounds: _Field, text: str) -> int:
    if word.lower() in bounds.names:
        return bounds.names.index(word.lower()) + bounds.low
    if not re.fullmatch(r"[+-]?[0-9]+", word, re.ASCII):
        raise CronError(f'failed to parse int from {word}: strconv.Atoi: parsing "{word}": invalid syntax', text)
    if len(word) > 18:
        raise CronError(f'failed to parse int from {word}: strconv.Atoi: parsing "{word}": value out of range', text)
    number = int(word)
    if number < 0:
        raise CronError(f"negative number ({number}) not allowed: {word}", text)
    return number
