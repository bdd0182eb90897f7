"""`clusters/*/proxy/<path>`: one request for all clusters.

A list is the lists of all clusters that answer, in the order of their names; those that do not are named in a warning.
A request that names an object goes to the one cluster that has it; none or several are refusals.

However many clusters there are, few are asked at a time, within one deadline, and what their answers may take together
is bounded: a cluster whose answer is too large, or comes too late, counts as one that does not answer. A few such
requests are served at once, fewer of one user; more is a 429.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import orjson

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.overload.proxying import ProxyBudget
from karmada.apiserver.requests import paths
from karmada.apiserver.requests.model import Answer, AnyAnswer, Streamed, Upgraded
from karmada.apiserver.requests.options import first_params
from karmada.apiserver.requests.routing import verb_of
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.httpserver.upgraded import ENDED

Forward = Callable[[Cluster, HttpRequest, str, UserInfo], Awaitable[AnyAnswer]]
SECONDS = 20.0
"""For one cluster."""
TOTAL_SECONDS = 60.0
AT_ONCE = 16
PER_USER, IN_TOTAL = 2, 8
NAMED = 50
"""Clusters that a warning names."""
MIB = 1 << 20
CLUSTER_BYTES, TOTAL_BYTES = 16 * MIB, 64 * MIB
_TEXT = "text/plain; charset=utf-8"


class _ClusterAnswer(NamedTuple):
    """What one cluster answered."""

    cluster: Cluster
    status: int
    body: bytes


class FanOut:
    """Sends one request to all clusters, a bounded number at a time, and merges the answers."""

    def __init__(self, forward: Forward, cluster_bytes: int = CLUSTER_BYTES) -> None:
        self._forward = forward
        self._cluster_bytes = cluster_bytes
        self._budget = ProxyBudget(PER_USER, IN_TOTAL)

    async def __call__(self, clusters: Sequence[Cluster], request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        """Answer a request to all clusters."""
        with self._budget.take(user, "all clusters"):
            return await self._answer(clusters, request, path, user)

    async def _answer(self, clusters: Sequence[Cluster], request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        named = paths.parse(path)
        if named is None:
            return Answer(404, b"not found: only resources can be asked for in all clusters", _TEXT)
        params = first_params(parse_qsl(request.query, keep_blank_values=True))
        verb = verb_of(request.method, named, params)
        if not named.name:
            if verb != "list":
                return Answer(405, f"Request verb {verb} is not support".encode(), _TEXT)
            return await self._list(clusters, request, path, user)
        whole = paths.format_path(named._replace(subresource="", subpath=""))
        answers = await self._ask(clusters, _reading(request), whole, user)
        having = [item.cluster for item in answers if item.status == 200]
        if not having:
            return Answer(404, b"resource not found or don't have permission to get it", _TEXT)
        if len(having) > 1:
            where = ",".join(cluster.metadata.name for cluster in having)
            return Answer(409, f"conflict resource, exist in more than one cluster: {where}".encode(), _TEXT)
        return await self._forward(having[0], request, path, user)

    async def _list(self, clusters: Sequence[Cluster], request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        answers = await self._ask(clusters, request, path, user)
        merged: dict[str, Any] | None = None
        silent = []
        for item in answers:
            found = _listing(item)
            await asyncio.sleep(0)
            if found is None:
                silent.append(item.cluster.metadata.name)
            elif merged is None:
                merged = found
            else:
                key = "rows" if "rows" in merged else "items"
                merged[key] = (merged.get(key) or []) + (found.get(key) or [])
        if merged is None:
            return Answer(404, b"not found", _TEXT)
        shown = ", ".join(silent[:NAMED]) + (f" and {len(silent) - NAMED} more" if len(silent) > NAMED else "")
        warning = {"Warning": f'299 - "no answer from: {shown}"'} if silent else {}
        return Answer(200, orjson.dumps(merged), "application/json", warning)

    async def _ask(
        self, clusters: Sequence[Cluster], request: HttpRequest, path: str, user: UserInfo
    ) -> list[_ClusterAnswer]:
        sender = _Asking(self._forward, request, path, user, self._cluster_bytes)
        ordered = sorted(clusters, key=lambda cluster: cluster.metadata.name)
        waiting = iter(ordered)
        answers: dict[str, _ClusterAnswer] = {}

        async def ask() -> None:
            for cluster in waiting:
                answers[cluster.metadata.name] = await sender.ask(cluster)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(AT_ONCE, len(ordered))):
                group.create_task(ask())
        return [answers[cluster.metadata.name] for cluster in ordered]


class _Asking:
    """One request to many clusters, and what is left of its deadline and of the room for answers."""

    def __init__(self, forward: Forward, request: HttpRequest, path: str, user: UserInfo, cluster_bytes: int) -> None:
        self._forward = forward
        self._request = (request, path, user)
        self._end = asyncio.get_running_loop().time() + TOTAL_SECONDS
        self._cluster_bytes = cluster_bytes
        self._room = TOTAL_BYTES

    async def ask(self, cluster: Cluster) -> _ClusterAnswer:
        """What one cluster says; a status of 0 when it says nothing of use."""
        request, path, user = self._request
        now = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(min(self._end, now + SECONDS)):
                answer = await self._forward(cluster, request, path, user)
                if isinstance(answer, Streamed):
                    body = await self._read(answer)
                    return _ClusterAnswer(cluster, answer.code if body is not None else 0, body or b"")
                if isinstance(answer, Answer):
                    return _ClusterAnswer(cluster, answer.code, answer.body)
                assert isinstance(answer, Upgraded)
                await answer.serve(ENDED)
        except (Failure, TimeoutError, OSError):
            pass
        return _ClusterAnswer(cluster, 0, b"")

    async def _read(self, answer: Streamed) -> bytes | None:
        """The whole of an answer, None where there is no room for it."""
        parts, size = [], 0
        try:
            async for chunk in answer.chunks:
                size += len(chunk)
                self._room -= len(chunk)
                if size > self._cluster_bytes or self._room < 0:
                    self._room += size
                    return None
                parts.append(chunk)
        finally:
            if (close := getattr(answer.chunks, "aclose", None)) is not None:
                await close()
        return b"".join(parts)


def _reading(request: HttpRequest) -> HttpRequest:
    """A plain read in the name of the same client."""
    kept = ("accept", "user-agent", "authorization")
    headers = {name: value for name, value in request.headers.items() if name in kept}
    return HttpRequest("GET", request.path, "", headers, b"", request.peer, request.certificate)


def _listing(answer: _ClusterAnswer) -> dict[str, Any] | None:
    if answer.status != 200:
        return None
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and ("items" in found or "rows" in found) else None
