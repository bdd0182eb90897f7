"""The HTTP front dispatcher: authenticate, authorise, route, run, and write the answer."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from urllib.parse import parse_qsl

import orjson

from karmada.apiserver.aggregation.services import ApiServices, Remote
from karmada.apiserver.auth.model import ANONYMOUS, Attributes, UserInfo
from karmada.apiserver.failures import internal
from karmada.apiserver.lasting import AllowedChunks, May, while_allowed
from karmada.apiserver.outgoing import CallFailed
from karmada.apiserver.overload.deadlines import request_seconds
from karmada.apiserver.overload.proxying import ProxyBudget
from karmada.apiserver.overload.traffic import Traffic, Visit
from karmada.apiserver.requests import offload, paths
from karmada.apiserver.requests.dispatcher import Dispatcher
from karmada.apiserver.requests.freshness import DeadlinePassed
from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Streamed, Upgraded
from karmada.apiserver.requests.options import first_params
from karmada.apiserver.requests.routing import PageNotFound, attributes_of, verb_of
from karmada.apiserver.requests.warning_headers import warning_headers
from karmada.apiserver.requests.watch import Joined, lines
from karmada.apiserver.services import Unreachable
from karmada.apiserver.storage.base import StorageFailed
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse, StreamResponse, Upgrade
from karmada.machinery.httpserver.parsing import Limits
from karmada.machinery.httpserver.upgraded import ENDED

_log = logging.getLogger(__name__)
Authenticate = Callable[[HttpRequest], UserInfo]
Impersonate = Callable[[UserInfo, Mapping[str, str]], UserInfo]
JudgeWatch = Callable[[Call], None]
"""Raises `Failure` for a watch that is refused."""
BODY = Limits().body
UNAUTHENTICATED_BODY = 64 * 1024
"""Bytes that the server reads for a request of somebody it does not know."""
_TEXT = "text/plain; charset=utf-8"
_NOT_FOUND = HttpResponse(404, b"404 page not found\n", _TEXT)
_UNAVAILABLE = HttpResponse(503, b"service unavailable\n", _TEXT)


class HttpDispatcher:
    """The handler of the HTTP server; `authenticate` finds who asks, `impersonate` as whom they act."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        authenticate: Authenticate,
        remotes: ApiServices | None = None,
        traffic: Traffic | None = None,
        impersonate: Impersonate = lambda requester, headers: requester,
        judge_watch: JudgeWatch = lambda call: None,
    ) -> None:
        self._dispatcher = dispatcher
        self._authenticate = authenticate
        self._impersonate = impersonate
        self._judge_watch = judge_watch
        self._remotes = remotes
        self._traffic = traffic or Traffic()
        self._proxying = ProxyBudget()
        self._joined = Joined()

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        """Judge a request before its body is read: the refusal, or how large the body may be.

        The verdict counts for a request whose turn comes at once, too. One that has to wait is judged anew: its client
        may hold the body back, or have asked for what lasts before it, until it has lost its rights.
        """
        visit = request.admitted = self._traffic.arrive(request)
        try:
            self._enter(visit)
        except Exception as error:
            answer = self._failed(error, request, None)
            self._traffic.leave(visit, answer.status)
            request.admitted = None
            return answer
        # If the body is here and nothing is before it, its turn is in the next step of the event loop.
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, _forget_verdict, request)
        return BODY if request.client else UNAUTHENTICATED_BODY

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answer one request; every refusal is a Status."""
        visit = request.admitted if isinstance(request.admitted, Visit) else self._traffic.arrive(request)
        try:
            answer = await self._answer(request, visit)
        except BaseException:
            self._traffic.leave(visit, 500)
            raise
        finally:
            request.admitted = None  # They know each other: both would wait for the collector, with the body.
        self._traffic.leave(visit, 101 if isinstance(answer, Upgrade) else answer.status)
        return answer

    def _enter(self, visit: Visit) -> None:
        """Find out who asks for what, and refuse what they may not do."""
        request = visit.request
        try:
            requester = visit.requester = self._authenticate(request)
        except Failure:
            visit.attributes = _attributes(request)
            request.client = ""
            raise
        if requester.name != ANONYMOUS.name:
            request.client = requester.name
        params = visit.params = first_params(parse_qsl(request.query, keep_blank_values=True)) if request.query else {}
        path = visit.path = paths.parse(request.path)
        try:
            user = visit.user = self._impersonate(requester, request.headers)
        except Failure:
            visit.attributes = _attributes(request)
            raise
        if path is None:
            visit.attributes = Attributes(request.method.lower(), path=request.path)
        else:
            verb = visit.verb = verb_of(request.method, path, params)
            visit.attributes = attributes_of(verb or request.method.lower(), path, params)
        self._authorize(user, request.method, request.path, None if path is None else visit.attributes)

    def _authorize(self, user: UserInfo, method: str, path: str, asked: Attributes | None) -> None:
        """Refuse what a user may not do; a page that is no resource is known by its path."""
        if asked is None:
            self._dispatcher.authorize_page(user, method, path)
        else:
            self._dispatcher.authorize(user, asked)

    def _still_may(self, visit: Visit, required: Sequence[Attributes]) -> May:
        """Whether the requester may still have the answer that lasts; keeps neither the request nor its body."""
        requester, headers = visit.requester, visit.request.headers
        asked = visit.request.method, visit.request.path, None if visit.path is None else visit.attributes
        assert requester is not None

        def may() -> bool:
            try:
                user = self._impersonate(requester, headers)
                self._authorize(user, *asked)
                for attributes in required:
                    self._dispatcher.authorize(user, attributes)
            except Failure:
                return False
            return True

        return may

    async def _answer(self, request: HttpRequest, visit: Visit) -> HttpAnswer:
        call: Call | None = None
        try:
            if request.admitted is None:
                self._enter(visit)
            user, path, params = visit.user, visit.path, visit.params
            assert user is not None
            offload.on_behalf_of(user)
            if path is None:
                return await self._page(visit, params, user)
            if self._remotes is not None:
                elsewhere = self._remotes.remote(path.group, path.version)
                if elsewhere is not None:
                    return await self._forward(elsewhere, visit, user)
            headers = request.headers
            call = self._dispatcher.call(
                request.method, visit.verb, path, user, params, request.body, headers.get("accept", "")
            )
            call.content_type = headers.get("content-type", "")
            call.agent = headers.get("user-agent", "")
            call.http = request
            if call.verb == "watch" and not self._dispatcher.pipeline.is_special(call):
                self._judge_watch(call)
                return await self._watch(call, visit)
            async with self._traffic.seat(visit, request_seconds(params)) as seat:
                offload.on_behalf_of(user, seat)
                answer = _written(call, await self._dispatcher.pipeline.run(call))
            return answer if isinstance(answer, HttpResponse) else await self._counted(visit, answer, call)
        except Exception as error:
            return self._failed(error, request, call)

    async def _counted(self, visit: Visit, answer: HttpAnswer, call: Call | None = None) -> HttpAnswer:
        """An answer that lasts is counted until it ends, which it does when its requester loses the right to it; one
        too many is dropped with what it holds open."""
        if isinstance(answer, HttpResponse):
            return answer
        try:
            answer.ended = self._traffic.stay(visit)
        except Failure:
            if isinstance(answer, Upgrade):
                with suppress(ConnectionError):
                    await answer.serve(ENDED)
            elif (close := getattr(answer.chunks, "aclose", None)) is not None:
                await close()
            raise
        may = self._still_may(visit, call.required if call is not None else ())
        if isinstance(answer, Upgrade):
            answer.serve = while_allowed(answer.serve, may)
        else:
            answer.chunks = AllowedChunks(answer.chunks, may)
        return answer

    def _failed(self, error: Exception, request: HttpRequest, call: Call | None) -> HttpResponse:
        """The answer to a request that was refused or failed."""
        match error:
            case Failure():
                try:
                    return refused(error, call, request.headers.get("accept", ""))
                except Exception:
                    _log.exception("%s %s: the refusal cannot be encoded", request.method, request.path)
                    return refused(internal("the server failed; its log says why"), None, "")
            case PageNotFound():
                return _NOT_FOUND
            case DeadlinePassed() | TimeoutError():
                late = Failure(504, "Timeout", "Timeout: request did not complete within the allotted timeout", {})
                status = {key: value for key, value in late.status().items() if key not in ("kind", "apiVersion")}
                return HttpResponse(504, orjson.dumps(status), _TEXT)
            case StorageFailed():
                _log.error("%s %s: the storage failed: %s", request.method, request.path, error)
                return refused(Failure(500, "InternalError", f"Internal error occurred: storage: {error}"), call, "")
        # Whatever went wrong in one request must not end the connection, and clients read Status objects only.
        _log.error("%s %s failed", request.method, request.path, exc_info=error)
        return refused(internal("the server failed; its log says why"), None, "")

    async def _page(self, visit: Visit, params: dict[str, str], user: UserInfo) -> HttpAnswer:
        request = visit.request
        parts = request.path.strip("/").split("/")
        if self._remotes is not None and len(parts) == 3 and parts[0] == "apis":
            elsewhere = self._remotes.remote(parts[1], parts[2])
            if elsewhere is not None:
                return await self._forward(elsewhere, visit, user)
        answer = await self._dispatcher.page(
            request.method, request.path, params, request.headers.get("accept", ""), user
        )
        if answer is None:
            return _NOT_FOUND
        tag = answer.headers.get("ETag")
        if tag is not None and tag in request.headers.get("if-none-match", "").split(", "):
            return HttpResponse(304, b"", "", dict(answer.headers))
        return HttpResponse(answer.code, answer.body, answer.content_type, dict(answer.headers))

    async def _forward(self, remote: Remote, visit: Visit, user: UserInfo) -> HttpAnswer:
        assert self._remotes is not None
        try:
            if remote.available:
                with self._proxying.take(user, remote.name):
                    answer = _streamed(await self._remotes.forward(remote, visit.request, user))
                return await self._counted(visit, answer)
        except (CallFailed, Unreachable) as error:
            failure = Failure(503, "ServiceUnavailable", f"error trying to reach service: {error}")
            return refused(failure, None, "")
        return _UNAVAILABLE

    async def _watch(self, call: Call, visit: Visit) -> StreamResponse:
        call.body = b""  # It says nothing, and would be kept for as long as the watch lasts.
        ended = self._traffic.stay(visit)
        try:
            watch = await self._dispatcher.pipeline.watch(call)
        except BaseException:
            ended()
            raise
        offload.answering()
        chunks = lines(self._dispatcher.pipeline.context, watch)
        return StreamResponse(
            200, chunks, headers=_warnings(call), ended=ended, gathered=partial(self._joined.gathered, watch)
        )


def _forget_verdict(request: HttpRequest) -> None:
    request.admitted = None


def _written(call: Call, answer: AnyAnswer) -> HttpAnswer:
    if isinstance(answer, Answer):
        headers: dict[str, str | list[str]] = dict(answer.headers) if answer.headers else {}
        if call.warnings:
            headers.update(_warnings(call))
        return HttpResponse(answer.code, answer.body, answer.content_type, headers, answer.pieces)
    return _streamed(answer)


def _streamed(answer: AnyAnswer) -> HttpAnswer:
    if isinstance(answer, Streamed):
        return StreamResponse(answer.code, answer.chunks, answer.content_type, dict(answer.headers))
    if isinstance(answer, Upgraded):
        return Upgrade(dict(answer.headers), answer.serve)
    return HttpResponse(answer.code, answer.body, answer.content_type, dict(answer.headers))


def _warnings(call: Call) -> dict[str, list[str]]:
    if not call.warnings:
        return {}
    return {"Warning": warning_headers(call.warnings)}


def _attributes(request: HttpRequest) -> Attributes:
    """What a request that is refused early asks for, as far as it can be read."""
    path = paths.parse(request.path)
    if path is None:
        return Attributes(request.method.lower(), path=request.path)
    verb = verb_of(request.method, path, {})
    return attributes_of(verb or request.method.lower(), path, {})


def refused(failure: Failure, call: Call | None, accept: str) -> HttpResponse:
    """A Failure as a Status, in YAML where the client reads nothing else."""
    headers: dict[str, str | list[str]] = dict(failure.headers)
    if call is not None and call.warnings:
        headers.update(_warnings(call))
    if accept == "application/yaml":
        from karmada.api import yaml

        return HttpResponse(failure.code, yaml.dump(failure.status()).encode(), "application/yaml", headers)
    return HttpResponse(failure.code, orjson.dumps(failure.status()), headers=headers)
