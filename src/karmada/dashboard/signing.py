"""Signing in and out: by a token, by a one-time code, and the codes themselves."""

from typing import Any

from karmada import __version__
from karmada.dashboard import guard
from karmada.dashboard.answers import PRIVATE, Refusal, bad_request, forbidden, found, unauthorized
from karmada.dashboard.cookies import session_cookie, session_of
from karmada.dashboard.credential import Credential
from karmada.dashboard.routes import ROOT, Visit
from karmada.dashboard.sessions import CODE, CODE_SECONDS, SECONDS
from karmada.machinery.errors import ApiError, Unauthorized
from karmada.machinery.httpserver.model import HttpResponse

TOKEN = 16 * 1024
"""Characters of a token at most."""


async def page(visit: Visit) -> HttpResponse:
    """The sign-in page; with a one-time code, the way past it. Never to anywhere else but the dashboard."""
    code = visit.params.get("once", "")
    if not code:
        return visit.dashboard.static.index()
    if guard.from_elsewhere(visit.request.headers):
        raise forbidden("one-time links are opened from a terminal or an address bar, not from a page of another site")
    cookie = _opened(visit, _redeemed(visit, code))
    return HttpResponse(303, b"", "text/plain", {"Location": f"{ROOT}/", "Set-Cookie": cookie, **PRIVATE})


async def login(visit: Visit) -> HttpResponse:
    """Sign in with a token, or with a one-time code in its place."""
    if not guard.same_origin(visit.request.headers):
        raise forbidden("sign in on a page of this server: Origin is wrong")
    token = visit.body().get("token")
    if not isinstance(token, str) or not token.strip():
        raise bad_request("token: paste a token, or what `karmada dashboard-token` prints")
    token = token.strip()
    if len(token) > TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise bad_request("token: this is no token")
    credential = _redeemed(visit, token) if token.startswith(CODE) else await _verified(visit, token)
    return found({"user": credential.user.name}, {"Set-Cookie": _opened(visit, credential)})


async def logout(visit: Visit) -> HttpResponse:
    """End the session."""
    visit.dashboard.sessions.close(visit.session)
    return found({}, {"Set-Cookie": session_cookie("", 0)})


async def session(visit: Visit) -> dict[str, Any]:
    """Who is signed in, and what pages need to know."""
    dashboard, user = visit.dashboard, visit.credential.user
    return {
        "user": user.name,
        "groups": list(user.groups),
        "csrf": dashboard.csrf(visit),
        "readOnly": bool(dashboard.read_only),
        "reason": dashboard.read_only,
        "version": __version__,
        "search": dashboard.search,
    }


async def link(visit: Visit) -> dict[str, Any]:
    """A one-time code for whoever asks."""
    code = visit.dashboard.sessions.offer(visit.credential)
    return {"code": code, "path": f"{ROOT}/login?once={code}", "seconds": int(CODE_SECONDS)}


def _opened(visit: Visit, credential: Credential) -> str:
    """A session in place of the one that the browser had; the header that hands it over."""
    sessions = visit.dashboard.sessions
    sessions.close(session_of(visit.request))
    return session_cookie(sessions.open(credential), int(SECONDS))


def _redeemed(visit: Visit, code: str) -> Credential:
    address = _unless_guessing(visit)
    credential = visit.dashboard.sessions.redeem(code)
    if credential is None:
        visit.dashboard.guesses.failed(address)
        raise unauthorized("the code was used already, or is too old: make another with `karmada dashboard-token`")
    return credential


async def _verified(visit: Visit, token: str) -> Credential:
    address = _unless_guessing(visit)
    try:
        return await visit.dashboard.upstream.verify(token)
    except Unauthorized:
        visit.dashboard.guesses.failed(address)
        raise unauthorized("the token is not good: it is unknown, has expired or was revoked") from None
    except ApiError as error:
        raise Refusal(503, "ServiceUnavailable", f"the control plane cannot be asked now: {error}") from None


def _unless_guessing(visit: Visit) -> str:
    address = visit.request.peer[0]
    wait = visit.dashboard.guesses.wait(address)
    if wait > 0:
        seconds = str(int(wait) + 1)
        text = f"too many wrong tokens or codes: wait {seconds} s"
        raise Refusal(429, "TooManyRequests", text, {"Retry-After": seconds})
    return address
