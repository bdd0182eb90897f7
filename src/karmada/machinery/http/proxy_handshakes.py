"""What is said to a proxy before it carries bytes: HTTP CONNECT (RFC 9110), or SOCKS5 (RFC 1928, RFC 1929)."""

import asyncio
import base64
import ipaddress
from collections.abc import Iterable
from urllib.parse import SplitResult, unquote

from karmada.machinery.errors import Unavailable
from karmada.machinery.http.head import UnsafeHead, request_head

HEAD_LIMIT = 16 * 1024
_NO_LOGIN, _LOGIN = 0, 2
_IPV4, _NAME, _IPV6 = 1, 3, 4
_SOCKS_REFUSALS = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "time to live expired",
    7: "command not supported",
    8: "kind of address not supported",
}


class Incoming(asyncio.Protocol):
    """What a proxy answers, read piece by piece by one reader."""

    def __init__(self) -> None:
        self._data = b""
        self._more: asyncio.Future[None] | None = None
        self._lost = False

    def data_received(self, data: bytes) -> None:
        self._data += data
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        self._wake()

    async def exactly(self, size: int) -> bytes:
        """The next bytes."""
        while len(self._data) < size:
            await self._wait()
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    async def until(self, end: bytes) -> bytes:
        """Everything before an end mark, which is dropped."""
        while end not in self._data:
            if len(self._data) > HEAD_LIMIT:
                raise Unavailable("the proxy's answer is too long")
            await self._wait()
        taken, _, self._data = self._data.partition(end)
        return taken

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    async def _wait(self) -> None:
        if self._lost:
            raise Unavailable("the proxy closed the connection")
        self._more = asyncio.get_running_loop().create_future()
        await self._more


async def http_connect(
    transport: asyncio.Transport,
    incoming: Incoming,
    proxy: SplitResult,
    host: str,
    port: int,
    headers: Iterable[tuple[str, str]] = (),
) -> None:
    """Have an HTTP proxy connect us."""
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    fields = [("Host", where)]
    if proxy.username:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        fields.append(("Proxy-Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"))
    try:
        transport.write(request_head("CONNECT", where, [*fields, *headers]))
    except UnsafeHead as error:
        raise Unavailable(f"the proxy cannot be asked: {error}") from None
    status = (await incoming.until(b"\r\n\r\n")).split(b"\r\n", 1)[0].decode("latin-1")
    if status.split(" ")[1:2] != ["200"]:
        raise Unavailable(f"the proxy refused the tunnel: {status}")


async def socks5_connect(
    transport: asyncio.Transport, incoming: Incoming, proxy: SplitResult, host: str, port: int
) -> None:
    """Have a SOCKS5 proxy connect us; it is the proxy that looks names up."""
    offered = bytes([_NO_LOGIN, _LOGIN]) if proxy.username else bytes([_NO_LOGIN])
    transport.write(bytes([5, len(offered)]) + offered)
    version, method = await incoming.exactly(2)
    if version != 5:
        raise Unavailable("the proxy does not speak SOCKS5")
    if method not in offered:
        raise Unavailable("the proxy wants another login than a name and password in its URL")
    if method == _LOGIN:
        name, password = (unquote(part or "").encode() for part in (proxy.username, proxy.password))
        if max(len(name), len(password)) > 255:
            raise Unavailable("the name or password for the proxy is too long")
        transport.write(bytes([1, len(name)]) + name + bytes([len(password)]) + password)
        if (await incoming.exactly(2))[1] != 0:
            raise Unavailable("the proxy refused the name and password in its URL")
    transport.write(b"\x05\x01\x00" + _address(host) + port.to_bytes(2, "big"))
    _, answer, _, kind = await incoming.exactly(4)
    if answer != 0:
        raise Unavailable(f"the proxy refused the tunnel: {_SOCKS_REFUSALS.get(answer, f'code {answer}')}")
    sizes = {_IPV4: 4, _IPV6: 16}
    size = sizes[kind] if kind in sizes else (await incoming.exactly(1))[0]
    await incoming.exactly(size + 2)


def _address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("idna")
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if address.version == 4 else _IPV6]) + address.packed
