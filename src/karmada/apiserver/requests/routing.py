"""Which resource and verb a request means, and the refusals for paths and methods that mean nothing."""

from collections.abc import Mapping

from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.catalog import Catalog
from karmada.apiserver.requests.options import flag
from karmada.apiserver.requests.paths import ResourcePath
from karmada.apiserver.served_resource import Served
from karmada.machinery.httpserver.failure import Failure

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
CONNECT = frozenset({"exec", "attach", "portforward", "proxy", "log"})


class PageNotFound(Exception):
    """No such API group or path: answered as plain text."""


def verb_of(method: str, path: ResourcePath, params: dict[str, str]) -> str:
    """The verb of a request as authorisation knows it; empty for methods that mean nothing."""
    if path.watch:
        return "watch" if method in ("GET", "HEAD") else ""  # nothing else is done below that prefix
    if method == "GET" or method == "HEAD":
        if path.subresource:
            return "get"
        if params and not path.name and flag(params, "watch"):
            return "watch"
        return "get" if path.name else "list"
    if method == "DELETE":
        return "delete" if path.name else "deletecollection"
    return _VERBS.get(method, "")


def attributes_of(verb: str, path: ResourcePath, params: Mapping[str, str]) -> Attributes:
    """What the authoriser is asked; a list or watch of one object by its name is on that object."""
    if params and not path.name and verb in ("list", "watch") and "fieldSelector" in params:
        path = path._replace(name=_selected_name(params["fieldSelector"]))
    namespace = path.namespace
    if path.resource == "namespaces" and not path.group and path.name:
        namespace = path.name
    return Attributes(verb, path.group, path.version, path.resource, path.subresource, namespace, path.name)


def _selected_name(selector: str) -> str:
    """The one name a field selector allows, if it allows one only."""
    for requirement in selector.split(","):
        field, _, value = requirement.partition("=")
        if field == "metadata.name" and value:
            return value.removeprefix("=")
    return ""


def route(catalog: Catalog, method: str, verb: str, path: ResourcePath) -> Served:
    """The resource that a request means, or why it means none."""
    served = catalog.find(path.group, path.version, path.resource)
    if served is None:
        if not catalog.is_builtin_group(path.group):
            raise PageNotFound
        raise not_served()
    form = (method, verb, path.subresource, not path.name, not path.namespace)
    if form not in served.routed:
        _check(served, method, verb, path)
        if not served.type.open:  # there callers invent subresources
            served.routed.add(form)
    return served


def _check(served: Served, method: str, verb: str, path: ResourcePath) -> None:
    """Refuse what a resource does not have: decided by which parts a path has, not by what they are."""
    type_ = served.type
    if verb == "watch" and path.subresource:
        raise not_served()  # only the old prefix makes it a watch
    if type_.verbs == ("create",) and (path.name or (type_.namespaced and not path.namespace)):
        raise not_served()  # nothing of it is kept, hence there is neither a name nor a list
    if type_.open:
        _check_open(served, verb, path)
        return
    if type_.namespaced:
        if path.name and not path.namespace:
            raise not_served()
        allowed = bool(path.namespace) or verb in ("list", "watch")
    else:
        if path.namespace:
            if type_.custom:
                raise PageNotFound
            raise not_served()
        allowed = True
    subresource = next((sub for sub in type_.subresources if sub.name == path.subresource), None)
    if path.subresource and subresource is None:
        raise not_served()
    if path.subresource == "proxy" and method == "OPTIONS":
        return  # what is passed on may have any method
    if (method == "HEAD" and path.subresource != "proxy") or not verb:
        raise method_not_allowed()
    if subresource is not None:
        verbs: tuple[str, ...] = subresource.verbs
    else:
        verbs = type_.verbs
        collection = verb in ("create", "list", "deletecollection", "watch")
        if collection and path.name and verb != "watch" and not (verb == "list"):
            raise method_not_allowed()
        if verb in ("update", "patch") and not path.name:
            raise method_not_allowed()
    if not allowed or verb not in verbs:
        raise method_not_allowed()


def _check_open(served: Served, verb: str, path: ResourcePath) -> None:
    """A resource whose handler judges names: its scope and its verbs are given."""
    if path.namespace and not served.type.namespaced:
        raise not_served()  # a role in a namespace was asked for the right to something that is in none
    if not path.name and "list" not in served.type.verbs:
        raise not_served()
    if verb not in served.type.verbs:
        raise method_not_allowed()


def not_served() -> Failure:
    """The group is known, the resource is not."""
    return Failure(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> Failure:
    """The path is known, the method is not."""
    return Failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
