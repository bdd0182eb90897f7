"""`ApiServer`: the parts wired together, usable in a test's own process or behind HTTPS.

    async with ApiServer(ApiServerOptions()) as server:
        transport = server.direct(user)
"""

import asyncio
import random
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

import orjson

from karmada.apiserver.admission.model import AdmissionChain, AdmissionPlugin
from karmada.apiserver.auth.model import Attributes, Authorizer, Decision, UserInfo
from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.direct import DirectTransport
from karmada.apiserver.http.model import HttpRequest
from karmada.apiserver.http.server import HttpServer
from karmada.apiserver.pages import ServerPages
from karmada.apiserver.requests.door import Door
from karmada.apiserver.requests.http_door import HttpDoor
from karmada.apiserver.requests.model import Context
from karmada.apiserver.requests.pipeline import Pipeline
from karmada.apiserver.storage.base import Storage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.store import Index, Kind, ObjectStore

ADMIN = UserInfo("kubernetes-admin", ("system:masters", "system:authenticated"))
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class _AllowAll:
    def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        return Decision(True)


@dataclass(slots=True)
class ApiServerOptions:
    """What an API server is made of."""

    storage: Storage = field(default_factory=MemoryStorage)
    admission: list[AdmissionPlugin] = field(default_factory=list)
    authorizer: Authorizer = field(default_factory=_AllowAll)
    now: Callable[[], float] = time.time


class ApiServer:
    """One API server."""

    def __init__(self, options: ApiServerOptions | None = None) -> None:
        self.options = options or ApiServerOptions()
        self.catalog = Catalog(builtin_types())
        self.store = ObjectStore(self.options.storage, self._index)
        self.context = Context(
            self.store,
            self.catalog,
            AdmissionChain(self.options.admission),
            self.options.now,
            lambda: str(uuid.uuid4()),
            lambda: "".join(random.choices(_SUFFIX, k=5)),
        )
        self.pipeline = Pipeline(self.context, {})
        self.door = Door(self.pipeline, self.options.authorizer, ServerPages(self.catalog, lambda: {"ping": True}))
        self._http: HttpServer | None = None

    async def __aenter__(self) -> "ApiServer":
        await self.store.start()
        await self._bootstrap()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.stop()
        await self.store.stop()

    def direct(self, user: UserInfo = ADMIN, agent: str = "karmada") -> DirectTransport:
        """A transport into this server, as a user."""
        return DirectTransport(self.door, user, agent)

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Serve HTTP; returns the port."""

        async def authenticate(request: HttpRequest) -> UserInfo:
            return ADMIN

        self._http = HttpServer(HttpDoor(self.door, authenticate))
        return await self._http.listen(host, port)

    async def _bootstrap(self) -> None:
        from karmada.machinery.transport import GroupVersionResource, Request, Verb

        transport = self.direct()
        for name in _NAMESPACES:
            if self.store.get(("", "namespaces"), "", name) is None:
                body = {"metadata": {"name": name}}
                await transport.send(Request(Verb.CREATE, GroupVersionResource("", "v1", "namespaces"), body=body))

    def _index(self, kind: Kind, body: bytes) -> Index:
        served = self.catalog.stored(kind)
        obj = orjson.loads(body)
        if served is not None:
            return served.index(obj)
        metadata = obj["metadata"]
        owners = tuple(owner["uid"] for owner in metadata.get("ownerReferences") or ())
        return Index(metadata.get("uid", ""), metadata.get("labels") or {}, owners, {})


async def _serve() -> None:
    async with ApiServer() as server:
        port = await server.listen(port=18080)
        print(port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
