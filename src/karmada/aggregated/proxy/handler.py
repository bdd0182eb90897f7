"""The handler of `clusters/<name>/proxy`: finds the cluster, passes the request on, hands back the answer."""

import re

from karmada.aggregated.proxy.exchange import Body, ExchangeFailed, Reply, exchange
from karmada.aggregated.proxy.fanout import FanOut
from karmada.aggregated.proxy.headers import answered, impersonation, passed_on
from karmada.aggregated.proxy.upstream import Opener, Upstream
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import decoder
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import not_found
from karmada.apiserver.overload.proxying import ProxyBudget
from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Context, Streamed, Upgraded
from karmada.machinery.http.head import UnsafeHead, is_field_value, request_head, request_target, wanted_protocol
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.os_errors import spelled
from karmada.membership.members import MemberUnavailable

_TEXT = "text/plain; charset=utf-8"
_REDIRECT = b"the backend attempted to redirect this request, which is not permitted"
_SLASHES = re.compile("/{2,}")


class ClusterProxy:
    """Serves `clusters/proxy`: dials the cluster, forwards the request as its caller, streams the response."""

    def __init__(self, upstreams: Opener, budget: ProxyBudget | None = None) -> None:
        self._upstreams = upstreams
        self._budget = budget or ProxyBudget()
        self._fan_out = FanOut(self.forward)

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Answer an authorised request."""
        request = call.http
        if request is None:
            raise bad_request("clusters/proxy passes on HTTP requests; use HTTP")
        _, _, path = request.path.partition(f"/clusters/{call.name}/proxy")
        if not path:
            return Answer(502, _REDIRECT, _TEXT)
        path = _SLASHES.sub("/", path)
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
            # Before a connection is made: what cannot be passed on costs the member nothing.
            request_target(path, request.query)
            impersonation(user)
            with self._budget.take(user, f"cluster {cluster.metadata.name}"):
                upstream = await self._upstreams.open(cluster)
                try:
                    head = _head(upstream, request, path, user)
                except ValueError:
                    await upstream.channel.close()
                    raise
                reply, body = await exchange(upstream.channel, head, request.body, only_head=request.method == "HEAD")
        except UnsafeHead as error:
            raise bad_request(str(error)) from None
        except (MemberUnavailable, ExchangeFailed) as error:
            raise Failure(503, "ServiceUnavailable", str(error)) from error
        except TimeoutError:
            raise Failure(504, "Timeout", f"cluster {cluster.metadata.name} did not answer") from None
        except OSError as error:
            text = f"the connection to cluster {cluster.metadata.name} broke: {spelled(error)}"
            raise Failure(503, "ServiceUnavailable", text) from error
        return await _answer(reply, body)


def _head(upstream: Upstream, request: HttpRequest, path: str, user: UserInfo) -> bytes:
    headers = request.headers
    fields = passed_on(headers, user, upstream.token, upstream.host, wanted_protocol(headers))
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        fields.append(("Content-Length", str(len(request.body))))
    return request_head(request.method, request_target(path, request.query, upstream.base), fields)


async def _answer(reply: Reply, body: Body) -> AnyAnswer:
    if reply.switched:
        return Upgraded(_switching(reply), reply.carry_on)
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
    left_out = ("date", "content-length")
    return {
        names.get(name, name): value for name, value in reply.headers if name not in left_out and is_field_value(value)
    }
