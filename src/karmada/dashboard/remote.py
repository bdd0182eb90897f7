"""The dashboard beside an API server: requests go over HTTPS with the token of whoever is signed in.

The process has no credential of its own: of the kubeconfig it uses the address of the server and how to trust it, never
the user. Client certificates cannot be passed on, so tokens are the only way in.
"""

from collections import OrderedDict
from urllib.parse import urlsplit

from karmada.aggregated.proxy.exchange import ExchangeFailed, exchange
from karmada.apiserver.auth.authentication import bearer_token
from karmada.apiserver.auth.model import ANONYMOUS, UserInfo
from karmada.dashboard.credential import Credential
from karmada.dashboard.upstream import PROXY, Warn
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError, BadRequest, Unauthorized, Unavailable
from karmada.machinery.http.head import UnsafeHead, request_head, request_target
from karmada.machinery.http.target import NOTHING, Identity, Material, Target
from karmada.machinery.http.tls import TLSSettings
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, StreamResponse, Upgrade
from karmada.machinery.os_errors import spelled
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.dialing import dial

REVIEWS = GroupVersionResource("authentication.k8s.io", "v1", "selfsubjectreviews")
BELIEVED = 30.0
"""Seconds for which a token that was good is believed to be; every request to the API is judged there anyway."""
REMEMBERED = 2000
AGENT = "karmada-dashboard"


class RemoteUpstream:
    """Implements `dashboard.upstream.Upstream` over HTTPS."""

    def __init__(self, target: Target, clock: Clock) -> None:
        self._target = target._replace(identity=Identity())
        self._clock = clock
        self._tls = TLSSettings(self._target)
        self._good: OrderedDict[tuple[str, ...], tuple[UserInfo, float]] = OrderedDict()

    def knows(self, request: HttpRequest) -> bool:
        """Nobody is known without asking the API server."""
        return False

    async def recognise(self, request: HttpRequest) -> Credential | None:
        """By a bearer token."""
        token = bearer_token({"authorization": request.headers.get("authorization", "")})
        return await self.current(Credential(ANONYMOUS, token)) if token else None

    async def verify(self, token: str) -> Credential:
        """Whose token it is: a SelfSubjectReview with that token says so."""
        client = Client(self.transport(Credential(ANONYMOUS, token)))
        try:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            review = await client.resource(REVIEWS).create(body)
        finally:
            await client.close()
        user = _user((review.get("status") or {}).get("userInfo") or {})
        if user.name in ("", ANONYMOUS.name):
            raise Unauthorized("the token says of nobody who they are")
        credential = Credential(user, token)
        self._good[credential.key] = (user, self._clock.monotonic() + BELIEVED)
        if len(self._good) > REMEMBERED:
            self._good.popitem(last=False)
        return credential

    async def current(self, credential: Credential) -> Credential:
        """The same credential, reviewed again from time to time."""
        known = self._good.get(credential.key)
        if known is not None and self._clock.monotonic() < known[1]:
            return credential._replace(user=known[0])
        self._good.pop(credential.key, None)
        return await self.verify(credential.token)

    def transport(self, credential: Credential, cluster: str = "", warn: Warn | None = None) -> HttpTransport:
        """To the control plane or to a member."""
        server = f"{self._target.server}{PROXY}/{cluster}/proxy" if cluster else self._target.server
        identity = Identity(token=Material(credential.token.encode()))
        return HttpTransport(self._target._replace(server=server, identity=identity), agent=AGENT, warn=warn)

    async def forward(self, credential: Credential, request: HttpRequest) -> HttpAnswer:
        """Pass a request on over a connection of its own."""
        url = urlsplit(self._target.server)
        upgrade = "upgrade" in request.headers
        fields = [("Host", url.netloc), ("Authorization", f"Bearer {credential.token}")]
        if not upgrade:
            fields.append(("Connection", "close"))
        fields += list(request.headers.items())
        try:
            head = request_head(
                request.method, request_target(request.path, request.query, url.path.rstrip("/")), fields
            )
        except UnsafeHead as error:
            raise BadRequest(str(error)) from None
        try:
            channel = await dial(self._target, self._tls.context(NOTHING, NOTHING) if url.scheme != "http" else None)
            reply, body = await exchange(channel, head, request.body, only_head=False)
        except (OSError, ExchangeFailed, ApiError) as error:
            raise Unavailable(f"the control plane cannot be reached: {spelled(error)}") from error
        if reply.switched:
            return Upgrade(dict(reply.headers), reply.carry_on)
        return StreamResponse(reply.status, body, reply.header("content-type"))


def _user(user: JSONObject) -> UserInfo:
    extra = {str(key): tuple(map(str, values)) for key, values in (user.get("extra") or {}).items()}
    return UserInfo(str(user.get("username", "")), tuple(user.get("groups") or ()), str(user.get("uid", "")), extra)
