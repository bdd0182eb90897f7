"""The session's cookie: scripts do not see it, other sites do not send it, and it goes nowhere but to the dashboard."""

from http.cookies import CookieError, SimpleCookie

from karmada.machinery.httpserver.model import HttpRequest

COOKIE = "karmada-session"
PATH = "/dashboard"


def session_of(request: HttpRequest) -> str:
    """What the cookie of a request holds; empty without one."""
    text = request.headers.get("cookie", "")
    if COOKIE not in text:
        return ""
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def session_cookie(value: str, seconds: int) -> str:
    """The header that sets the cookie; with 0 seconds, that ends it."""
    return f"{COOKIE}={value}; Path={PATH}; Max-Age={seconds}; HttpOnly; Secure; SameSite=Strict"
