"""How events reach an API server: in batches where the transport takes them, one request each otherwise.

A sink answers one outcome per write, in order: None where it was written, or the error every transport raises. One
refused write never takes the others of its batch with it.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import orjson

from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.transport import GroupVersionResource, JSONObject

EVENTS = GroupVersionResource("", "v1", "events")
Outcome = ApiError | None


class EventWrite(NamedTuple):
    """A core/v1 event to create, or, where it `happened_again`, the fields to merge into the one of that name."""

    namespace: str
    name: str
    tree: JSONObject
    happened_again: bool = False


class EventSink(Protocol):
    """Where a recorder writes its events."""

    @property
    def at_once(self) -> int:
        """How many writes a batch has at most."""
        ...

    async def write(self, writes: Sequence[EventWrite]) -> list[Outcome]:
        """Write a batch; an outcome for each of it."""
        ...


@runtime_checkable
class TakesEvents(Protocol):
    """A transport with a shorter way for events: components in the API server's own process have it."""

    def events(self) -> EventSink:
        """Where events are written with the identity of the transport."""
        ...


def sink_of(client: Client) -> EventSink:
    """The shortest way for the events of a client."""
    transport = client.transport
    return transport.events() if isinstance(transport, TakesEvents) else RequestSink(client)


class RequestSink:
    """Writes every event by a request of its own."""

    at_once = 1

    def __init__(self, client: Client) -> None:
        self._events = client.encoded(EVENTS)

    async def write(self, writes: Sequence[EventWrite]) -> list[Outcome]:
        """One after another."""
        return [await self._one(write) for write in writes]

    async def _one(self, write: EventWrite) -> Outcome:
        try:
            if write.happened_again:
                await self._events.patch(write.name, write.tree, write.namespace)
            else:
                await self._events.create(orjson.dumps(write.tree), write.namespace)
        except ApiError as error:
            return error
        return None
