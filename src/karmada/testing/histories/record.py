"""What clients of a storage did and saw, written down with a counter that says what was before what."""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import orjson

from karmada.apiserver.storage.base import Value
from karmada.apiserver.watchcache.model import Index, Item
from karmada.machinery.transport import EventType

KIND = ("", "configmaps")


class Outcome(Enum):
    """How a write ended, as its author knows."""

    UNKNOWN = "unknown"
    DONE = "done"
    CONFLICT = "conflict"
    FAILED = "failed"


class Commit(NamedTuple):
    """A write that took effect; `body` is None for a deletion."""

    revision: int
    key: str
    body: bytes | None


@dataclass(slots=True)
class Write:
    """One attempt to change a key. Its text occurs in no other one."""

    key: str
    text: str
    expected: int
    deletes: bool
    start: int
    end: int = 0
    outcome: Outcome = Outcome.UNKNOWN
    revision: int = 0
    """Of the write, or, after a conflict, the one that the key was said to have."""

    def __str__(self) -> str:
        what = f"{'delete' if self.deletes else 'put'} {self.key}@{self.expected} {self.text}"
        return f"{self.start}-{self.end} {what}: {self.outcome.value} {self.revision}"


@dataclass(slots=True)
class Read:
    """What was found under a prefix at a revision, as bodies by key."""

    prefix: str
    start: int
    end: int
    revision: int
    found: dict[str, bytes]
    fresh: bool
    """Whether it must show everything that was acknowledged before it."""

    def __str__(self) -> str:
        return f"{self.start}-{self.end} read {self.prefix} at {self.revision}: {len(self.found)} objects"


class Seen(NamedTuple):
    """An event as a watcher got it; of a bookmark only the revision counts."""

    type: EventType
    key: str
    revision: int
    body: bytes


@dataclass(slots=True)
class Stream:
    """One watch from its begin to its end."""

    prefix: str
    color: str | None
    """Only objects with this label."""
    after: int
    initial: bool
    events: list[Seen] = field(default_factory=list)
    complete_until: int = 0
    """It was waited for until nothing more came, when everything up to here had been committed."""

    def __str__(self) -> str:
        return f"watch {self.prefix} color={self.color} after {self.after}"


class History:
    """Everything that happened to one store, over all of its lives."""

    def __init__(self) -> None:
        self.commits: list[Commit] = []
        self.writes: list[Write] = []
        self.reads: list[Read] = []
        self.streams: list[Stream] = []
        self.compacted = 0
        """The highest revision that anybody asked to forget."""
        self.problems: list[str] = []
        """What was wrong at once."""
        self.steps: list[str] = []
        self._clock = 0

    def tick(self) -> int:
        """A moment that is later than all before."""
        self._clock += 1
        return self._clock

    def note(self, step: object) -> None:
        """Add a line to the story."""
        self.steps.append(f"{self._clock:5} {step}")

    def recovered(self, commits: list[Commit]) -> None:
        """Commits that were found after a crash: writes that failed in the last moment may be among them."""
        self.commits += commits
        texts = {text_of(commit.body) for commit in commits if commit.body is not None}
        deleted = {commit.key for commit in commits if commit.body is None}
        for write in self.writes:
            found = write.key in deleted if write.deletes else write.text in texts
            if found and write.outcome is Outcome.FAILED:
                write.outcome, write.end = Outcome.UNKNOWN, 0

    @property
    def revision(self) -> int:
        """Of the last commit that is known."""
        return self.commits[-1].revision if self.commits else 0


def value(text: str, color: str, size: int = 0) -> Value:
    """An object to write."""
    tail = f'","labels":{{"color":"{color}"}}}},"text":"{text}","ballast":"{"x" * size}"}}'
    return Value(b'{"metadata":{"resourceVersion":"', tail.encode())


def index(kind: tuple[str, str], body: bytes) -> Index:
    """What selectors need of it."""
    tree = orjson.loads(body)
    return Index("", tree["metadata"]["labels"], (), {})


def color_of(body: bytes) -> str:
    """The label of an object."""
    return str(orjson.loads(body)["metadata"]["labels"]["color"])


def text_of(body: bytes) -> str:
    """What distinguishes it from all others."""
    return str(orjson.loads(body)["text"])


def has_color(color: str, item: Item) -> bool:
    """A selector."""
    return item.index.labels.get("color") == color
