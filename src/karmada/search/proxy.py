"""`proxying/karmada/proxy/<path>`: the control plane and all its members as one API server.

`proxying/templates/proxy/<path>` is the same with another view of members: `karmada.search.templates_view`.
"""

import re
from collections.abc import Awaitable, Callable

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import conflict, not_found, unavailable
from karmada.apiserver.requests import offload
from karmada.apiserver.requests.model import AnyAnswer, Call, Context
from karmada.apiserver.requests.negotiation import negotiate
from karmada.apiserver.requests.routing import method_not_allowed, not_served
from karmada.machinery.httpserver.failure import bad_request
from karmada.machinery.httpserver.model import HttpRequest
from karmada.machinery.transport import GroupVersionResource
from karmada.search import reading, view_writes, watching, writes
from karmada.search.access import Ask
from karmada.search.caches import Caches
from karmada.search.names import GROUP, PROXY, PROXYING, TEMPLATES, VERSION
from karmada.search.routes import Answerer, Route, route
from karmada.search.sources import Finder, SourceFinder, unanswered
from karmada.search.templates_view import TemplatesView
from karmada.search.view import InCluster, MemberRead, member_read, renamed, split

ToCluster = Callable[[Cluster, HttpRequest, str, UserInfo], Awaitable[AnyAnswer]]
"""Passes a request on to a path of a member, as a user."""
ToControlPlane = Callable[[HttpRequest, str, UserInfo], Awaitable[AnyAnswer]]
"""Passes a request on to a path of the control plane, as a user."""
_EXPENSIVE = 8
"""How many times longer than a character of a body one of a selector takes."""
_SLASHES = re.compile("/{2,}")


class GlobalProxy:
    """The handler of `proxying`; every answer is what the asking user may see or do where it comes from."""

    def __init__(
        self,
        caches: Caches,
        finder: Finder,
        to_cluster: ToCluster,
        to_control_plane: ToControlPlane,
        templates: TemplatesView,
    ) -> None:
        self._caches = caches
        self._finder = finder
        self._to_cluster = to_cluster
        self._to_control_plane = to_control_plane
        self._templates = templates

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Answer an authorised request."""
        request = call.http
        if request is None:
            raise bad_request("proxying passes on HTTP requests; use HTTP")
        if call.subresource != PROXY:
            raise not_served()
        _, _, rest = request.path.partition(f"/proxying/{call.name}/{PROXY}")
        path = _SLASHES.sub("/", rest) or "/"
        if path.startswith(f"/apis/{GROUP}/{VERSION}/{PROXYING}/"):
            raise bad_request("the global API server is not asked through itself")
        params = dict(call.params)
        shown = self._templates if call.name == TEMPLATES else None
        collections = self._caches.registered if shown is None else shown.collections
        chosen = route(request.method, path, params, collections)
        if chosen.path is not None and not self._caches.registries_are_known:
            raise unavailable("the registries are being read, and with them which clusters have the object; ask again")
        match chosen.answerer:
            case Answerer.CACHE:
                return await self._read(chosen, call, params, shown)
            case Answerer.CLUSTER:
                if shown is None:
                    return await self._act(chosen, request, path, call.user)
                return await self._act_shown(chosen, request, path, call.user, shown)
            case Answerer.CONTROL_PLANE:
                return await self._to_control_plane(request, path, call.user)

    async def _read(self, chosen: Route, call: Call, params: dict[str, str], shown: TemplatesView | None) -> AnyAnswer:
        path = chosen.path
        assert path is not None
        assert call.http is not None
        served = self._caches.served(chosen.type)
        view = negotiate(call.http.headers.get("accept", ""), chosen.verb != "get")
        if params.get("pretty") in ("true", "1"):
            view = view._replace(pretty=True)
        meant = MemberRead(path.name, params)
        finder: SourceFinder = self._finder
        rewrite: reading.Rewrite | None = None
        if shown is not None:
            await shown.loaded()
            size = _EXPENSIVE * len(params.get("fieldSelector", ""))
            meant = await offload.run(size, member_read, path.name, params)
            finder, rewrite = shown.finder(meant.cluster), shown.rewrite
        inner = Call(chosen.verb, served, call.user, path.namespace, path.name, params=meant.params, view=view)
        inner.warnings, inner.now = call.warnings, call.now
        ask = Ask(call.user, chosen.verb, chosen.type, path.namespace, meant.name)
        if chosen.verb == "get":
            return await reading.get(finder, inner, ask, rewrite)
        if chosen.verb == "list":
            return await reading.list_objects(finder, inner, ask, rewrite)
        return await watching.watch(finder, self._caches, inner, ask, rewrite)

    async def _act(self, chosen: Route, request: HttpRequest, path: str, user: UserInfo) -> AnyAnswer:
        """Pass a request on to the cluster that has the object."""
        if chosen.path is None or not chosen.verb or not chosen.path.name:
            raise method_not_allowed()  # It does not say which cluster is meant.
        cluster = await self._owner(chosen, user)
        if chosen.verb == "update":
            self._refuse_trimmed(chosen.type, cluster.metadata.name)
        if chosen.path.subresource != PROXY:  # There the body is the application's.
            body, content_type = await _for_member(request, cluster.metadata.name)
            request = _with_body(request, body, content_type)
        return await self._to_cluster(cluster, request, path, user)

    async def _act_shown(
        self, chosen: Route, request: HttpRequest, path: str, user: UserInfo, shown: TemplatesView
    ) -> AnyAnswer:
        """Pass a request on to the cluster that the name in the view says, under the name that the object has there.
        Who may not do there what is asked does not learn whether there is one."""
        where = chosen.path
        if where is None or not chosen.verb or not where.name:
            raise method_not_allowed()
        await shown.loaded()
        named = split(where.name) or InCluster(where.name, "")
        ask = Ask(user, chosen.verb, chosen.type, where.namespace, named.name, where.subresource)
        sources = await shown.finder(named.cluster).sources(ask)
        if (refusal := sources.refusal(ask)) is not None:
            raise refusal
        if sources.silent and not sources.found:
            raise unanswered()
        meant, mirror = shown.found(chosen)
        caches = self._caches.member(mirror.cluster)
        if caches is None:
            raise not_found(chosen.type.group, chosen.type.resource, where.name)
        if where.subresource != PROXY:
            body, content_type = await _for_member(request, mirror.cluster)
            body = await offload.run(
                len(body), view_writes.for_member, chosen.verb, body, content_type, where.name, meant
            )
            request = _with_body(request, body, content_type)
        return await self._to_cluster(caches.cluster, request, renamed(path, where, meant.name), user)

    def _refuse_trimmed(self, type_: GroupVersionResource, cluster: str) -> None:
        """Who read an object without some fields and sends it back whole would delete them."""
        caches = self._caches.member(cluster)
        mirror = caches.mirrors.get(type_) if caches is not None else None
        if mirror is not None and (missing := sorted(mirror.part.trimmed - {"metadata.managedFields"})):
            remedy = f"patch the object, or update it by clusters/{cluster}/proxy"
            raise bad_request(f"objects are cached without {', '.join(missing)}: {remedy}")

    async def _owner(self, chosen: Route, user: UserInfo) -> Cluster:
        """The one cluster that has an object, of those where the user may do what is asked; who may do it nowhere does
        not learn what there is, and nobody what there is in a cluster that does not say what they may do."""
        where = chosen.path
        assert where is not None
        type_ = chosen.type
        ask = Ask(user, chosen.verb, type_, where.namespace, where.name, where.subresource)
        sources = await self._finder.sources(ask)
        if (refusal := sources.refusal(ask)) is not None:
            raise refusal
        mirrors = [source.mirror for source in sources.found]
        having = [mirror for mirror in mirrors if mirror.get(where.namespace, where.name) is not None]
        if len(having) > 1:
            names = ", ".join(mirror.cluster for mirror in having)
            raise conflict(type_.group, type_.resource, where.name, f"ambiguous objects in clusters [{names}]")
        if not having and sources.silent:
            raise unanswered()
        caches = self._caches.member(having[0].cluster) if having else None
        if caches is None:
            raise not_found(type_.group, type_.resource, where.name)
        return caches.cluster


async def _for_member(request: HttpRequest, cluster: str) -> tuple[bytes, str]:
    """The body as the member must see it, and its content type; the loop goes on meanwhile if it is large."""
    given = request.headers.get("content-type", "")
    return await offload.run(len(request.body), writes.for_member, request.body, given, cluster)


def _with_body(request: HttpRequest, body: bytes, content_type: str) -> HttpRequest:
    if body is request.body:
        return request
    headers = {**request.headers, "content-type": content_type}
    return msgspec.structs.replace(request, body=body, headers=headers)
