"""The table of routes. Every route says what it demands of a request; there is no other way to be answered."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

from karmada.dashboard.answers import bad_request
from karmada.dashboard.credential import Credential
from karmada.dashboard.credential_cache import CredentialContext
from karmada.dashboard.names import checked_kind, checked_name, checked_object
from karmada.machinery.httpserver.model import HttpRequest

if TYPE_CHECKING:
    from karmada.dashboard.server import Dashboard

ROOT = "/dashboard"
API = f"{ROOT}/api"
PARAMETERS = 50


class Demand(Enum):
    """What a request must bring before its handler runs."""

    NOTHING = "it holds no data, or is how somebody signs in"
    PAGE = "somebody signed in; others are led to the sign-in page"
    IDENTITY = "somebody signed in"
    ASK = "somebody signed in, and the CSRF value: it changes nothing, but sends a body"
    WRITE = "somebody signed in, the CSRF value, and that writes are allowed"
    SOCKET = "somebody signed in, from a page of this server, and that writes are allowed"
    PROGRAM = "a bearer token or certificate of a program: a session cannot ask"


class Visit:
    """A request of somebody, taken apart."""

    def __init__(
        self, dashboard: "Dashboard", request: HttpRequest, arguments: Mapping[str, str], credential: Credential | None
    ) -> None:
        self.dashboard = dashboard
        self.request = request
        self.arguments = arguments
        self._credential = credential
        self.session = ""
        """The cookie by which somebody is known; empty for those who are known otherwise."""

    @property
    def credential(self) -> Credential:
        """Who asks."""
        assert self._credential is not None, "only routes that demand somebody read it"
        return self._credential

    @cached_property
    def params(self) -> dict[str, str]:
        """The query."""
        return dict(self.parameters)

    @cached_property
    def parameters(self) -> list[tuple[str, str]]:
        """The query with what is in it more than once."""
        try:
            return parse_qsl(self.request.query, keep_blank_values=True, max_num_fields=PARAMETERS)
        except ValueError:
            raise bad_request(f"the query has more than {PARAMETERS} parameters") from None

    @cached_property
    def context(self) -> CredentialContext:
        """What is kept for whoever asks."""
        return self.dashboard.contexts.of(self.credential)

    @property
    def namespace(self) -> str:
        """The namespace of the query; empty for all."""
        given = self.params.get("namespace", "")
        return checked_name(given, "a namespace") if given else ""

    def subject(self) -> tuple[str, str, str, str]:
        """The object that a query names: version, kind, namespace, name."""
        api_version, kind = checked_kind(self.params.get("apiVersion", ""), self.params.get("kind", ""))
        return api_version, kind, self.namespace, checked_object(self.params.get("name", ""))

    def body(self) -> dict[str, Any]:
        """The body, which is a JSON object."""
        import orjson

        if not self.request.headers.get("content-type", "").startswith("application/json"):
            raise bad_request("the body must be JSON: set Content-Type to application/json")
        try:
            found = orjson.loads(self.request.body or b"{}")
        except orjson.JSONDecodeError as error:
            raise bad_request(f"the body is not JSON: {error}") from None
        if not isinstance(found, dict):
            raise bad_request("the body must be a JSON object")
        return found


Handler = Callable[[Visit], Awaitable[Any]]
"""Gives an answer, or data that becomes one."""


class Route(NamedTuple):
    """A method and a path with `{parts}`; `{rest}` stands for everything that follows."""

    method: str
    path: str
    demand: Demand
    handle: Handler


class Found(NamedTuple):
    """The route of a request."""

    route: Route
    arguments: dict[str, str]


class Routes:
    """Finds the route of a path."""

    def __init__(self, table: Sequence[Route]) -> None:
        self.table = tuple(table)
        self._patterns = [(re.compile(_pattern(route.path)), route) for route in table]

    def find(self, method: str, path: str) -> Found | None:
        """The route of a request, the first of the table that fits; no page is below the API or the files."""
        closed = path.startswith((f"{API}/", f"{ROOT}/static/"))
        for pattern, route in self._patterns:
            if route.demand is Demand.PAGE and closed:
                continue
            if route.method == method and (match := pattern.fullmatch(path)):
                return Found(route, match.groupdict())
        return None

    def has(self, path: str) -> bool:
        """Whether any method is answered at a path of the API."""
        return any(pattern.fullmatch(path) for pattern, route in self._patterns if route.demand is not Demand.PAGE)


def _pattern(path: str) -> str:
    parts = re.split(r"\{(\w+)\}", path)
    made = ""
    for number, part in enumerate(parts):
        if number % 2:
            made += f"(?P<{part}>.*)" if part == "rest" else f"(?P<{part}>[^/]+)"
        else:
            made += re.escape(part)
    return made
