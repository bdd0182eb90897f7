"""Writes the figures of requests as Prometheus' text, series after series.

There are thousands of series of 25 lines. As samples of `prometheus_client`, with a dictionary of labels for each line,
they are five times as long as their text, while other things are kept in between: holes that stay in the heap.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
)  # fmt: skip
_BOUNDS = (*map(str, BUCKETS), "+Inf")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Head(NamedTuple):
    """Name, meaning and labels of a family."""

    name: str
    text: str
    labels: tuple[str, ...]

    def lines(self, type_: str, suffix: str = "") -> bytes:
        """The two lines in front of its samples."""
        return f"# HELP {self.name}{suffix} {self.text}\n# TYPE {self.name}{suffix} {type_}\n".encode()


_LABELS = ("verb", "group", "version", "resource", "subresource", "scope", "component")
REQUESTS = Head("apiserver_request", "Answered requests.", (*_LABELS, "code", "dry_run"))
DURATIONS = Head("apiserver_request_duration_seconds", "Time from request to answer.", _LABELS)


class Answers(NamedTuple):
    """What is known of the requests of one series."""

    labels: Sequence[str]
    codes: Mapping[str, int]
    buckets: Sequence[int]
    """How many took as long as each bucket allows, and longer than the one before."""
    seconds: float


def written(series: Iterable[Answers]) -> Iterator[bytes]:
    """The text of both families, in pieces."""
    durations = []
    yield REQUESTS.lines("counter", "_total")
    for answers in series:
        pairs = zip(_LABELS, answers.labels, strict=True)
        shown = ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in pairs)
        yield "".join(
            f'{REQUESTS.name}_total{{{shown},code="{code}",dry_run=""}} {count}.0\n'
            for code, count in answers.codes.items()
        ).encode()
        if any(answers.buckets):
            durations.append(_histogram(shown, answers).encode())
    yield DURATIONS.lines("histogram")
    yield from durations


def _histogram(shown: str, answers: Answers) -> str:
    counts = list(accumulate(answers.buckets))
    start = f'{DURATIONS.name}_bucket{{{shown},le="'
    lines = [f'{start}{bound}"}} {count}.0\n' for bound, count in zip(_BOUNDS, counts, strict=True)]
    lines.append(
        f"{DURATIONS.name}_count{{{shown}}} {counts[-1]}.0\n{DURATIONS.name}_sum{{{shown}}} {answers.seconds}\n"
    )
    return "".join(lines)
