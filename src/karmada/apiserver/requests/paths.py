"""URL paths of the Kubernetes API: which resource a path names.

`/api/v1/...` is the core group, `/apis/<group>/<version>/...` all others. A path that is neither names no resource.
"""

from typing import NamedTuple

from karmada.api.caching import text_cache

_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class ResourcePath(NamedTuple):
    """What a path names; `name` is empty for collections, `subpath` is what follows a subresource."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    subpath: str = ""
    watch: bool = False
    """The path has the old `/watch/` prefix."""


@text_cache(1024)
def parse(path: str) -> ResourcePath | None:
    """The resource a decoded path names, None for every other path (discovery, health, OpenAPI ...)."""
    if path.startswith("/api/"):
        parts = path[5:].split("/")
        group = ""
    elif path.startswith("/apis/"):
        group, *parts = path[6:].split("/")
    else:
        return None
    if len(parts) < 2 or not parts[1]:
        return None
    version, *rest = parts
    watch = rest[0] == "watch" and len(rest) > 1
    if watch:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace = rest[1]
        rest = rest[2:]
    if rest and not rest[-1] and len(rest) <= 3:
        rest = rest[:-1]
    if not all(rest[:3]):
        return None
    resource, name, subresource, *subpath = (*rest, "", "", "")[: max(3, len(rest))]
    return ResourcePath(group, version, resource, namespace, name, subresource, "/".join(subpath), watch)


def format_path(path: ResourcePath) -> str:
    """The URL path of a resource path."""
    parts = ["/apis/" + path.group if path.group else "/api", path.version]
    if path.namespace:
        parts += ["namespaces", path.namespace]
    parts += [part for part in (path.resource, path.name, path.subresource, path.subpath) if part]
    return "/".join(parts)
