"""Requests passed on to the API server of this process in the name of a user who has been authenticated already."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator

from karmada.apiserver.aggregation.proxy import is_identity
from karmada.apiserver.auth.model import ANONYMOUS, UserInfo
from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.overload.traffic import Traffic
from karmada.apiserver.requests.model import Answer, AnyAnswer, Streamed, Upgraded
from karmada.apiserver.server import ApiServer
from karmada.machinery.httpserver.model import ByteStream, Headers, HttpRequest, HttpResponse, StreamResponse


class _Request(HttpRequest, eq=False):
    """A request of somebody who is known."""

    user: UserInfo = ANONYMOUS


class AsUser:
    """Passes requests on: authorised as the user, never as whoever passes them on."""

    def __init__(self, server: ApiServer, traffic: Traffic | None = None) -> None:
        """`traffic` counts and audits what is passed on, for requests that did not pass the server's own before."""
        self._dispatch = HttpDispatcher(server.dispatcher, _user_of, server.api_services, traffic)

    async def __call__(self, request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        """The server's answer to a request for another path."""
        headers = {name: value for name, value in request.headers.items() if not is_identity(name)}
        inner = _Request(
            request.method, path, request.query, headers, request.body, request.peer, None, user.name, user=user
        )
        answer = await self._dispatch(inner)
        inner.body = b""  # What is sent after this, perhaps for hours, does not need it any more.
        if isinstance(answer, HttpResponse):
            body = answer.body if answer.pieces is None else b"".join(answer.pieces.parts)
            return Answer(answer.status, body, answer.content_type, _joined(answer.headers))
        if isinstance(answer, StreamResponse):
            chunks = _Chunks(answer.chunks, answer.ended)
            return Streamed(answer.status, chunks, answer.content_type, _joined(answer.headers))
        upgrade = answer

        async def serve(stream: ByteStream) -> None:
            try:
                await upgrade.serve(stream)
            finally:
                upgrade.ended()

        return Upgraded(upgrade.headers, serve)


class _Chunks:
    """A streamed body that calls back once when it is over."""

    def __init__(self, chunks: AsyncIterator[bytes | Iterable[bytes]], ended: Callable[[], None]) -> None:
        self._chunks = chunks
        self._parts: Iterator[bytes] = iter(())
        """What is left of an item of several parts."""
        self._ended = ended
        self._over = False

    def __aiter__(self) -> "_Chunks":
        return self

    async def __anext__(self) -> bytes:
        try:
            while not (data := next(self._parts, b"")):
                chunk = await anext(self._chunks)
                self._parts = iter((chunk,) if isinstance(chunk, bytes) else chunk)
            return data
        except BaseException:
            self._end()
            raise

    async def aclose(self) -> None:
        """The client is gone."""
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()
        self._end()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._ended()


def _user_of(request: HttpRequest) -> UserInfo:
    assert isinstance(request, _Request)
    return request.user


def _joined(headers: Headers) -> dict[str, str]:
    return {name: value if isinstance(value, str) else ", ".join(value) for name, value in headers.items()}
