"""One transport over those of several credentials that may read the same: each request is made by one of them.

A watch ends when the credential that carries it leaves; whoever follows it resumes with another one's.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress

from karmada.machinery.errors import Forbidden, Unauthorized, Unavailable
from karmada.machinery.transport import Request, Transport, WatchEvent, WatchStream


class Carrier:
    """The transport of one credential, for as long as it takes part."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.left = asyncio.Event()


class Relay:
    """Implements `machinery.transport.Transport`."""

    def __init__(self) -> None:
        self._carriers: deque[Carrier] = deque()

    def __len__(self) -> int:
        return len(self._carriers)

    def join(self, transport: Transport) -> Carrier:
        """Let a credential take part."""
        made = Carrier(transport)
        self._carriers.append(made)
        return made

    def leave(self, carrier: Carrier) -> None:
        """Make no request with a credential any more, and end its watches."""
        carrier.left.set()
        with suppress(ValueError):
            self._carriers.remove(carrier)

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch."""
        carrier = self._carrier()
        try:
            return await carrier.transport.send(request)
        except (Unauthorized, Forbidden):
            self._pass_over(carrier)
            raise

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Open a watch; leaving the context closes it."""
        carrier = self._carrier()
        try:
            async with carrier.transport.watch(request) as stream:
                events = _until(carrier.left, stream)
                try:
                    yield events
                finally:
                    await events.aclose()
        except (Unauthorized, Forbidden):
            self._pass_over(carrier)
            raise

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource."""
        return await self._carrier().transport.raw(method, path, body, accept)

    async def close(self) -> None:
        """Transports belong to those who brought them."""

    def _carrier(self) -> Carrier:
        if not self._carriers:
            raise Unavailable("nobody who may read this is signed in")
        return self._carriers[0]

    def _pass_over(self, carrier: Carrier) -> None:
        """Try another one next time: this one's rights are gone, which whoever owns it will notice soon."""
        if self._carriers and self._carriers[0] is carrier:
            self._carriers.rotate(-1)


async def _until(left: asyncio.Event, stream: WatchStream) -> AsyncGenerator[list[WatchEvent], None]:
    gone = asyncio.ensure_future(left.wait())
    batch: asyncio.Future[list[WatchEvent]] | None = None
    try:
        while not left.is_set():
            batch = asyncio.ensure_future(anext(stream))
            await asyncio.wait({batch, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not batch.done():
                return
            try:
                found = batch.result()
            except StopAsyncIteration:
                return
            yield found
    finally:
        gone.cancel()
        if batch is not None and not batch.done():
            batch.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration):
                await batch
