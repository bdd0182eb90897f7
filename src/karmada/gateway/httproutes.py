"""HTTPRoutes of the Gateway API, read strictly. Pure.

A route with anything in it that is not supported is not served at all: without that part, its requests might go where
their owner did not mean them to. Backends that cannot be used take their share of the requests with them. A backend of
another namespace needs a ReferenceGrant there.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from karmada.api.name_rules import dns_subdomain
from karmada.gateway.forwarding import is_reserved, is_safe
from karmada.gateway.rules import Backend, Change, Conditions, PathChange, Redirect, Rule, Weighted
from karmada.machinery.http.head import is_field_value

JSONObject = dict[str, Any]
GROUP, KIND = "gateway.networking.k8s.io", "HTTPRoute"
IMPORTS = "multicluster.x-k8s.io"
UNSUPPORTED, NO_PARENT = "UnsupportedValue", "NoMatchingParent"
INVALID_KIND, NOT_PERMITTED = "InvalidKind", "RefNotPermitted"
MOST_PLACES = 1024
"""Hosts times matches of one route: each takes a place in the table."""
LONGEST_PATH = 1024
"""Characters: the beginnings of a request's path are looked up one by one."""
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PATH = re.compile(r"/[A-Za-z0-9/._~!$&'()*+,;=:@-]*")
Values = Annotated[str, Meta(max_length=4096)]
Paths = Annotated[str, Meta(max_length=LONGEST_PATH)]
Port = Annotated[int, Meta(ge=1, le=65535)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Strict: a field that is not known here is not supported."""


class PathMatch(_Part, frozen=True, kw_only=True):
    """How paths are compared."""

    type: Literal["Exact", "PathPrefix"] = "PathPrefix"
    value: Paths = "/"


class NameValue(_Part, frozen=True, kw_only=True):
    """A header or query parameter and its exact value."""

    type: Literal["Exact"] = "Exact"
    name: Annotated[str, Meta(min_length=1, max_length=256)]
    value: Values


class Match(_Part, frozen=True, kw_only=True):
    """What requests a rule is for."""

    path: PathMatch = PathMatch()
    headers: Annotated[tuple[NameValue, ...], Meta(max_length=16)] = ()
    query_params: Annotated[tuple[NameValue, ...], Meta(max_length=16)] = ()
    method: str = ""


class Field(_Part, frozen=True, kw_only=True):
    """A header that is set or added."""

    name: str
    value: Values


class HeaderModifier(_Part, frozen=True, kw_only=True):
    """Headers that are changed."""

    set: Annotated[tuple[Field, ...], Meta(max_length=16)] = ()
    add: Annotated[tuple[Field, ...], Meta(max_length=16)] = ()
    remove: Annotated[tuple[str, ...], Meta(max_length=16)] = ()


class PathModifier(_Part, frozen=True, kw_only=True):
    """A path that is replaced."""

    type: Literal["ReplaceFullPath", "ReplacePrefixMatch"]
    replace_full_path: Paths | None = None
    replace_prefix_match: Paths | None = None


class RequestRedirect(_Part, frozen=True, kw_only=True):
    """Where clients are sent."""

    scheme: Literal["", "http", "https"] = ""
    hostname: str = ""
    path: PathModifier | None = None
    port: Port | None = None
    status_code: Literal[301, 302, 303, 307, 308] = 302


class UrlRewrite(_Part, frozen=True, kw_only=True):
    """What is passed on in place of host and path."""

    hostname: str = ""
    path: PathModifier | None = None


class Filter(_Part, frozen=True, kw_only=True):
    """Something that is done with requests."""

    type: Literal["RequestHeaderModifier", "RequestRedirect", "URLRewrite"]
    request_header_modifier: HeaderModifier | None = None
    request_redirect: RequestRedirect | None = None
    url_rewrite: UrlRewrite | None = None


class BackendRef(_Part, frozen=True, kw_only=True):
    """A Service or ServiceImport, and its share of the requests."""

    group: str = ""
    kind: str = "Service"
    name: str
    namespace: str = ""
    port: Port | None = None
    weight: Annotated[int, Meta(ge=0, le=1_000_000)] = 1


class RouteRule(_Part, frozen=True, kw_only=True):
    """Requests, and who answers them."""

    name: str = ""
    matches: Annotated[tuple[Match, ...], Meta(max_length=64)] = ()
    filters: Annotated[tuple[Filter, ...], Meta(max_length=16)] = ()
    backend_refs: Annotated[tuple[BackendRef, ...], Meta(max_length=16)] = ()


class RouteSpec(_Part, frozen=True, kw_only=True):
    """A route without its parents, which are looked at before."""

    hostnames: Annotated[tuple[str, ...], Meta(max_length=16)] = ()
    rules: Annotated[tuple[RouteRule, ...], Meta(max_length=16)] = (RouteRule(),)


class Refusal(NamedTuple):
    """Why a route, or a backend of it, is not served."""

    reason: str
    message: str


class Placed(NamedTuple):
    """A rule at a path."""

    exact: bool
    path: str
    rule: Rule


class HttpRoute(NamedTuple):
    """A route as the gateway reads it."""

    namespace: str
    name: str
    created: str
    hosts: tuple[str, ...] = ("",)
    places: tuple[Placed, ...] = ()
    refused: Refusal | None = None
    """Why nothing of it is served."""
    unresolved: tuple[Refusal, ...] = ()


class _Bad(ValueError):
    """A field that cannot be served; the message names it."""


def parents_of(route: JSONObject, name: str) -> list[JSONObject]:
    """The references of a route to the gateway of a name."""
    found = (route.get("spec") or {}).get("parentRefs") or ()
    return [ref for ref in found if isinstance(ref, dict) and _is_ours(ref, name)]


def _is_ours(ref: JSONObject, name: str) -> bool:
    return (ref.get("group", GROUP), ref.get("kind", "Gateway"), ref.get("name")) == (GROUP, "Gateway", name)


def read(route: JSONObject, gateway: str, grants: Sequence[JSONObject]) -> HttpRoute | None:
    """A route of the gateway of a name; None when it is for others."""
    metadata = route["metadata"]
    refs = parents_of(route, gateway)
    if not refs or metadata.get("deletionTimestamp"):
        return None
    made = HttpRoute(metadata["namespace"], metadata["name"], metadata.get("creationTimestamp") or "")
    if all(ref.get("sectionName") or ref.get("port") for ref in refs):
        text = "spec.parentRefs: the gateway has no listeners to choose from: leave out sectionName and port"
        return made._replace(refused=Refusal(NO_PARENT, text))
    try:
        tree = {key: value for key, value in route["spec"].items() if key != "parentRefs"}
        spec = msgspec.convert(tree, RouteSpec)
        hosts = tuple(dict.fromkeys(map(_host, spec.hostnames))) or ("",)
        unresolved: list[Refusal] = []
        places = tuple(
            placed
            for index, rule in enumerate(spec.rules)
            for placed in _placed(made.namespace, rule, f"spec.rules[{index}]", grants, unresolved)
        )
        if len(hosts) * len(places) > MOST_PLACES:
            raise _Bad(f"spec: hostnames times matches are more than {MOST_PLACES}")
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at ")
        path = f"spec{where.strip('`').removeprefix('$')}" if where else "spec"
        return made._replace(refused=Refusal(UNSUPPORTED, f"{path}: {text}"))
    except _Bad as error:
        return made._replace(refused=Refusal(UNSUPPORTED, str(error)))
    return made._replace(hosts=hosts, places=places, unresolved=tuple(dict.fromkeys(unresolved)))


def _host(text: str) -> str:
    name = text.lower()
    if dns_subdomain(name.removeprefix("*.")):
        raise _Bad(f"spec.hostnames: {text[:253]!r} is no host name")
    return name


def _placed(
    namespace: str, rule: RouteRule, where: str, grants: Sequence[JSONObject], unresolved: list[Refusal]
) -> Iterable[Placed]:
    split = tuple(
        Weighted(_backend(namespace, ref, f"{where}.backendRefs[{index}]", grants, unresolved), ref.weight)
        for index, ref in enumerate(rule.backend_refs)
    )
    for index, match in enumerate(rule.matches or (Match(),)):
        at = f"{where}.matches[{index}]"
        if not match.path.value.startswith("/"):
            raise _Bad(f"{at}.path.value: {match.path.value!r} must begin with a slash")
        exact = match.path.type == "Exact"
        parts = None if exact else match.path.value.rstrip("/").count("/")
        change, redirect = _filters(rule.filters, f"{where}.filters", parts)
        yield Placed(exact, match.path.value, Rule(_conditions(match, at), split, change, redirect))


def _conditions(match: Match, where: str) -> Conditions | None:
    for header in match.headers:
        if not _NAME.fullmatch(header.name):
            raise _Bad(f"{where}.headers: {header.name!r} is no name of a header")
    # Of entries with the same name the first counts, as the API says.
    headers: dict[str, str] = {}
    for header in match.headers:
        headers.setdefault(header.name.lower(), header.value)
    query: dict[str, str] = {}
    for parameter in match.query_params:
        query.setdefault(parameter.name, parameter.value)
    found = Conditions(match.method, tuple(headers.items()), tuple(query.items()))
    return found if found != Conditions() else None


def _filters(filters: Sequence[Filter], where: str, parts: int | None) -> tuple[Change | None, Redirect | None]:
    change, redirect = Change(), None
    if len({each.type for each in filters}) != len(filters):
        raise _Bad(f"{where}: a filter is there twice")
    for index, each in enumerate(filters):
        at = f"{where}[{index}]"
        match each:
            case Filter(type="RequestHeaderModifier", request_header_modifier=HeaderModifier() as said):
                at = f"{at}.requestHeaderModifier"
                change = change._replace(
                    set=_fields(said.set, f"{at}.set"),
                    add=_fields(said.add, f"{at}.add"),
                    remove=tuple(_header(name, f"{at}.remove") for name in said.remove),
                )
            case Filter(type="URLRewrite", url_rewrite=UrlRewrite() as said):
                at = f"{at}.urlRewrite"
                hostname = _hostname(said.hostname, at)
                change = change._replace(hostname=hostname, path=_path(said.path, f"{at}.path", parts))
            case Filter(type="RequestRedirect", request_redirect=RequestRedirect() as said):
                at = f"{at}.requestRedirect"
                path = _path(said.path, f"{at}.path", parts)
                hostname = _hostname(said.hostname, at)
                redirect = Redirect(said.scheme, hostname, said.port or 0, path, said.status_code)
            case _:
                raise _Bad(f"{at}: {each.type} says nothing of what to do")
    if redirect is not None and change.path is not None:
        raise _Bad(f"{where}: a request is redirected or rewritten, not both")
    return (change if change != Change() else None), redirect


def _fields(fields: Sequence[Field], where: str) -> tuple[tuple[str, str], ...]:
    for field in fields:
        if not is_field_value(field.value):
            raise _Bad(f"{where}: the value of {field.name!r} has control characters in it")
    return tuple((_header(field.name, where), field.value) for field in fields)


def _header(name: str, where: str) -> str:
    if not _NAME.fullmatch(name):
        raise _Bad(f"{where}: {name[:256]!r} is no name of a header")
    if is_reserved(name.lower()):
        raise _Bad(f"{where}: {name} is set by the gateway itself and cannot be changed")
    return name.lower()


def _hostname(text: str, where: str) -> str:
    if text and dns_subdomain(text):
        raise _Bad(f"{where}.hostname: {text[:253]!r} is no host name")
    return text


def _path(modifier: PathModifier | None, where: str, parts: int | None) -> PathChange | None:
    if modifier is None:
        return None
    whole = modifier.type == "ReplaceFullPath"
    value = modifier.replace_full_path if whole else modifier.replace_prefix_match
    if value is None:
        raise _Bad(f"{where}: {modifier.type} has no path")
    # It is put before what clients send: nothing in it may lead elsewhere, encoded or not.
    if (value and not _PATH.fullmatch(value)) or not is_safe(value) or (whole and not value):
        raise _Bad(f"{where}: {value!r} must begin with a slash and have plain characters and no . or .. in it")
    if whole:
        return PathChange(value)
    if parts is None:
        raise _Bad(f"{where}: ReplacePrefixMatch needs matches of type PathPrefix")
    return PathChange(value, parts)


def _backend(
    namespace: str, ref: BackendRef, where: str, grants: Sequence[JSONObject], unresolved: list[Refusal]
) -> Backend | None:
    if (ref.group, ref.kind) not in (("", "Service"), (IMPORTS, "ServiceImport")):
        text = f"{where}: {ref.kind}{f'.{ref.group}' if ref.group else ''} is neither a Service nor a ServiceImport"
        unresolved.append(Refusal(INVALID_KIND, text))
        return None
    if ref.port is None:
        raise _Bad(f"{where}.port: it must be said")
    space = ref.namespace or namespace
    if space != namespace and not any(_grants(grant, namespace, space, ref) for grant in grants):
        text = f"{where}: {ref.kind} {space}/{ref.name} is of another namespace, and no ReferenceGrant there allows it"
        unresolved.append(Refusal(NOT_PERMITTED, text))
        return None
    return Backend(space, ref.name, ref.port)


def _grants(grant: JSONObject, namespace: str, space: str, ref: BackendRef) -> bool:
    """Whether a grant lets HTTPRoutes of a namespace refer to a backend of another."""
    if grant["metadata"].get("namespace") != space or grant["metadata"].get("deletionTimestamp"):
        return False
    spec = grant.get("spec") or {}
    sources, targets = ([each for each in spec.get(key) or () if isinstance(each, dict)] for key in ("from", "to"))
    return any(
        (each.get("group"), each.get("kind"), each.get("namespace")) == (GROUP, KIND, namespace) for each in sources
    ) and any(
        (each.get("group", ""), each.get("kind")) == (ref.group, ref.kind) and each.get("name") in (None, "", ref.name)
        for each in targets
    )
