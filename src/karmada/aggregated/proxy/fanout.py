"""`clusters/*/proxy/<path>`: one request for all clusters.

A list is the lists of all clusters that answer, in the order of their names; those that do not are named in a warning.
A request that names an object goes to the one cluster that has it; none or several are refusals.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import orjson

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import Failure
from karmada.apiserver.http.model import HttpRequest
from karmada.apiserver.requests import paths
from karmada.apiserver.requests.model import Answer, AnyAnswer, Streamed
from karmada.apiserver.requests.routing import verb_of

Forward = Callable[[Cluster, HttpRequest, str, UserInfo], Awaitable[AnyAnswer]]
SECONDS = 20.0
_TEXT = "text/plain; charset=utf-8"


class _Heard(NamedTuple):
    """What one cluster said."""

    cluster: Cluster
    status: int
    body: bytes


class FanOut:
    """See the module."""

    def __init__(self, forward: Forward) -> None:
        self._forward = forward

    async def __call__(self, clusters: Sequence[Cluster], request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        """Answer a request to all clusters."""
        named = paths.parse(path)
        if named is None:
            return Answer(404, b"not found: only resources can be asked for in all clusters", _TEXT)
        params = {name: values[-1] for name, values in parse_qs(request.query).items()}
        verb = verb_of(request.method, named, params)
        if not named.name:
            if verb != "list":
                return Answer(405, f"Request verb {verb} is not support".encode(), _TEXT)
            return await self._list(clusters, request, path, user)
        whole = paths.format_path(named._replace(subresource="", subpath=""))
        heard = await self._ask(clusters, _reading(request), whole, user)
        having = [item.cluster for item in heard if item.status == 200]
        if not having:
            return Answer(404, b"resource not found or don't have permission to get it", _TEXT)
        if len(having) > 1:
            where = ",".join(cluster.metadata.name for cluster in having)
            return Answer(409, f"conflict resource, exist in more than one cluster: {where}".encode(), _TEXT)
        return await self._forward(having[0], request, path, user)

    async def _list(self, clusters: Sequence[Cluster], request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        heard = await self._ask(clusters, request, path, user)
        merged: dict[str, Any] | None = None
        silent = []
        for item in heard:
            found = _listing(item)
            if found is None:
                silent.append(item.cluster.metadata.name)
            elif merged is None:
                merged = found
            else:
                key = "rows" if "rows" in merged else "items"
                merged[key] = (merged.get(key) or []) + (found.get(key) or [])
        if merged is None:
            return Answer(404, b"not found", _TEXT)
        warning = {"Warning": f'299 - "no answer from: {", ".join(silent)}"'} if silent else {}
        return Answer(200, orjson.dumps(merged), "application/json", warning)

    async def _ask(self, clusters: Sequence[Cluster], request: HttpRequest, path: str, user: UserInfo) -> list[_Heard]:
        ordered = sorted(clusters, key=lambda cluster: cluster.metadata.name)
        return list(await asyncio.gather(*(self._ask_one(cluster, request, path, user) for cluster in ordered)))

    async def _ask_one(self, cluster: Cluster, request: HttpRequest, path: str, user: UserInfo) -> _Heard:
        try:
            async with asyncio.timeout(SECONDS):
                answer = await self._forward(cluster, request, path, user)
                if isinstance(answer, Streamed):
                    return _Heard(cluster, answer.code, b"".join([chunk async for chunk in answer.chunks]))
                if isinstance(answer, Answer):
                    return _Heard(cluster, answer.code, answer.body)
        except (Failure, TimeoutError, OSError):
            pass
        return _Heard(cluster, 0, b"")


def _reading(request: HttpRequest) -> HttpRequest:
    """A plain read in the name of the same client."""
    kept = ("accept", "user-agent", "authorization")
    headers = {name: value for name, value in request.headers.items() if name in kept}
    return HttpRequest("GET", request.path, "", headers, b"", request.peer, request.certificate)


def _listing(heard: _Heard) -> dict[str, Any] | None:
    if heard.status != 200:
        return None
    try:
        found = orjson.loads(heard.body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and ("items" in found or "rows" in found) else None
