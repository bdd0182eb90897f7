"""The dashboard in the control plane's own process: requests go straight into the API server, as the user they are of.

A certificate of a user cannot be passed on; here its owner's name is, to a dispatcher that authorises every request by
it. A token is verified again with every request.
"""

from collections.abc import Mapping

from cryptography import x509

from karmada.apiserver.auth.model import ANONYMOUS, UserInfo
from karmada.apiserver.requests.model import Answer, AnyAnswer, Streamed
from karmada.apiserver.server import ApiServer
from karmada.dashboard.credential import Credential
from karmada.dashboard.in_process import HERE, InProcessTransport
from karmada.dashboard.upstream import PROXY, Warn
from karmada.machinery.errors import Unauthorized
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse, StreamResponse, Upgrade
from karmada.machinery.transport import Transport
from karmada.standalone.as_user import AsUser

_CREDENTIALS = ("authorization",)


class EmbeddedUpstream:
    """Implements `dashboard.upstream.Upstream` on the server of this process."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._as_user = AsUser(server, server.traffic)

    def knows(self, request: HttpRequest) -> bool:
        """Whether it is somebody's: authentication here takes no time."""
        try:
            return self._requester(request.headers, request.certificate) is not None
        except Unauthorized:
            return False

    async def recognise(self, request: HttpRequest) -> Credential | None:
        """By certificate or token; a credential that is presented must be good."""
        user = self._requester(request.headers, request.certificate)
        if user is None:
            return None
        by_certificate = self._requester({}, request.certificate) if request.certificate else None
        if by_certificate is not None and request.certificate is not None:
            ends = x509.load_der_x509_certificate(request.certificate).not_valid_after_utc.timestamp()
            return Credential(by_certificate, ends=ends)
        return Credential(user, request.headers.get("authorization", "").partition(" ")[2].strip())

    async def verify(self, token: str) -> Credential:
        """Whose token it is."""
        user = self._requester({"authorization": f"Bearer {token}"}, None)
        if user is None:
            raise Unauthorized("the token is empty")
        return Credential(user, token)

    async def current(self, credential: Credential) -> Credential:
        """A token may have been revoked since; a certificate counts until it ends."""
        return await self.verify(credential.token) if credential.token else credential

    def transport(self, credential: Credential, cluster: str = "", warn: Warn | None = None) -> Transport:
        """To the control plane or to a member."""

        async def ask(request: HttpRequest) -> AnyAnswer:
            return await self._as_user(request, request.path, (await self.current(credential)).user)

        return InProcessTransport(ask, f"{PROXY}/{cluster}/proxy" if cluster else "", warn=warn)

    async def forward(self, credential: Credential, request: HttpRequest) -> HttpAnswer:
        """Pass a request on as it is."""
        answer = await self._as_user(request, request.path, (await self.current(credential)).user)
        if isinstance(answer, Answer):
            return HttpResponse(answer.code, answer.body, answer.content_type)
        if isinstance(answer, Streamed):
            return StreamResponse(answer.code, answer.chunks, answer.content_type)
        return Upgrade(dict(answer.headers), answer.serve)

    def _requester(self, headers: Mapping[str, str], certificate: bytes | None) -> UserInfo | None:
        """Who asks, by their own credentials only: whatever else the headers claim is not looked at."""
        given = {name: headers[name] for name in _CREDENTIALS if name in headers}
        request = HttpRequest("GET", "/", "", given, b"", HERE, certificate)
        try:
            user = self._server.identity.requester_of(request)
        except Failure:
            raise Unauthorized("the credential is not good: it is unknown, has expired or was revoked") from None
        return None if user.name == ANONYMOUS.name else user
