"""The handler of everything below `/dashboard`: finds out who asks, refuses what a route does not allow, answers.

A credential is looked for in this order: the session's cookie, a bearer token, a client certificate. Nobody is known by
anything else: neither impersonation nor front-proxy headers are looked at, and the anonymous user is nobody.
"""

import logging
from collections.abc import Collection

from karmada.apiserver.requests import offload
from karmada.dashboard import guard
from karmada.dashboard.answers import PRIVATE, Refusal, forbidden, found, refused, secured, unauthorized
from karmada.dashboard.cookies import session_of
from karmada.dashboard.credential import Credential
from karmada.dashboard.credential_cache import CredentialCache
from karmada.dashboard.route_table import table
from karmada.dashboard.routes import ROOT, Demand, Routes, Visit
from karmada.dashboard.session_files import SessionFiles
from karmada.dashboard.sessions import Guesses, Sessions
from karmada.dashboard.static import Static
from karmada.dashboard.upstream import Upstream
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import Unauthorized
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse, StreamResponse, Upgrade

_log = logging.getLogger(__name__)
BODY = 1024 * 1024
STRANGERS_BODY = 16 * 1024
"""Bytes that are read for somebody who is not known."""
LOGIN = f"{ROOT}/login"
_WITH_CSRF = (Demand.ASK, Demand.WRITE)
_WRITES = (Demand.WRITE, Demand.SOCKET)


class Dashboard:
    """Implements `apiserver.http.mounts.Mounted`."""

    def __init__(
        self,
        upstream: Upstream,
        clock: Clock = REAL,
        *,
        read_only: str = "",
        hosts: Collection[str] = (),
        search: bool = True,
        files: SessionFiles | None = None,
        administrator: str = "",
    ) -> None:
        """`read_only` says why nothing may be written, if so; `hosts` are the names this server is known by; `files`
        keep sessions over a restart; `administrator` is the path of the administrator's kubeconfig on this machine."""
        self.upstream = upstream
        self.clock = clock
        self.read_only = read_only
        self.hosts = {host.lower() for host in hosts}
        self.search = search
        self.administrator = administrator
        self.static = Static()
        self.sessions = Sessions(clock, files=files)
        self.guesses = Guesses(clock)
        self.contexts = CredentialCache(upstream, clock)
        self.routes = Routes(table())

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        """How large the body may be: of somebody who is known, larger."""
        if self.sessions.find(session_of(request), touch=False) is not None or self.upstream.knows(request):
            return BODY
        return STRANGERS_BODY

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answer one request; every refusal is a Status."""
        try:
            return secured(await self._answer(request))
        except Exception as error:
            answer = refused(error)
            if answer is None:
                _log.error("%s %s failed", request.method, request.path, exc_info=error)
                failure = Refusal(500, "InternalError", "the dashboard failed; the server's log says why")
                answer = refused(failure)
                assert answer is not None
            return secured(answer)

    async def close(self) -> None:
        """End all streams and forget all credentials."""
        await self.contexts.close()

    async def _answer(self, request: HttpRequest) -> HttpAnswer:
        if not guard.known_host(request.headers, self.hosts):
            name = request.headers.get("host", "")
            raise Refusal(421, "BadRequest", f"this server is not known as {name!r}: use its address or name")
        path = request.path.rstrip("/") or ROOT
        chosen = self.routes.find(request.method, path)
        if chosen is None or chosen.route.demand is not Demand.NOTHING:
            try:
                credential, session = await self._known(request)
            except Refusal:
                if chosen is not None and chosen.route.demand is Demand.PAGE:
                    return HttpResponse(303, b"", "text/plain", {"Location": LOGIN, **PRIVATE})
                raise
        else:
            credential, session = None, ""
        if chosen is None:
            if self.routes.has(path):
                raise Refusal(405, "MethodNotAllowed", f"{request.method} is not answered here")
            raise Refusal(404, "NotFound", "there is no such page")
        visit = Visit(self, request, chosen.arguments, credential)
        visit.session = session
        self._check(chosen.route.demand, visit)
        answer = await chosen.route.handle(visit)
        return answer if isinstance(answer, (HttpResponse, StreamResponse, Upgrade)) else found(answer)

    async def _known(self, request: HttpRequest) -> tuple[Credential, str]:
        """Who asks, and by which session if by one."""
        cookie = session_of(request)
        session = self.sessions.find(cookie) if cookie else None
        try:
            if session is not None:
                credential = await self.upstream.current(session.credential)
            else:
                cookie, recognised = "", await self.upstream.recognise(request)
                if recognised is None:
                    raise unauthorized()
                credential = recognised
        except Unauthorized as error:
            if session is not None:
                self.sessions.close(cookie)
                self.contexts.drop(session.credential)
            raise unauthorized(f"sign in again: {error}") from None
        request.client = credential.user.name
        offload.on_behalf_of(credential.user)
        return credential, cookie

    def _check(self, demand: Demand, visit: Visit) -> None:
        """Refuse what a route does not allow."""
        headers = visit.request.headers
        if demand in _WITH_CSRF and not (guard.same_origin(headers) and guard.has_csrf(headers, self.csrf(visit))):
            raise forbidden("the request does not come from a page of this server: X-Karmada-CSRF or Origin is wrong")
        if demand is Demand.SOCKET and not guard.same_origin(headers, demanded=True):
            raise forbidden("WebSockets are opened by pages of this server only: Origin is wrong")
        if demand is Demand.PROGRAM and (visit.session or not guard.same_origin(headers)):
            raise forbidden("this is for programs that bring a token or a certificate; a session cannot ask for it")
        if demand in _WRITES and self.read_only:
            raise forbidden(f"nothing can be written: {self.read_only}")

    def csrf(self, visit: Visit) -> str:
        """What writes of whoever asks must repeat."""
        session = self.sessions.find(visit.session) if visit.session else None
        return session.csrf if session is not None else self.sessions.csrf_of(visit.credential)
