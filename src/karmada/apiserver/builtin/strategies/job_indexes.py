"""Lists of the indexes of a job, such as `1,3-5`."""


def format_problem(text: str, completions: int) -> str:
    """What is wrong with a list of indexes such as `1,3-5`, or nothing."""
    last: int | None = None
    for part in text.split(",") if text else ():
        interval = _interval(part, completions)
        if isinstance(interval, str):
            return interval
        if last is not None and last >= interval[0]:
            return f"non-increasing order, previous: {last}, current: {interval[0]}"
        last = interval[1]
    return ""


def _interval(text: str, completions: int) -> tuple[int, int] | str:
    """First and last index of an interval, or what is wrong with it."""
    parts = text.split("-")
    if len(parts) > 2:
        return (
            f'the fragment "{text}" violates the requirement that an index interval can have at most two parts '
            "separated by '-'"
        )
    numbers = []
    for part in parts:
        digits = part.removeprefix("+")
        if not (digits.isascii() and digits.isdigit()):
            return f'cannot convert string to integer for index: "{part}"'
        if int(digits) >= completions:
            return f'too large index: "{part}"'
        numbers.append(int(digits))
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        return f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}"
    return numbers[0], numbers[-1]


def count(text: str, completions: int) -> int:
    """How many indexes a list names; none if it cannot be read."""
    if not text or format_problem(text, completions):
        return 0
    intervals = [_interval(part, completions) for part in text.split(",")]
    return sum(one[1] - one[0] + 1 for one in intervals if not isinstance(one, str))


def first_common(completed: str, failed: str, completions: int) -> int | None:
    """The lowest index in both lists, of the intervals that can be read."""
    lists = [[_interval(part, completions) for part in text.split(",")] for text in (completed, failed)]
    common = [
        max(one[0], other[0])
        for one in lists[0]
        for other in lists[1]
        if not isinstance(one, str) and not isinstance(other, str) and one[0] <= other[1] and other[0] <= one[1]
    ]
    return min(common, default=None)
