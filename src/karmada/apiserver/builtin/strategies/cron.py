"""Whether a cron schedule makes sense, and if not why, in the words that CronJobs are refused with."""

import re

_FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NAMES: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {name: number for number, name in enumerate(_MONTHS, 1)},
    {name: number for number, name in enumerate(_DAYS)},
)
_MACROS = frozenset(("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"))
_EVERY = re.compile(r"@every ([0-9.]+(ns|us|µs|ms|s|m|h))+")


def schedule_problem(schedule: str) -> str | None:
    """What is wrong with a schedule of five fields, or a macro such as @daily; None when it is fine."""
    if schedule.startswith("@"):
        if schedule in _MACROS or _EVERY.fullmatch(schedule):
            return None
        return f"unrecognized descriptor: {schedule}"
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for text, (low, high), names in zip(fields, _FIELDS, _NAMES, strict=True):
        for part in text.split(","):
            problem = _range_problem(part, low, high, names)
            if problem:
                return problem
    return None


def _range_problem(text: str, low: int, high: int, names: dict[str, int]) -> str | None:
    span, *steps = text.split("/")
    if len(steps) > 1:
        return f"too many slashes: {text}"
    first, *last = span.split("-")
    if len(last) > 1:
        return f"too many hyphens: {text}"
    if first in ("*", "?"):
        start, end = low, high
    else:
        numbers = []
        for word in (first, *last):
            number = names.get(word.lower())
            if number is None:
                if not re.fullmatch(r"[+-]?\d+", word):
                    return f'failed to parse int from {word}: strconv.Atoi: parsing "{word}": invalid syntax'
                number = int(word)
                if number < 0:
                    return f"negative number ({number}) not allowed: {word}"
            numbers.append(number)
        start = numbers[0]
        end = numbers[1] if last else (high if steps else start)
    if steps:
        if not steps[0].isdigit():
            return f'failed to parse int from {steps[0]}: strconv.Atoi: parsing "{steps[0]}": invalid syntax'
        if int(steps[0]) == 0:
            return f"step of range should be a positive number: {text}"
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {text}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {text}"
    if start > end:
        return f"beginning of range ({start}) beyond end of range ({end}): {text}"
    return None
