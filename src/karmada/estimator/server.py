"""The gRPC front of an estimator: bytes in, bytes out, TLS as configured.

Every answer is counted and timed by method. Errors of a question go to its caller and to nobody else.
Questions are bounded in size and number.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from karmada.api.protobuf_wire import ProtobufError
from karmada.estimator.estimate import EstimateError
from karmada.estimator.metrics import EstimatorMetrics
from karmada.scheduler.core.amounts import UNLIMITED
from karmada.scheduler.estimators.messages import (
    SERVICE,
    Answer,
    ReplicasRequest,
    SetsRequest,
    UnschedulableRequest,
)

if TYPE_CHECKING:
    import grpc
    import grpc.aio


CONCURRENT = 256
"""Questions under way at a time; more are refused."""
OPTIONS = [("grpc.max_receive_message_length", 4 * 1024 * 1024), ("grpc.max_metadata_size", 16 * 1024)]

Replicas = Callable[[ReplicasRequest], int]
Sets = Callable[[SetsRequest], int]
Unschedulable = Callable[[UnschedulableRequest], int]


@dataclass(frozen=True, slots=True)
class Tls:
    """Certificate, key, and the authority of clients."""

    cert_file: str = ""
    key_file: str = ""
    client_ca_file: str = ""
    skip_client_verify: bool = False

    @property
    def verifies_clients(self) -> bool:
        """Whether nobody is answered without a certificate of that authority."""
        return bool(self.cert_file and self.client_ca_file) and not self.skip_client_verify


class EstimatorServer:
    """Serves three questions."""

    def __init__(
        self, replicas: Replicas, sets: Sets, unschedulable: Unschedulable, metrics: EstimatorMetrics | None = None
    ) -> None:
        self._metrics = metrics or EstimatorMetrics()
        self._methods: dict[str, Callable[[bytes], int]] = {
            "MaxAvailableReplicas": lambda data: replicas(ReplicasRequest.decode(data)),
            "MaxAvailableComponentSets": lambda data: sets(SetsRequest.decode(data)),
            "GetUnschedulableReplicas": lambda data: unschedulable(UnschedulableRequest.decode(data)),
        }
        self._server: grpc.aio.Server | None = None

    async def listen(self, address: str, tls: Tls | None = None) -> int:
        """Start serving; the port."""
        import grpc
        import grpc.aio

        server = grpc.aio.server(maximum_concurrent_rpcs=CONCURRENT, options=OPTIONS)
        handlers = {name: grpc.unary_unary_rpc_method_handler(self._method(name)) for name in self._methods}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        if tls is None or not tls.cert_file:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, _credentials(tls))
        await server.start()
        self._server = server
        return int(port)

    async def close(self, grace: float = 1.0) -> None:
        """Stop serving."""
        if self._server is not None:
            await self._server.stop(grace)

    def _method(self, name: str) -> "Callable[[bytes, grpc.aio.ServicerContext[bytes, bytes]], Awaitable[bytes]]":
        answer = self._methods[name]

        async def handle(data: bytes, context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
            import grpc

            started = perf_counter()
            result = "error"
            try:
                # Negative numbers mean something else on the wire.
                number = min(UNLIMITED, max(0, answer(data)))
                result = "success"
                return Answer(number).encode()
            except EstimateError as error:
                await context.abort(grpc.StatusCode.UNKNOWN, str(error))
            except ProtobufError as error:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"the request is malformed: {error}")
            finally:
                self._metrics.observe(name, result, perf_counter() - started)
            raise AssertionError("abort raises")

        return handle


def _credentials(tls: Tls) -> "grpc.ServerCredentials":
    import grpc

    pair = (Path(tls.key_file).read_bytes(), Path(tls.cert_file).read_bytes())
    authority = Path(tls.client_ca_file).read_bytes() if tls.client_ca_file else None
    verify = tls.verifies_clients
    return grpc.ssl_server_credentials([pair], authority if verify else None, require_client_auth=verify)
