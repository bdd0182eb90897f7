"""Port-forward: a simulated port answers HTTP with a few facts and echoes everything else."""

from karmada.apiserver.http.backends import ForwardingFailed
from karmada.apiserver.http.model import ByteStream
from karmada.apiserver.watchcache import WatchCache
from karmada.simulator.runtime.pods import find

_METHODS = (b"GET ", b"HEAD ", b"POST ", b"PUT ", b"DELETE ")


class Forwarding:
    """Connects to ports of pods."""

    def __init__(self, store: WatchCache) -> None:
        self._store = store

    async def forward(self, namespace: str, pod: str, port: int, stream: ByteStream) -> None:
        """Serve one connection to its end."""
        found = find(self._store, namespace, pod)
        if found.status.phase != "Running":
            raise ForwardingFailed(f"pod {pod} is not running")
        while data := await stream.read():
            if data.startswith(_METHODS):
                body = f"{namespace}/{pod}:{port} on {found.spec.node_name}\n".encode()
                head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                await stream.write(head % len(body) + body)
                break
            await stream.write(data)
        await stream.close()
