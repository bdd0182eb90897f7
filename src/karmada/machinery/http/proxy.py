"""Which proxy a server is reached through, and the tunnel through it: `http`, `https` and `socks5` proxies.

The proxy is set in the kubeconfig, in the Cluster or in the environment. It learns nothing but where the tunnel leads:
the server's credentials are sent inside, and no client certificate is shown to a proxy.
"""

import asyncio
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from karmada.machinery.errors import Unavailable
from karmada.machinery.http.target import Target
from karmada.machinery.os_errors import spelled

if TYPE_CHECKING:
    from urllib.parse import SplitResult

PORTS = {"http": 3128, "https": 443, "socks5": 1080, "socks5h": 1080}


def proxy_for(scheme: str, host: str, configured: str, environment: Mapping[str, str]) -> "SplitResult | None":
    """The proxy to use for a server, if any: the configured one, or the environment's unless `NO_PROXY` excepts it."""
    chosen = configured
    if not chosen:
        name = f"{scheme}_proxy"
        chosen = environment.get(name) or environment.get(name.upper()) or ""
        if not chosen or _excepted(host, environment.get("no_proxy") or environment.get("NO_PROXY")):
            return None
    from urllib.parse import urlsplit

    proxy = urlsplit(chosen if "://" in chosen else f"http://{chosen}")
    if proxy.scheme not in PORTS or not proxy.hostname:
        raise Unavailable("a proxy must be http://, https:// or socks5:// with host[:port]")
    return proxy


async def tunnel(proxy: "SplitResult", target: Target, host: str, port: int) -> asyncio.Transport:
    """A connection to a server through its proxy, before the server's own TLS; `Unavailable` names what went wrong."""
    from karmada.machinery.http.proxy_handshakes import Incoming, http_connect, socks5_connect

    loop = asyncio.get_running_loop()
    where = proxy.hostname or ""
    context = _context(target.authority.read(), target.insecure) if proxy.scheme == "https" else None
    try:
        transport, incoming = await loop.create_connection(
            Incoming, where, proxy.port or PORTS[proxy.scheme], ssl=context, server_hostname=where if context else None
        )
    except ssl.SSLCertVerificationError as error:
        raise Unavailable(f"the proxy {where} cannot be trusted: {error.verify_message}") from error
    except OSError as error:
        raise Unavailable(f"no connection to the proxy {where}: {spelled(error)}") from error
    try:
        if proxy.scheme in ("http", "https"):
            await http_connect(transport, incoming, proxy, host, port, target.proxy_headers)
        else:
            await socks5_connect(transport, incoming, proxy, host, port)
    except BaseException:
        transport.abort()
        raise
    return transport


@lru_cache(maxsize=64)
def _context(authority: bytes, insecure: bool) -> ssl.SSLContext:
    """How a proxy is trusted: by the system's CAs or by the CA that is given for the server behind it."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authority:
        context.load_verify_locations(cadata=authority.decode("ascii"))
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


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
