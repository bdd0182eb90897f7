"""The handler of `clusters/<name>/proxy`: finds the cluster, passes the request on, hands back the answer."""

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from karmada.aggregated.proxy.exchange import Body, ExchangeFailed, Reply, exchange
from karmada.aggregated.proxy.fanout import FanOut
from karmada.aggregated.proxy.headers import answered, passed_on
from karmada.aggregated.proxy.upstream import Upstreams
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import decoder
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import Failure, bad_request, not_found
from karmada.apiserver.http.model import ByteStream, HttpRequest
from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Context, Streamed, Upgraded
from karmada.membership.channel import splice
from karmada.membership.members import MemberUnavailable

_TEXT = "text/plain; charset=utf-8"
_REDIRECT = b"the backend attempted to redirect this request, which is not permitted"
_SAFE_IN_PATHS = "/:@!$&'()*+,;=~-._"


class ClusterProxy:
    """See the module."""

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams
        self._fan_out = FanOut(self.forward)

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Answer an authorised request."""
        request = call.http
        if request is None:
            raise bad_request("clusters/proxy passes on HTTP requests; use HTTP")
        _, _, path = request.path.partition(f"/clusters/{call.name}/proxy")
        if not path:
            return Answer(502, _REDIRECT, _TEXT)
        if call.name == "*":
            clusters = [decoder(Cluster).decode(item.body) for item in context.store.list(call.served.key).items]
            return await self._fan_out(clusters, request, path, call.user)
        item = context.store.get(call.served.key, "", call.name)
        if item is None:
            raise not_found(call.served.type.group, call.served.type.plural, call.name)
        return await self.forward(decoder(Cluster).decode(item.body), request, path, call.user)

    async def forward(self, cluster: Cluster, request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        """Pass a request on to one cluster."""
        try:
            upstream = await self._upstreams.open(cluster)
            upgrade = "upgrade" in request.headers
            target = upstream.base + quote(path, safe=_SAFE_IN_PATHS) + (f"?{request.query}" if request.query else "")
            lines = [f"{request.method} {target} HTTP/1.1"]
            lines += passed_on(request.headers, user, upstream.token, upstream.host, upgrade)
            if request.body or request.method in ("POST", "PUT", "PATCH"):
                lines.append(f"Content-Length: {len(request.body)}")
            head = "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")
            reply, body = await exchange(upstream.channel, head, request.body, only_head=request.method == "HEAD")
        except (MemberUnavailable, ExchangeFailed) as error:
            raise Failure(503, "ServiceUnavailable", str(error)) from error
        except TimeoutError:
            raise Failure(504, "Timeout", f"cluster {cluster.metadata.name} did not answer") from None
        except OSError as error:
            text = f"the connection to cluster {cluster.metadata.name} broke: {error}"
            raise Failure(503, "ServiceUnavailable", text) from error
        return await _answer(reply, body)


async def _answer(reply: Reply, body: Body) -> AnyAnswer:
    if reply.switched:
        return Upgraded(_switching(reply), _carry_on(reply))
    if 300 <= reply.status < 400 and reply.header("location"):
        await reply.channel.close()
        return Answer(502, _REDIRECT, _TEXT)
    content_type = reply.header("content-type")
    length = reply.header("content-length")
    if reply.status in (204, 304) or length == "0":
        await reply.channel.close()
        return Answer(reply.status, b"", content_type, answered(reply.headers))
    return Streamed(reply.status, body, content_type, answered(reply.headers))


def _switching(reply: Reply) -> dict[str, str]:
    names = {"connection": "Connection", "upgrade": "Upgrade"}
    return {names.get(name, name): value for name, value in reply.headers if name not in ("date", "content-length")}


def _carry_on(reply: Reply) -> Callable[[ByteStream], Awaitable[None]]:
    async def serve(stream: ByteStream) -> None:
        if reply.rest:
            await stream.write(reply.rest)
        await splice(stream, reply.channel)

    return serve
