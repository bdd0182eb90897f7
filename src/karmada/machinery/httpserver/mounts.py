"""Handlers that answer for everything below a path of their own, beside the API: they authenticate by themselves."""

from collections.abc import Awaitable
from typing import Protocol

from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse


class Mounted(Protocol):
    """What the HTTP server asks of a handler."""

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        """Judge a request before its body is read: the refusal, or how large the body may be."""
        ...

    def __call__(self, request: HttpRequest) -> Awaitable[HttpAnswer]:
        """Answer a request."""
        ...


class Mounts:
    """Passes requests to the handler of the first part of their path, all others to the API."""

    def __init__(self, api: Mounted, mounts: dict[str, Mounted]) -> None:
        self._api = api
        self._mounts = mounts

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        """As its handler judges it."""
        return self._of(request.path).admit(request)

    def __call__(self, request: HttpRequest) -> Awaitable[HttpAnswer]:
        """As its handler answers it."""
        return self._of(request.path)(request)

    def _of(self, path: str) -> Mounted:
        return self._mounts.get(path[1:].partition("/")[0], self._api)
