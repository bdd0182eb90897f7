"""API requests as HTTP: method, path with query, content type, body."""

from typing import NamedTuple

from karmada.machinery.transport import GroupVersionResource, Request, Verb

_METHODS = {
    Verb.GET: "GET",
    Verb.LIST: "GET",
    Verb.WATCH: "GET",
    Verb.CREATE: "POST",
    Verb.UPDATE: "PUT",
    Verb.PATCH: "PATCH",
    Verb.DELETE: "DELETE",
    Verb.DELETE_COLLECTION: "DELETE",
}


class Wire(NamedTuple):
    """A request as it goes over the wire."""

    method: str
    path: str
    content_type: str
    body: bytes


def to_wire(request: Request) -> Wire:
    """The HTTP form of an API request."""
    body = request.body if isinstance(request.body, bytes) else b""
    if request.body is not None and not isinstance(request.body, bytes):
        import orjson

        body = orjson.dumps(request.body)
    content_type = "" if not body else request.patch_type.value if request.patch_type else "application/json"
    params = dict(request.params)
    if request.verb is Verb.WATCH:
        params["watch"] = "true"
    path = path_of(request.resource, request.namespace, request.name, request.subresource)
    return Wire(_METHODS[request.verb], f"{path}?{_query(params)}" if params else path, content_type, body)


def path_of(type_: GroupVersionResource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    """The path of a collection, an object or a subresource."""
    path = f"/apis/{type_.group}/{type_.version}" if type_.group else f"/api/{type_.version}"
    if namespace:
        path += f"/namespaces/{_quoted(namespace)}"
    path += f"/{type_.resource}"
    if name:
        path += f"/{_quoted(name)}"
    return f"{path}/{_quoted(subresource, '/')}" if subresource else path


def _query(params: dict[str, str]) -> str:
    if all(map(_is_plain, params.values())):
        return "&".join(f"{name}={value}" for name, value in params.items())
    from urllib.parse import urlencode

    return urlencode(params)


def _quoted(text: str, safe: str = "") -> str:
    if _is_plain(text):
        return text
    from urllib.parse import quote

    return quote(text, safe=safe)


def _is_plain(text: str) -> bool:
    """Whether a text means itself in a URL, as names do: the module that quotes is imported only where needed."""
    return text.isascii() and text.replace("-", "").replace(".", "").isalnum()
