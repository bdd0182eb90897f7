"""pods/proxy and services/proxy: requests that the API server passes on to simulated pods."""

from karmada.apiserver.requests.model import Answer, Call
from karmada.machinery.clock import Clock
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.simulator.network.listeners import web_request
from karmada.simulator.network.plane import Network, Unreachable

DEFAULT_PORT = 80


class PodProxy:
    """Answers for `pods/NAME[:PORT]/proxy` and `services/NAME[:PORT]/proxy` of one member."""

    def __init__(self, cluster: str, network: Network, clock: Clock) -> None:
        self._cluster = cluster
        self._network = network
        self._clock = clock

    async def proxy(self, call: Call) -> Answer:
        """Pass the request on to a pod; a Service leads to one of those behind it."""
        if call.http is None:
            raise bad_request(f"{call.served.type.plural}/proxy passes on HTTP requests; use HTTP")
        scheme, name, port = parts_of(call.name)
        if scheme == "https":
            raise Failure(503, "ServiceUnavailable", "simulated pods speak plain HTTP only")
        request = web_request(call.http, f"/{call.subpath}")
        try:
            if call.served.type.plural == "services":
                target = self._network.route(self._cluster, call.namespace, f"{name}.{call.namespace}.svc", port)
            else:
                target = self._network.at(self._cluster, call.namespace, name, port)
            reply = self._network.ask(target, request, self._cluster)
        except Unreachable as error:
            raise Failure(503, "ServiceUnavailable", f"error trying to reach service: {error}") from None
        await self._clock.sleep(reply.seconds)
        return Answer(reply.status, reply.body, reply.content_type, dict(reply.headers))


def parts_of(name: str) -> tuple[str, str, int]:
    """Scheme, name and port of what a proxy request names: `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`."""
    parts = name.split(":")
    scheme = parts[0] if len(parts) == 3 else "http"
    bare = parts[1] if len(parts) == 3 else parts[0]
    port = parts[-1] if len(parts) > 1 else ""
    if port and not (port.isdecimal() and 0 < int(port) < 1 << 16):
        raise bad_request(f"{name!r}: the port must be a number between 1 and 65535")
    return scheme, bare, int(port or DEFAULT_PORT)
