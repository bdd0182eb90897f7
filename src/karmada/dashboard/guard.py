"""Whether a browser was tricked into a request: by a page of another site, or by a name that leads here. Pure.

A page elsewhere can make a browser send requests with its cookies and certificates; it cannot set `X-Karmada-CSRF`,
nor what browsers say about where a request comes from. A name of the attacker's that leads to this address makes the
attacker's page same-origin: so only names that this server is known by are answered.
"""

import hmac
import ipaddress
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

CSRF = "x-karmada-csrf"
LOCAL = frozenset({"localhost"})


def known_host(headers: Mapping[str, str], names: Collection[str]) -> bool:
    """Whether a request asks for a name that this server has. Addresses cannot be rebound, so all of them count."""
    host = _host(headers.get("host", ""))
    if not host:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host in LOCAL or host in names
    return True


def same_origin(headers: Mapping[str, str], *, demanded: bool = False) -> bool:
    """Whether a browser says that a request comes from a page of this server; programs say nothing.

    With `demanded` silence is no answer: WebSockets have no other protection.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if site is not None and site != "same-origin" and not (site == "none" and origin is None):
        return False
    if origin is None:
        return not demanded
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("https", "http") and parts.netloc.lower() == headers.get("host", "").lower()


def from_elsewhere(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of another site leads here."""
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def has_csrf(headers: Mapping[str, str], wanted: str) -> bool:
    """Whether a request repeats what only pages of this server can have read."""
    return hmac.compare_digest(headers.get(CSRF, "").encode(), wanted.encode())


def _host(text: str) -> str:
    try:
        return (urlsplit(f"//{text}").hostname or "").lower().removesuffix(".")
    except ValueError:
        return ""
