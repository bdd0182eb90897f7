"""A plain connection to a server for those who speak HTTP themselves: TLS, and a proxy on the way where one is set."""

import asyncio
import os
import ssl
from urllib.parse import urlsplit

from karmada.machinery.channel import READ_SIZE, SocketChannel
from karmada.machinery.http.proxy import proxy_for, tunnel
from karmada.machinery.http.target import Target


async def dial(target: Target, context: ssl.SSLContext | None) -> SocketChannel:
    """Connect to a target's server; raises OSError, or `Unavailable` when the proxy refuses."""
    url = urlsplit(target.server)
    host = url.hostname or ""
    port = url.port or (443 if context is not None else 80)
    name = (target.server_name or host) if context is not None else None
    proxy = proxy_for(url.scheme, host, target.proxy, os.environ)
    if proxy is None:
        reader, writer = await asyncio.open_connection(host, port, ssl=context, server_hostname=name, limit=READ_SIZE)
        return SocketChannel(reader, writer)
    raw = await tunnel(proxy, target, host, port)
    reader = asyncio.StreamReader(limit=READ_SIZE)
    protocol = asyncio.StreamReaderProtocol(reader)
    raw.set_protocol(protocol)
    protocol.connection_made(raw)
    writer = asyncio.StreamWriter(raw, protocol, reader, asyncio.get_running_loop())
    if context is not None:
        await writer.start_tls(context, server_hostname=name)
    return SocketChannel(reader, writer)
