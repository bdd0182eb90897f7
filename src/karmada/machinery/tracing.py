"""Traces of one object's way through all components, for OpenTelemetry; off unless an endpoint is named.

Whoever wants to follow a template annotates it with a W3C trace context (`tracing.karmada.io/traceparent`). Bindings
and Works carry it along in the writes that are made anyway, and each component records a span for what it does about an
object that has one. Spans go to a collector as OTLP/HTTP in JSON, in batches, from a bounded queue: what a collector
does not take in time is dropped and counted. Objects without the annotation cost one lookup.
"""

import logging
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import orjson

from karmada.api.annotations import TRACEPARENT
from karmada.api.version import VERSION
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError
from karmada.machinery.http.target import Target
from karmada.machinery.transport import Transport

log = logging.getLogger(__name__)

PATH = "/v1/traces"
WAITING = 2048
BATCH = 512
INTERVAL = 1.0
_CONTEXT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED = 1
_INTERNAL, _OK, _ERROR = 1, 1, 2


class Span(NamedTuple):
    """What a component did about one object."""

    component: str
    trace: str
    parent: str
    id: str
    name: str
    start: float
    end: float
    attributes: Mapping[str, str]
    failed: bool

    def tree(self) -> dict[str, Any]:
        """As OTLP spells it in JSON."""
        return {
            "traceId": self.trace,
            "spanId": self.id,
            "parentSpanId": self.parent,
            "name": self.name,
            "kind": _INTERNAL,
            "startTimeUnixNano": str(int(self.start * 1e9)),
            "endTimeUnixNano": str(int(self.end * 1e9)),
            "attributes": _attributes(self.attributes),
            "status": {"code": _ERROR if self.failed else _OK},
        }


@dataclass(slots=True)
class Spans:
    """Spans of one process that wait for the collector; `transport` leads to it, None is for who collects them."""

    transport: Transport | None = None
    clock: Clock = REAL
    random: Random | None = None
    waiting: deque[Span] = field(default_factory=deque)
    dropped: int = 0

    def tracer(self, component: str) -> "Tracer":
        """Records spans of a component."""
        return Tracer(component, self)

    def add(self, span: Span) -> None:
        """Have a span exported soon, unless too many wait."""
        if len(self.waiting) >= WAITING:
            self.dropped += 1
        else:
            self.waiting.append(span)

    async def run(self) -> None:
        """Export until cancelled."""
        while True:
            await self.clock.sleep(INTERVAL)
            try:
                await self.flush()
            except (ApiError, OSError, TimeoutError) as error:
                log.warning("spans were not exported (%d dropped so far): %s", self.dropped, error)

    async def close(self) -> None:
        """Part from the collector."""
        if self.transport is not None:
            await self.transport.close()

    async def flush(self) -> None:
        """Export what waits; a batch that is refused is dropped, for the next would wait behind it."""
        while self.waiting and self.transport is not None:
            batch = [self.waiting.popleft() for _ in range(min(BATCH, len(self.waiting)))]
            try:
                await self.transport.raw("POST", PATH, orjson.dumps(document(batch)))
            except BaseException:
                self.dropped += len(batch)
                raise


_NOTHING = nullcontext()


class Tracer:
    """Records what one component does about objects that carry a trace context; without `spans` nothing."""

    def __init__(self, component: str = "", spans: Spans | None = None) -> None:
        self._component = component
        self._spans = spans

    def span(self, name: str, annotations: Mapping[str, str], **attributes: str) -> AbstractContextManager[None]:
        """Record how long something takes that is done about an object with these annotations."""
        if self._spans is None or TRACEPARENT not in annotations:
            return _NOTHING
        found = _CONTEXT.fullmatch(annotations[TRACEPARENT])
        if found is None or not int(found[3], 16) & _SAMPLED:
            return _NOTHING
        return self._recorded(self._spans, found[1], found[2], name, attributes)

    @contextmanager
    def _recorded(
        self, spans: Spans, trace: str, parent: str, name: str, attributes: Mapping[str, str]
    ) -> Iterator[None]:
        clock, random = spans.clock, spans.random or spans.clock.random()
        start, failed = clock.now(), True
        try:
            yield
            failed = False
        finally:
            own = f"{random.getrandbits(64) or 1:016x}"
            spans.add(Span(self._component, trace, parent, own, name, start, clock.now(), attributes, failed))


OFF = Tracer()


def spans_to(address: str, agent: str) -> Spans:
    """Spans that go to the collector at an address such as http://127.0.0.1:4318."""
    from karmada.machinery.http.transport import HttpTransport

    return Spans(HttpTransport(Target(address.rstrip("/").removesuffix(PATH)), agent=agent))


def document(batch: list[Span]) -> dict[str, Any]:
    """Spans as one request to a collector."""
    by_component: dict[str, list[dict[str, Any]]] = {}
    for span in batch:
        by_component.setdefault(span.component, []).append(span.tree())
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": name, "service.version": VERSION})},
                "scopeSpans": [{"scope": {"name": "karmada", "version": VERSION}, "spans": spans}],
            }
            for name, spans in by_component.items()
        ]
    }


def _attributes(values: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
