"""Routes declare their authorisation, or there is no route.

`Route.authorization` has no default: who adds a route must say `Open`, `ByPath` or `ByResource`; a table with a route
that says nothing cannot be built, so such a server does not start.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from karmada.apiserver.http.model import HttpAnswer, HttpRequest


class Authorization(Enum):
    """How a route decides who may use it."""

    BY_RESOURCE = "resource"
    """RBAC on verb, group, resource, namespace and name."""
    BY_PATH = "path"
    """RBAC on the path as a non-resource URL."""
    OPEN = "open"
    """Anybody who reaches the socket. For nothing that reveals or changes state."""


RouteHandler = Callable[[HttpRequest], Awaitable[HttpAnswer]]


@dataclass(frozen=True, slots=True)
class Route:
    """A path, or with a trailing `/*` all paths below it."""

    path: str
    authorization: Authorization
    handler: RouteHandler

    def __post_init__(self) -> None:
        """Refuse what a type checker would have refused."""
        if not isinstance(self.authorization, Authorization):
            raise TypeError(f"route {self.path} does not declare its authorisation")
        if not self.path.startswith("/"):
            raise ValueError(f"route {self.path!r} does not start with a slash")


class RouteTable:
    """Finds the route of a path: an exact one first, then the longest prefix."""

    def __init__(self, routes: list[Route]) -> None:
        self._exact: dict[str, Route] = {}
        self._below: dict[str, Route] = {}
        for route in routes:
            table, key = (self._below, route.path[:-1]) if route.path.endswith("/*") else (self._exact, route.path)
            if key in table:
                raise ValueError(f"route {route.path} is declared twice")
            table[key] = route

    def find(self, path: str) -> Route | None:
        """The route of a path; None when there is none."""
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        end = len(path)
        while (end := path.rfind("/", 0, end)) >= 0:
            route = self._below.get(path[: end + 1])
            if route is not None:
                return route
        return None
