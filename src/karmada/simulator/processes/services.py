"""Services on loopback: their addresses lead to the pods behind them, and `/etc/hosts` of every pod knows their names.

Cluster IPs come from the cluster's loopback block, so a listener on the cluster IP is all that is needed; connections
take turns between ready endpoints. Node ports are served on the addresses of the nodes.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable, Mapping
from itertools import count

from karmada.machinery.transport import JSONObject

DOMAIN = "cluster.local"
CHUNK = 64 << 10
BACKLOG = 100
PAUSE = 1.0
"""Seconds until connections are accepted again when there were too many."""
Target = tuple[str, int]
Choose = Callable[[], list[Target]]
"""The endpoints of a port that serve now."""


class Forwarder:
    """One listening port that passes connections on.

    It accepts by itself: an `asyncio.Server` that is closed loses what it has accepted in the same moment.
    """

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._turns = count()
        self._listener: socket.socket | None = None
        self._connections: dict[asyncio.Task[None], socket.socket] = {}

    async def listen(self, host: str, port: int) -> None:
        """Serve; raises OSError when that is not possible."""
        self._listener = socket.create_server((host, port), backlog=BACKLOG)
        self._listener.setblocking(False)
        self._resume(self._listener)

    @property
    def address(self) -> Target:
        """Where it serves."""
        assert self._listener is not None
        host, port = self._listener.getsockname()
        return host, port

    async def close(self) -> None:
        """Stop, and break all connections."""
        if self._listener is not None:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
            self._listener = None
        connections = dict(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        for connection in connections.values():
            connection.close()  # also where the task had not begun

    def _resume(self, listener: socket.socket) -> None:
        if listener is self._listener:
            asyncio.get_running_loop().add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:  # There are no more descriptors: some may be given back.
            loop = asyncio.get_running_loop()
            loop.remove_reader(listener)
            loop.call_later(PAUSE, self._resume, listener)
            return
        connection.setblocking(False)
        task = asyncio.ensure_future(self._forward(connection))
        self._connections[task] = connection
        task.add_done_callback(lambda done: self._connections.pop(done, None))

    async def _forward(self, connection: socket.socket) -> None:
        try:
            reader, writer = await asyncio.open_connection(sock=connection)
        except OSError:
            connection.close()
            return
        try:
            if (there := await self._connect()) is not None:
                inner, outer = there
                try:
                    await asyncio.gather(_pump(reader, outer), _pump(inner, writer))
                finally:
                    outer.transport.abort()
        except OSError:
            pass
        finally:
            writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """A connection to the next endpoint that answers."""
        targets = self._choose()
        start = next(self._turns)
        for index in range(len(targets)):
            with contextlib.suppress(OSError):
                return await asyncio.open_connection(*targets[(start + index) % len(targets)])
        return None


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(CHUNK):
        writer.write(piece)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


def ports_of(service: JSONObject, nodes: Iterable[str]) -> dict[Target, JSONObject]:
    """The addresses at which a Service is served, and the port entry behind each."""
    spec = service["spec"]
    found: dict[Target, JSONObject] = {}
    for entry in spec.get("ports") or ():
        if (entry.get("protocol") or "TCP") != "TCP":
            continue
        if (address := spec.get("clusterIP") or "None") != "None":
            found[address, entry["port"]] = entry
        if entry.get("nodePort"):
            found |= {(node, entry["nodePort"]): entry for node in nodes}
    return found


def targets_of(slices: Iterable[JSONObject], name: str) -> list[Target]:
    """Where connections to a port of a Service may go."""
    found: list[Target] = []
    for one in slices:
        ports = [port["port"] for port in one.get("ports") or () if (port.get("name") or "") == name and port["port"]]
        found += [(address, port) for address in addresses_of(one) for port in ports]
    return found


def addresses_of(one: JSONObject, hostname: str = "") -> list[str]:
    """The ready addresses of an EndpointSlice."""
    return [
        address
        for endpoint in one.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        and hostname in ("", endpoint.get("hostname") or "")
        for address in endpoint.get("addresses") or ()
    ]


def hosts(namespace: str, own: Mapping[str, str], services: Iterable[tuple[JSONObject, list[JSONObject]]]) -> str:
    """The content of `/etc/hosts` for pods of a namespace; `own` are names of the pod itself."""
    lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in own.items())]
    for service, slices in services:
        about, spec = service["metadata"], service["spec"]
        if spec.get("type") == "ExternalName":
            continue
        names = _names(about["name"], about["namespace"], namespace)
        if (address := spec.get("clusterIP") or "None") != "None":
            lines.append(f"{address} {names}")
            continue
        for one in slices:
            lines += [f"{address} {names}" for address in addresses_of(one)]
            named = [endpoint["hostname"] for endpoint in one.get("endpoints") or () if endpoint.get("hostname")]
            for host in named:
                below = _names(f"{host}.{about['name']}", about["namespace"], namespace)
                lines += [f"{address} {below}" for address in addresses_of(one, host)]
    return "\n".join([*lines, ""])


def _names(name: str, namespace: str, here: str) -> str:
    inside = f"{name}.{namespace}.svc"
    return " ".join([*([name] if namespace == here else []), f"{name}.{namespace}", inside, f"{inside}.{DOMAIN}"])
