"""The operations on resources, from which both OpenAPI versions are written.

An `Operation` has all its parameters; documents lift those that all operations of a path share to the path.
"""

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import NamedTuple

from karmada.apiserver.builtin.catalog import definition_name, is_builtin_group
from karmada.apiserver.resources import ResourceType, Subresource

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
GVK = tuple[str, str, str]

_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_PAGE = (
    *("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion", "resourceVersionMatch"),
    *("sendInitialEvents", "shardSelector", "timeoutSeconds"),
)
_LIST = ("allowWatchBookmarks", *_PAGE, "watch")
_DELETE = (
    *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential"),
    *("orphanDependents", "propagationPolicy"),
)
PROXY_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_OPTIONS = {
    "attach": ("container", "stderr", "stdin", "stdout", "tty"),
    "exec": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "log": (
        *("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous", "sinceSeconds"),
        *("stream", "tailLines", "timestamps"),
    ),
    "portforward": ("ports",),
    "proxy": ("path",),
}
_RETURNS_OBJECT = frozenset(
    (
        *("Pod", "PodTemplate", "PersistentVolume", "PersistentVolumeClaim", "ResourceQuota"),
        *("Service", "ServiceAccount", "CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"),
        *("VolumeAttributesClass", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
    )
)


class Operation(NamedTuple):
    """One method on one path. `returns` are definition names by status code, an empty name is plain text."""

    method: str
    id: str
    action: str
    kind: GVK | None
    parameters: tuple[str, ...] = ()
    body: str = ""
    body_required: bool = True
    returns: tuple[tuple[str, str], ...] = ()
    streams: bool = False
    custom: bool = False
    json_only: bool = False


Paths = dict[str, list[Operation]]


def words(group: str) -> str:
    """A group in operation ids, e.g. RbacAuthorization."""
    parts = (group.removesuffix(".k8s.io") or "core").split(".")
    return "".join(part[:1].upper() + part[1:] for part in parts)


def tag(group: str, version: str = "") -> str:
    """A group version in tags, e.g. rbacAuthorization_v1."""
    name = words(group)
    name = name[:1].lower() + name[1:]
    return f"{name}_{version}" if version else name


def schema_name(type_: ResourceType) -> str:
    """Definition name of a type: own ones for built-ins, reversed domains for all others."""
    if type_.schema.name:
        return type_.schema.name
    domain = ".".join(reversed(type_.group.split(".")))
    return f"{domain}.{type_.version}.{type_.kind}"


def root(group: str, version: str = "") -> str:
    """The path of a group or group version, without a slash at the end."""
    base = f"/apis/{group}" if group else "/api"
    return f"{base}/{version}" if version else base


def version_paths(group: str, version: str, types: Iterable[ResourceType]) -> Paths:
    """All paths of a group version."""
    base = root(group, version)
    name = words(group) + version[:1].upper() + version[1:]
    returns = (("200", META + "APIResourceList"), ("401", ""))
    paths: Paths = {f"{base}/": [Operation("get", f"get{name}APIResources", "", None, returns=returns)]}
    for type_ in types:
        _resource(paths, base, name, type_)
    return dict(sorted(paths.items()))


def _resource(paths: Paths, base: str, prefix: str, type_: ResourceType) -> None:
    if type_.open:
        return  # Its handler alone knows its paths.
    scope = "Namespaced" if type_.namespaced else ""
    space = f"{base}/namespaces/{{namespace}}/" if type_.namespaced else f"{base}/"
    where = ("namespace",) if type_.namespaced else ()
    collection = space + type_.plural
    item = f"{collection}/{{name}}"
    gvk = (type_.group, type_.version, type_.kind)
    noun = prefix + scope + type_.kind
    name = schema_name(type_)
    verbs = type_.verbs
    found: list[Operation] = []
    if "list" in verbs:
        found.append(_list(f"list{noun}", gvk, name, where, type_.custom))
    if "create" in verbs:
        found.append(_create(f"create{noun}", gvk, name, where, type_.custom))
    if "deletecollection" in verbs:
        ident = f"delete{prefix}Collection{scope}{type_.kind}"
        parameters = (*where, "pretty", *_DELETE, *_PAGE)
        body = META + "DeleteOptions"
        returns = (("200", META + "Status"), ("401", ""))
        operation = Operation("delete", ident, "deletecollection", gvk, parameters, body, False, returns)
        found.append(operation._replace(custom=type_.custom))
    if found:
        paths[collection] = found
    if "get" in verbs:
        deleted = name if type_.kind in _RETURNS_OBJECT and type_.schema.name else META + "Status"
        paths[item] = _item(noun, gvk, name, where, verbs, deleted, type_.custom)
    if "list" in verbs and type_.namespaced:
        all_of = f"list{prefix}{type_.kind}ForAllNamespaces"
        paths[f"{base}/{type_.plural}"] = [_list(all_of, gvk, name, (), type_.custom)]
    if "watch" in verbs and not type_.custom:
        _watches(paths, base, prefix, type_, gvk, where)
    for sub in type_.subresources:
        _subresource(paths, item, noun, type_, sub, where)


def _list(ident: str, gvk: GVK, name: str, where: Sequence[str], custom: bool) -> Operation:
    returns = (("200", f"{name}List"), ("401", ""))
    parameters = (*where, "pretty", *_LIST)
    return Operation("get", ident, "list", gvk, parameters, returns=returns, streams=True, custom=custom)


def _create(ident: str, gvk: GVK, name: str, where: Sequence[str], custom: bool) -> Operation:
    returns = (("200", name), ("201", name), ("202", name), ("401", ""))
    return Operation("post", ident, "post", gvk, (*where, "pretty", *_WRITE), name, True, returns, custom=custom)


def _item(
    noun: str, gvk: GVK, name: str, where: Sequence[str], verbs: Sequence[str], deleted: str, custom: bool
) -> list[Operation]:
    here = ("name", *where, "pretty")
    once = (("200", name), ("401", ""))
    twice = (("200", name), ("201", name), ("401", ""))
    found = [Operation("get", f"read{noun}", "get", gvk, here, returns=once)]
    if "update" in verbs:
        found.append(Operation("put", f"replace{noun}", "put", gvk, (*here, *_WRITE), name, True, twice))
    if "delete" in verbs:
        gone = (("200", deleted), ("202", deleted), ("401", ""))
        body = META + "DeleteOptions"
        found.append(Operation("delete", f"delete{noun}", "delete", gvk, (*here, *_DELETE), body, False, gone))
    if "patch" in verbs:
        parameters = (*here, *_WRITE, "force")
        found.append(Operation("patch", f"patch{noun}", "patch", gvk, parameters, META + "Patch", True, twice))
    return [operation._replace(custom=custom) for operation in found]


def _watches(paths: Paths, base: str, prefix: str, type_: ResourceType, gvk: GVK, where: Sequence[str]) -> None:
    """The old paths of watches."""
    returns = (("200", META + "WatchEvent"), ("401", ""))
    scope = "Namespaced" if type_.namespaced else ""
    space = f"{base}/watch/namespaces/{{namespace}}/" if type_.namespaced else f"{base}/watch/"
    parameters = (*where, "pretty", *_LIST)

    def watch(ident: str, action: str, parameters: tuple[str, ...]) -> list[Operation]:
        return [Operation("get", ident, action, gvk, parameters, returns=returns, streams=True)]

    noun = f"{prefix}{scope}{type_.kind}"
    paths[f"{space}{type_.plural}"] = watch(f"watch{noun}List", "watchlist", parameters)
    if "get" in type_.verbs:
        paths[f"{space}{type_.plural}/{{name}}"] = watch(f"watch{noun}", "watch", ("name", *parameters))
    if type_.namespaced:
        ident = f"watch{prefix}{type_.kind}ListForAllNamespaces"
        paths[f"{base}/watch/{type_.plural}"] = watch(ident, "watchlist", ("pretty", *_LIST))


def _subresource(
    paths: Paths, item: str, noun: str, type_: ResourceType, sub: Subresource, where: Sequence[str]
) -> None:
    gvk = (sub.group or type_.group, sub.version or type_.version, sub.kind)
    path = f"{item}/{sub.name}"
    title = "".join(part[:1].upper() + part[1:] for part in (sub.name,))
    ident = noun + title
    here = ("name", *where)
    if sub.name in ("exec", "attach", "portforward", "proxy"):
        methods = PROXY_METHODS if sub.name == "proxy" else ("get", "post")
        parameters = (*here, *_OPTIONS[sub.name])
        paths[path] = _connects(noun, title, gvk, parameters, methods, type_)
        if sub.name == "proxy":
            inner = (*here, "path", "path-of-proxy")
            paths[f"{path}/{{path}}"] = _connects(noun, f"{title}WithPath", gvk, inner, methods, type_)
        return
    if sub.name == "log":
        returns = (("200", ""), ("401", ""))
        parameters = (*here, "pretty", *_OPTIONS["log"])
        paths[path] = [Operation("get", f"read{ident}", "get", gvk, parameters, returns=returns)]
        return
    name = schema_name(type_) if sub.kind == type_.kind or not is_builtin_group(gvk[0]) else definition_name(*gvk)
    found = _item(ident, gvk, name, where, sub.verbs, name, type_.custom)
    if "get" not in sub.verbs:
        found = found[1:]
    if "create" in sub.verbs:
        created = _create(f"create{ident}", gvk, name, ("name", *where), type_.custom)
        found.append(created)
    paths[path] = found


def _connects(
    noun: str, title: str, gvk: GVK, parameters: tuple[str, ...], methods: Sequence[str], type_: ResourceType
) -> list[Operation]:
    returns = (("200", ""), ("401", ""))
    prefix = words(type_.group) + type_.version[:1].upper() + type_.version[1:]
    rest = noun.removeprefix(prefix)
    return [
        Operation(method, f"connect{prefix}{method.title()}{rest}{title}", "connect", gvk, parameters, returns=returns)
        for method in methods
    ]


def description(code: str) -> str:
    """What a response of this status is; API servers that merge documents refuse one without it."""
    return HTTPStatus(int(code)).phrase
