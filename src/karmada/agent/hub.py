"""The agent's transport to the control plane, whose credentials can be replaced while it is in use."""

import contextlib
from collections.abc import AsyncIterator

from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import Request, WatchStream


class HubTransport:
    """Implements `machinery.transport.Transport` on whatever target is the present one."""

    def __init__(self, target: Target, agent: str = "karmada-agent") -> None:
        self._agent = agent
        self.target = target
        self._inner = HttpTransport(target, agent=agent)

    async def renew(self, target: Target) -> None:
        """Use another target from now on; what is under way on the old one may finish."""
        previous, self._inner, self.target = self._inner, HttpTransport(target, agent=self._agent), target
        await previous.close()

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch."""
        return await self._inner.send(request)

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Open a watch."""
        async with self._inner.watch(request) as stream:
            yield stream

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource."""
        return await self._inner.raw(method, path, body, accept)

    async def close(self) -> None:
        """Close all connections."""
        await self._inner.close()
