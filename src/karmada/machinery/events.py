"""Events for people: what a component did to an object, and why.

`EventRecorder.event` never waits and never fails. A background task writes, after folding what belongs together:

- the same event again raises the count of the first one;
- messages are cut at `LONGEST` bytes;
- from the `SIMILAR`th event on, those that differ only in their message become one "combined" event;
- an object gets at most `BURST` events, then one every `REFILL` seconds;
- a busy process's events wait for quieter moments, and are dropped when too many wait: work goes first.

Where the transport takes batches (`machinery.event_sink`), everything that gathered is one write; while the process is
busy it gathers for up to `PATIENCE` seconds, so that what happens again is counted before it is stored.

The shapes are those of core/v1 events as other components write them, so `kubectl describe` shows them alike.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Hashable
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock, rfc3339
from karmada.machinery.errors import AlreadyExists, ApiError, NotFound
from karmada.machinery.event_sink import EventWrite, sink_of
from karmada.machinery.transport import JSONObject

log = logging.getLogger(__name__)
V = TypeVar("V")

BACKLOG = 50
"""With more events the process is busy with real work: one by one they are written at a pace, batches are gathered."""
PACE = 0.01
"""Seconds from one to the next after the work is done, and at least while more come."""
IDLE = 4
"""How many times longer than a write took nobody writes while more come: a server that is short of time takes longer,
and has better things to do."""
RETREAT = 0.1
"""The most seconds of that for each event."""
QUIET = 1.0
"""Seconds without an event after which the work is done."""
LONGEST = 1024
"""Bytes of a message: API servers take no more of events.k8s.io."""
COMBINED = "(combined from similar events): "
SIMILAR = 10
INTERVAL = 600.0
BURST = 25
REFILL = 300.0
REMEMBERED = 1024
"""Objects, kinds of events and events that a recorder remembers: a process has about ten recorders."""
FORGOTTEN = 3600.0
"""Seconds after which an event that did not happen again is not counted on: API servers keep events for an hour."""
WAITING = 20_000
"""Events of a process that may wait, about half a kilobyte each."""
GATHERING = 0.1
"""Seconds in which what happens again is only counted. Writing can wait: people read events, nothing acts on them."""
PATIENCE = 10.0
"""The most seconds for which a busy process gathers a batch."""
ROOM = 0.8
"""The share of what may wait that ends the gathering."""
ATTEMPTS = 4


class ObjectReference(NamedTuple):
    """The object an event is about."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @classmethod
    def to(cls, value: Any) -> "ObjectReference":
        """The reference to a struct of `karmada.api` or to a tree."""
        if isinstance(value, dict):
            metadata = value.get("metadata") or {}
            names = (metadata.get("name", ""), metadata.get("namespace", ""), metadata.get("uid", ""))
            return cls(value["apiVersion"], value["kind"], *names, metadata.get("resourceVersion", ""))
        meta = value.metadata
        return cls(value.api_version, value.kind, meta.name, meta.namespace, meta.uid, meta.resource_version)

    @property
    def which(self) -> Hashable:
        """What distinguishes this object from others."""
        return self.uid or self[:5]

    def tree(self) -> JSONObject:
        """As events hold it."""
        fields = {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "apiVersion": self.api_version,
            "resourceVersion": self.resource_version,
        }
        return {name: value for name, value in fields.items() if value}


class _Happening(NamedTuple):
    about: ObjectReference
    type: str
    reason: str
    message: str
    at: float
    times: int = 1


class _Recent(Generic[V]):
    """A dictionary that forgets the oldest of too many, and whatever was not put for some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._values: OrderedDict[Hashable, tuple[float, V]] = OrderedDict()
        self._due = float("-inf")
        """When the oldest of them may be old enough to go: until then nobody needs to look."""

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> V | None:
        found = self._values.get(key)
        return found[1] if found is not None else None

    def put(self, key: Hashable, value: V, now: float) -> None:
        self._values[key] = (now, value)
        self._values.move_to_end(key)
        if len(self._values) > REMEMBERED:
            self._values.popitem(last=False)
        if now > self._due:
            self._forget(now)

    def _forget(self, now: float) -> None:
        while (oldest := next(iter(self._values.values()))[0]) < now - self._seconds:
            self._values.popitem(last=False)
        self._due = oldest + self._seconds


class _Tokens(NamedTuple):
    left: float
    at: float


class _Group(NamedTuple):
    messages: tuple[str, ...]
    last: float


class _Logged(NamedTuple):
    name: str
    times: int


class _Pending(NamedTuple):
    """What is about to be written under a key: happenings of one batch that are the same event."""

    happening: _Happening
    """The last of them; its `times` are those of all."""
    message: str
    known: _Logged | None

    @property
    def times(self) -> int:
        """How often it has happened by then."""
        return self.happening.times + (self.known.times if self.known else 0)


class Pace:
    """How fast the recorders of one process may write, all together."""

    def __init__(self, clock: Clock = REAL) -> None:
        self._clock = clock
        self._turn = asyncio.Lock()
        self._last = float("-inf")
        self._streak = 0
        """How many events came without a pause."""
        self.waiting = 0

    @property
    def is_full(self) -> bool:
        """Whether no more may wait."""
        return self.waiting >= WAITING

    def note(self, now: float) -> None:
        """Something happened."""
        self._streak = self._streak + 1 if now - self._last < QUIET else 1
        self._last = now

    async def turn(self, events: int, took: float) -> None:
        """Wait until one more batch may be written, after one of some events that took so many seconds."""
        if self.waiting > BACKLOG:
            async with self._turn:
                busy = self._goes_on and not self._is_nearly_full
                await self._clock.sleep(max(PACE, min(IDLE * took, RETREAT * events)) if busy else PACE)

    async def calm(self) -> None:
        """Wait while many events come without a pause, at most for `PATIENCE`, or until `ROOM` is taken."""
        until = self._clock.monotonic() + PATIENCE
        while self._streak > BACKLOG and self._goes_on and not self._is_nearly_full:
            if self._clock.monotonic() >= until:
                return
            await self._clock.sleep(QUIET / 2)

    @property
    def _is_nearly_full(self) -> bool:
        return self.waiting >= WAITING * ROOM

    @property
    def _goes_on(self) -> bool:
        return self._clock.now() - self._last < QUIET


class EventRecorder:
    """Records events of one component; run `run` in the background. Recorders of one process share a pace."""

    def __init__(
        self,
        client: Client,
        component: str,
        *,
        clock: Clock = REAL,
        pace: Pace | None = None,
        space: str = "",
    ) -> None:
        """With a `space` all events are written there, for those who may write nowhere else."""
        self._sink = sink_of(client)
        self._component = component
        self._clock = clock
        self._pace = pace or Pace(clock)
        self._space = space
        self._waiting: dict[Hashable, _Happening] = {}
        """What is to be written, in order; the same thing happening again is counted here, not written twice."""
        self._waiting_about: dict[Hashable, int] = {}
        """How many of these are about an object: a flood about one must not silence others."""
        self._wake = asyncio.Event()
        self._tokens: _Recent[_Tokens] = _Recent(BURST * REFILL)
        self._groups: _Recent[_Group] = _Recent(INTERVAL)
        self._logged: _Recent[_Logged] = _Recent(FORGOTTEN)
        self._last_stamp = 0
        self.dropped = 0

    def event(self, about: ObjectReference, type_: str, reason: str, message: str) -> None:
        """Note an event; it is written soon, folded with others, or dropped when there are too many."""
        now = self._clock.now()
        if self._space:
            # API servers take events about an object only in the namespace that they say it is in.
            about = about._replace(namespace=self._space)
        which, message = about.which, _cut(message)
        key = (which, type_, reason, message)
        known = self._waiting.get(key)
        self._pace.note(now)
        if known is None:
            about_it = self._waiting_about.get(which, 0)
            if about_it >= BURST or self._pace.is_full:
                self.dropped += 1
                return
            self._waiting_about[which] = about_it + 1
            self._pace.waiting += 1
        self._waiting[key] = _Happening(about, type_, reason, message, now, known.times + 1 if known else 1)
        self._wake.set()

    @property
    def remembered(self) -> int:
        """How much is remembered of what happened, to count it if it happens again."""
        return len(self._tokens) + len(self._groups) + len(self._logged)

    async def run(self) -> None:
        """Write what was noted until cancelled."""
        while True:
            await self._wake.wait()
            await self._clock.sleep(GATHERING)
            if self._sink.at_once > 1:
                await self._pace.calm()
            self._wake.clear()
            await self.flush()

    async def flush(self) -> None:
        """Write everything noted so far."""
        while self._waiting:
            keys = list(islice(self._waiting, self._sink.at_once))
            batch = [self._waiting.pop(key) for key in keys]
            if not self._waiting:
                self._waiting_about.clear()
            self._pace.waiting -= len(batch)
            started = self._clock.monotonic()
            await self._write([granted for happening in batch if (granted := self._granted(happening)).times])
            await self._pace.turn(len(batch), self._clock.monotonic() - started)

    def _granted(self, happening: _Happening) -> _Happening:
        """An event as often as its object may have one by now; the rest is dropped."""
        which, now, times = happening.about.which, happening.at, happening.times
        tokens = self._tokens.get(which)
        left = min(float(BURST), tokens.left + (now - tokens.at) / REFILL) if tokens else float(BURST)
        granted = min(times, int(left))
        self._tokens.put(which, _Tokens(left - granted, now), now)
        self.dropped += times - granted
        return happening if granted == times else happening._replace(times=granted)

    def _folded(self, happening: _Happening) -> tuple[Hashable, str]:
        """What makes this event the same as another, and the message to write."""
        about, type_, reason, message, now, _ = happening
        key = (about.which, type_, reason)
        group = self._groups.get(key)
        if group is None or now - group.last > INTERVAL:
            group = _Group((), now)
        messages = group.messages
        if message not in messages:
            messages = (*messages, message)
        if len(messages) < SIMILAR:
            self._groups.put(key, _Group(messages, now), now)
            return (key, message), message
        # Like a full pot: one message goes so that the next different one is still seen as one too many.
        self._groups.put(key, _Group(tuple(other for other in messages if other != message), now), now)
        return key, COMBINED + message

    async def _write(self, batch: list[_Happening]) -> None:
        pending = self._pending(batch)
        for attempt in range(ATTEMPTS):
            writes = [self._request(one) for one in pending.values()]
            outcomes = await self._sink.write(writes)
            again: dict[Hashable, _Pending] = {}
            pause = False
            for (key, one), write, outcome in zip(pending.items(), writes, outcomes, strict=True):
                if outcome is None:
                    self._logged.put(key, _Logged(write.name, one.times), one.happening.at)
                    continue
                repeated = self._after(one, outcome, attempt)
                if repeated is not None:
                    again[key] = repeated
                    pause |= outcome.transient
            if not again:
                return
            if pause:
                await self._clock.sleep(2.0**attempt)
            pending = again
        self.dropped += len(pending)

    def _pending(self, batch: list[_Happening]) -> dict[Hashable, _Pending]:
        """The writes of a batch by what makes events the same, in order."""
        pending: dict[Hashable, _Pending] = {}
        for happening in batch:
            key, message = self._folded(happening)
            before = pending.get(key)
            if before is not None:
                happening = happening._replace(times=before.happening.times + happening.times)
            pending[key] = _Pending(happening, message, before.known if before else self._logged.get(key))
        return pending

    def _after(self, one: _Pending, outcome: ApiError, attempt: int) -> _Pending | None:
        """What to write once more after a refusal; None gives it up."""
        if isinstance(outcome, NotFound):
            # The event was pruned by its age, or the namespace is gone.
            return one._replace(known=None) if one.known is not None else None
        if isinstance(outcome, AlreadyExists):
            # Another component named an event about the same object at the same moment: the next name is free.
            return one
        if outcome.transient and attempt < ATTEMPTS - 1:
            return one
        log.warning("an event about %s was not written: %s", one.happening.about.name, outcome)
        self.dropped += 1
        return None

    def _request(self, one: _Pending) -> EventWrite:
        happening, message, known = one
        about, moment = happening.about, rfc3339(happening.at)
        namespace = about.namespace or "default"
        if known is not None:
            patch = {"count": one.times, "lastTimestamp": moment, "message": message}
            return EventWrite(namespace, known.name, patch, happened_again=True)
        name = f"{about.name}.{self._stamp():x}"
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": about.tree(),
            "reason": happening.reason,
            "message": message,
            "source": {"component": self._component},
            "firstTimestamp": moment,
            "lastTimestamp": moment,
            "count": happening.times,
            "type": happening.type,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        return EventWrite(namespace, name, event)

    def _stamp(self) -> int:
        """Nanoseconds since the epoch, never the same twice."""
        self._last_stamp = max(self._last_stamp + 1, int(self._clock.now() * 1e9))
        return self._last_stamp


def _cut(message: str) -> str:
    """A message that is short enough also where it becomes a combined one."""
    most, encoded = LONGEST - len(COMBINED), message.encode(errors="replace")
    if len(encoded) <= most:
        return message
    return encoded[: most - 3].decode(errors="ignore") + "..."
