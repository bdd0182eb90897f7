"""Who is to hear of changes: messages gathered for a quarter of a second and encoded once, however many readers."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import orjson

from karmada.dashboard.rows import JSONObject, Ref
from karmada.machinery.clock import Clock

PAUSE = 0.25
"""Seconds between two messages of a stream."""
QUEUE = 32
"""Messages that may wait for a reader."""


@dataclass(slots=True)
class Changes:
    """What changed since the last messages."""

    clusters: set[str] = field(default_factory=set)
    workloads: dict[str, Ref] = field(default_factory=dict)
    events: dict[str, JSONObject] = field(default_factory=dict)
    topics: set[str] = field(default_factory=set)
    """Topics that are not sent row by row: readers read them anew."""


class Subscription:
    """One reader of changes."""

    def __init__(self, topics: frozenset[str]) -> None:
        self.topics = topics
        self.messages: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUE)
        self.behind = False
        """Whether messages were lost: a snapshot makes up for them."""

    def put(self, message: bytes | None) -> None:
        """Hand over a message, or the end (None)."""
        if self.messages.full():
            while not self.messages.empty():
                self.messages.get_nowait()
            self.behind = True
        self.messages.put_nowait(message)


class Feed:
    """The readers of one board. `change` makes the message of a topic from what changed, empty if nothing did."""

    def __init__(self, clock: Clock, change: Callable[[str, Changes], bytes]) -> None:
        self._clock = clock
        self._change = change
        self._readers: set[Subscription] = set()
        self._changes = Changes()
        self._due: asyncio.TimerHandle | None = None
        self._sent_at = -PAUSE

    def __len__(self) -> int:
        return len(self._readers)

    def subscribe(self, topics: frozenset[str]) -> Subscription:
        """Begin to hear of changes."""
        made = Subscription(topics)
        self._readers.add(made)
        return made

    def unsubscribe(self, subscription: Subscription) -> None:
        """Hear no more."""
        self._readers.discard(subscription)

    def end(self) -> None:
        """End all streams."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        for one in self._readers:
            one.put(None)

    def touch(
        self,
        clusters: Iterable[str] = (),
        workloads: Mapping[str, Ref] | None = None,
        events: Mapping[str, JSONObject] | None = None,
        topics: Iterable[str] = (),
    ) -> None:
        """Something changed: send it soon, not sooner than `PAUSE` after the last time."""
        if not self._readers:
            return
        changes = self._changes
        changes.clusters.update(clusters)
        changes.workloads.update(workloads or {})
        changes.events.update(events or {})
        changes.topics.update(topics)
        if self._due is None:
            wait = max(0.0, self._sent_at + PAUSE - self._clock.monotonic())
            self._due = self._clock.call_later(wait, self._send)

    def _send(self) -> None:
        self._due = None
        self._sent_at = self._clock.monotonic()
        changes, self._changes = self._changes, Changes()
        made: dict[frozenset[str], bytes] = {}
        parts: dict[str, bytes] = {}
        for one in tuple(self._readers):
            whole = made.get(one.topics)
            if whole is None:
                for topic in one.topics - parts.keys():
                    parts[topic] = self._change(topic, changes)
                whole = made[one.topics] = b"".join(parts[topic] for topic in sorted(one.topics))
            if whole:
                one.put(whole)


def message(data: JSONObject) -> bytes:
    """A change as a server-sent event."""
    return b"event: changed\ndata: " + orjson.dumps(data) + b"\n\n"
