"""Tunnels through HTTP proxies (CONNECT), from the kubeconfig or the environment."""

import asyncio
import base64
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from karmada.machinery.errors import Unavailable

HEAD_LIMIT = 16 * 1024


def proxy_for(server: SplitResult, configured: str, environment: Mapping[str, str]) -> SplitResult | None:
    """The proxy to use for a server, if any: the configured one, or the environment's unless `NO_PROXY` excepts it."""
    chosen = configured
    if not chosen:
        name = f"{server.scheme}_proxy"
        chosen = environment.get(name) or environment.get(name.upper()) or ""
        if not chosen or _excepted(server.hostname or "", environment.get("no_proxy") or environment.get("NO_PROXY")):
            return None
    proxy = urlsplit(chosen if "://" in chosen else f"http://{chosen}")
    if proxy.scheme != "http" or not proxy.hostname:
        raise Unavailable(f"proxy-url must be http://host:port, {proxy.scheme} proxies are not supported")
    return proxy


def _excepted(host: str, exceptions: str | None) -> bool:
    if host in ("localhost", "::1") or host.startswith("127."):
        return True
    for entry in (part.strip().lstrip(".") for part in (exceptions or "").split(",")):
        if entry and (entry == "*" or host == entry or host.endswith(f".{entry}") or _in_network(host, entry)):
            return True
    return False


def _in_network(host: str, network: str) -> bool:
    if "/" not in network:
        return False
    import ipaddress

    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


class _Handshake(asyncio.Protocol):
    """Collects the proxy's answer to CONNECT."""

    def __init__(self, answered: asyncio.Future[bytes]) -> None:
        self._answered = answered
        self._data = b""

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._answered.done() and (b"\r\n\r\n" in self._data or len(self._data) > HEAD_LIMIT):
            self._answered.set_result(self._data)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._answered.done():
            self._answered.set_exception(Unavailable("the proxy closed the connection"))


async def tunnel(
    proxy: SplitResult, host: str, port: int, headers: Iterable[tuple[str, str]] = ()
) -> asyncio.Transport:
    """A connection to the server through the proxy, before TLS."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[bytes] = loop.create_future()
    transport, _ = await loop.create_connection(lambda: _Handshake(answered), proxy.hostname or "", proxy.port or 3128)
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    head = f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n"
    if proxy.username:
        pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        head += f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers)
    transport.write(head.encode() + b"\r\n")
    try:
        status = (await answered).split(b"\r\n", 1)[0].decode("latin-1")
    except BaseException:
        transport.abort()
        raise
    if status.split(" ")[1:2] != ["200"]:
        transport.abort()
        raise Unavailable(f"the proxy refused the tunnel: {status}")
    return transport
