"""Every route says what its requests are authorised by; a server with one that does not is not made.

The dispatchers ask the authoriser before anything is routed, in two ways: for a resource, whether the user may use the
verb on it; for any other page, whether the method on the path. A route declares which of the two it relies on. One that
declares nothing, or a question its dispatcher does not ask, is refused when the server is put together.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar

H = TypeVar("H")


class Access(Enum):
    """What the authoriser is asked about a request."""

    RESOURCE = "the verb on the resource"
    PATH = "the method on the path"


class Guarded(NamedTuple, Generic[H]):
    """A handler and the authorisation it relies on."""

    access: Access
    handle: H


class Undeclared(Exception):
    """A route without authorisation; names it."""


def check_declared(routes: Mapping[Any, Any], access: Access) -> None:
    """Refuse routes that do not rely on the question which their dispatcher asks."""
    for name, route in routes.items():
        if not isinstance(route, Guarded):
            raise Undeclared(f"the route {name} does not declare its authorisation")
        if route.access is not access:
            raise Undeclared(f"the route {name} relies on {route.access.value}, which is not asked there")
