"""What both transports (HTTP and direct) share: authorisation, routing, and the pages that are no resources."""

from collections.abc import Mapping
from typing import Any, Protocol

from karmada.apiserver.auth.decisions import require
from karmada.apiserver.auth.model import Attributes, Authorizer, UserInfo
from karmada.apiserver.requests.access import Access, Guarded, check_declared
from karmada.apiserver.requests.model import Answer, Call
from karmada.apiserver.requests.negotiation import JSON, View, negotiate
from karmada.apiserver.requests.paths import ResourcePath
from karmada.apiserver.requests.pipeline import Pipeline
from karmada.apiserver.requests.routing import CONNECT, attributes_of, route
from karmada.machinery.transport import Request

_METHODS = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


class Pages(Protocol):
    """Discovery, OpenAPI, health, version, metrics."""

    def about(self, path: str) -> Attributes | None:
        """The resource whose readers may read a page; None where the path itself is authorised."""
        ...

    @property
    def routes(self) -> Mapping[str, Guarded[Any]]:
        """What is answered, with its authorisation."""
        ...

    async def answer(self, method: str, path: str, params: Mapping[str, str], accept: str) -> Answer | None:
        """The page at a path, None where there is none."""
        ...


class Dispatcher:
    """Turns requests of either kind into authorised calls."""

    def __init__(self, pipeline: Pipeline, authorizer: Authorizer, pages: Pages) -> None:
        check_declared(pages.routes, Access.PATH)
        self.pipeline = pipeline
        self.authorizer = authorizer
        self.pages = pages

    def authorize(self, user: UserInfo, attributes: Attributes) -> None:
        """Refuse what the user may not do."""
        require(self.authorizer, user, attributes)

    def call(
        self,
        method: str,
        verb: str,
        path: ResourcePath,
        user: UserInfo,
        params: Mapping[str, str],
        body: bytes | dict[str, Any] | list[Any] | None,
        accept: str,
    ) -> Call:
        """Route an authorised request."""
        served = route(self.pipeline.context.catalog, method, verb, path)
        # What is passed on is negotiated with who answers it.
        passed_on = path.subresource in CONNECT and path.subresource != "log"
        view = negotiate(accept, verb in ("list", "watch")) if accept and not passed_on else JSON
        if params and params.get("pretty") in ("true", "1"):
            view = View(view.form, view.version, view.yaml, True)
        call = Call(
            verb, served, user, path.namespace, path.name, path.subresource, path.subpath, params, body, "", view
        )
        call.now = self.pipeline.context.now
        if served.type.deprecation:
            call.warnings.append(served.type.deprecation)
        return call

    def call_for(self, request: Request, user: UserInfo, agent: str) -> Call:
        """An in-process request, authorised and routed."""
        gvr = request.resource
        verb: str = request.verb._value_
        path = ResourcePath(gvr.group, gvr.version, gvr.resource, request.namespace, request.name, request.subresource)
        self.authorize(user, attributes_of(verb, path, request.params))
        call = self.call(_METHODS[verb], verb, path, user, request.params, request.body, request.accept)
        call.content_type = request.patch_type._value_ if request.patch_type else "application/json"
        call.agent = agent
        return call

    def authorize_page(self, user: UserInfo, method: str, path: str) -> None:
        """Refuse a page that the user may not see."""
        self.authorize(user, self.pages.about(path) or Attributes(method.lower(), path=path))

    async def page(
        self, method: str, path: str, params: Mapping[str, str], accept: str, user: UserInfo
    ) -> Answer | None:
        """A page that is no resource, authorised by its path."""
        self.authorize_page(user, method, path)
        return await self.pages.answer(method, path, params, accept)
