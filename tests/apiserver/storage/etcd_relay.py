"""A gRPC relay in front of an etcd that says it is of another version, and can keep events back."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

from karmada.apiserver.storage.etcd.messages import MESSAGES

STATUS, WATCH = "/etcdserverpb.Maintenance/Status", "/etcdserverpb.Watch/Watch"


class Relay(grpc.GenericRpcHandler):
    """Passes everything on as it is, the version excepted."""

    def __init__(self, target: str, version: str) -> None:
        self._channel = grpc.aio.insecure_channel(target)
        self._version = version
        self._server = grpc.aio.server()
        self._server.add_generic_rpc_handlers((self,))
        self.endpoint = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self.asked: list[str] = []
        """The methods that were called."""
        self.is_silent = False
        """Whether events are kept back."""

    async def start(self) -> None:
        await self._server.start()

    async def stop(self) -> None:
        await self._server.stop(None)
        await self._channel.close(None)

    def service(self, details: Any) -> Any:
        method = details.method
        self.asked.append(method)
        if method == WATCH:
            return grpc.stream_stream_rpc_method_handler(self._watch)

        async def unary(request: bytes, context: Any) -> bytes:
            answer: bytes = await self._channel.unary_unary(method)(request)
            return MESSAGES["StatusResponse"](version=self._version).SerializeToString() if method == STATUS else answer

        return grpc.unary_unary_rpc_method_handler(unary)

    async def _watch(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        call: Any = self._channel.stream_stream(WATCH)()

        async def forward() -> None:
            async for request in requests:
                await call.write(request)

        forwarding = asyncio.create_task(forward())
        try:
            async for answer in call:
                if not (self.is_silent and MESSAGES["WatchResponse"].FromString(answer).events):
                    yield answer
        finally:
            forwarding.cancel()
            call.cancel()
