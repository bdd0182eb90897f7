"""The HTTPS dispatcher of a member, which can be shut and reopened, and can show a certificate that is out of date."""

import contextlib
import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

from karmada.apiserver.auth.identity import LOCAL_HOSTS, SERVICE_HOSTS
from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.server import ApiServer
from karmada.machinery.httpserver.server import HttpServer
from karmada.simulator.faults import Faults, Gate

if TYPE_CHECKING:
    from OpenSSL import SSL

NOT_LISTENING = "the member does not listen: call listen() first"


class Listener:
    """The HTTPS endpoint of a member, which can be closed and reopened on the same port."""

    def __init__(self, server: ApiServer, gate: Gate) -> None:
        self._server = server
        self._gate = gate
        identity = server.identity
        self._dispatcher = HttpDispatcher(
            server.dispatcher, identity.requester_of, server.api_services, server.traffic, identity.acting_as
        )
        self._http: HttpServer | None = None
        self._host = ""
        self._port = 0
        self._hosts: Sequence[str] = ()

    @property
    def url(self) -> str:
        """Where it listens."""
        if not self._port:
            raise RuntimeError(NOT_LISTENING)
        return f"https://{self._host}:{self._port}"

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port, once it listens."""
        return (self._host, self._port) if self._port else None

    async def listen(self, host: str, port: int, hosts: Sequence[str] = ()) -> int:
        """Serve; the port."""
        self._host, self._hosts = host, hosts
        self._port = await self._open(port)
        if self._gate.faults.down:
            await self.stop()
        return self._port

    async def follow(self, faults: Faults) -> None:
        """Do what the present faults say."""
        if not self._port:
            return
        if faults.down:
            await self.stop()
        elif self._http is None:
            await self._open(self._port)
        else:
            self._http.tls = self._tls(faults)

    async def stop(self) -> None:
        """Shut the dispatcher; connections break."""
        if self._http is not None:
            http, self._http = self._http, None
            with contextlib.suppress(OSError):
                await http.stop(grace=0.0)

    async def _open(self, port: int) -> int:
        self._http = HttpServer(self._gate.handler(self._dispatcher), tls=self._tls(self._gate.faults))
        port = await self._http.listen(self._host, port)
        await self._server.announce(self._host, port)
        return port

    def _tls(self, faults: Faults) -> "SSL.Context":
        identity = self._server.identity
        if not faults.certificate_expired:
            return identity.tls((self._host, *self._hosts))
        from karmada.apiserver.auth.pki import server_names
        from karmada.machinery.httpserver.tls import server_context

        names = server_names((*LOCAL_HOSTS, *SERVICE_HOSTS, self._host, *self._hosts))
        long_ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=30)
        certificate, key = identity.authority.issue_server("kube-apiserver", names, 86400, long_ago)
        return server_context(certificate, key, identity.authority.certificate_pem)
