"""What a rule of an HTTPRoute asks of a request, and does with it. Pure.

What a rule changes goes through the same sieve as what a client sends: changed headers are filtered for the way a
request takes, and a path that was put together is judged anew.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl

import msgspec

from karmada.machinery.http.head import UnsafeHead
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse

Pairs = tuple[tuple[str, str], ...]
_AUTHORITY = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?")


class Backend(NamedTuple):
    """A port of a Service, by name or number."""

    namespace: str
    service: str
    port: str | int

    def __str__(self) -> str:
        return f"{self.namespace}/{self.service}:{self.port}"


class Weighted(NamedTuple):
    """A backend's part of the requests; None stands for one that cannot be used, whose requests fail."""

    backend: Backend | None
    weight: int


class Conditions(NamedTuple):
    """What a request must have besides host and path."""

    method: str = ""
    headers: Pairs = ()
    """Names in lower case, with the exact value."""
    query: Pairs = ()

    @property
    def specific(self) -> tuple[bool, int, int]:
        """More specific conditions are looked at first."""
        return bool(self.method), len(self.headers), len(self.query)

    def hold(self, request: HttpRequest | None) -> bool:
        """Whether a request meets them."""
        if request is None or (self.method and request.method != self.method):
            return False
        if any(request.headers.get(name) != value for name, value in self.headers):
            return False
        if not self.query:
            return True
        present = _parameters(request.query)
        return all(present.get(name) == value for name, value in self.query)


@lru_cache(maxsize=1)
def _parameters(query: str) -> Mapping[str, str]:
    """The parameters of a query, of those with the same name the first; many rules look at that of one request."""
    present: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        present.setdefault(name, value)
    return present


class PathChange(NamedTuple):
    """A path in place of the whole one, or of its first `parts` parts."""

    value: str
    parts: int | None = None
    """None replaces the whole path."""

    def of(self, target: str, path: str) -> str:
        """The changed target of a request; raises `UnsafeHead` when an encoded slash makes its parts ambiguous."""
        raw, mark, query = target.partition("?")
        if self.parts is None:
            return f"{self.value}{mark}{query}"
        if raw.count("/") != path.count("/"):
            raise UnsafeHead("the path has an encoded slash in it, and its beginning is to be replaced")
        rest = raw.split("/", self.parts + 1)[self.parts + 1 :]
        changed = "/".join([self.value.rstrip("/"), *rest]) or "/"
        return f"{changed}{mark}{query}"


class Redirect(NamedTuple):
    """Where clients are sent; what is empty stays as it was asked."""

    scheme: str = ""
    hostname: str = ""
    port: int = 0
    path: PathChange | None = None
    status: int = 302

    def answer(self, target: str, path: str, host: str, scheme: str) -> HttpResponse:
        """The answer to a request; raises `UnsafeHead`."""
        authority = _AUTHORITY.fullmatch(host)
        if authority is None:
            raise UnsafeHead("the Host header is no host")
        chosen = self.scheme or scheme
        port = str(self.port or (authority[2] if not self.scheme else "") or "")
        shown = self.hostname or authority[1]
        if port and port != {"http": "80", "https": "443"}[chosen]:
            shown = f"{shown}:{port}"
        where = self.path.of(target, path) if self.path is not None else target
        return HttpResponse(self.status, b"", "text/plain; charset=utf-8", {"Location": f"{chosen}://{shown}{where}"})


class Change(NamedTuple):
    """What is different about a request when it is passed on."""

    set: Pairs = ()
    add: Pairs = ()
    remove: tuple[str, ...] = ()
    hostname: str = ""
    path: PathChange | None = None

    def of(self, request: HttpRequest, target: str) -> HttpRequest:
        """The request as it is passed on; raises `UnsafeHead`."""
        headers = {name: value for name, value in request.headers.items() if name not in self.remove}
        headers.update(self.set)
        for name, value in self.add:
            headers[name] = f"{headers[name]},{value}" if name in headers else value
        if self.path is not None:
            target = self.path.of(target, request.path)
        return msgspec.structs.replace(request, headers=headers, target=target.encode())


class Rule(NamedTuple):
    """A rule of an HTTPRoute, for one of its matches."""

    conditions: Conditions | None
    """None where every request will do."""
    split: tuple[Weighted, ...] = ()
    change: Change | None = None
    redirect: Redirect | None = None

    def chosen(self, share: float) -> Backend | None:
        """The backend for a number from 0 to 1; None when there is none, or the one whose turn it is cannot be used."""
        left = share * sum(each.weight for each in self.split)
        for each in self.split:
            if left < each.weight:
                return each.backend
            left -= each.weight
        return None


def backends(rules: Sequence[Rule]) -> list[Backend]:
    """All backends of rules."""
    return [each.backend for rule in rules for each in rule.split if each.backend is not None and each.weight]
