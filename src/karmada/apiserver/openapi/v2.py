"""OpenAPI v2 (Swagger): one document for everything. Old kubectl and many generators read it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from karmada.apiserver.discovery.documents import by_version
from karmada.apiserver.openapi.operations import META, Operation, Paths, description, root, tag, version_paths, words
from karmada.apiserver.resources import ResourceType

JSONObject = dict[str, Any]
REF = "#/definitions/"
_JSON = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
_STREAM = ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"]
_PATCHES = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
]
_BOOLEAN = frozenset(
    (
        *("allowWatchBookmarks", "follow", "force", "ignoreStoreReadErrorWithClusterBreakingPotential"),
        *("insecureSkipTLSVerifyBackend", "orphanDependents", "previous", "sendInitialEvents", "stderr", "stdin"),
        *("stdout", "timestamps", "tty", "watch"),
    )
)
_INTEGER = frozenset(
    ("gracePeriodSeconds", "limit", "limitBytes", "ports", "sinceSeconds", "tailLines", "timeoutSeconds")
)
# Parameters that the document keeps in one place, under the names that clients' generators know.
_SHARED = {
    "allowWatchBookmarks": "allowWatchBookmarks-HC2hJt-J",
    "continue": "continue-QfD61s0i",
    "fieldManager": "fieldManager-Qy4HdaTW",
    "fieldSelector": "fieldSelector-xIcQKXFG",
    "force": "force-tOGGb0Yi",
    "gracePeriodSeconds": "gracePeriodSeconds--K5HaBOS",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "ignoreStoreReadErrorWithClusterBreakingPotential-QbNkfIqj",
    "labelSelector": "labelSelector-5Zw57w4C",
    "limit": "limit-1NfNmdNH",
    "namespace": "namespace-vgWSWtn3",
    "orphanDependents": "orphanDependents-uRB25kX5",
    "pretty": "pretty-tJGM1-ng",
    "propagationPolicy": "propagationPolicy-6jk3prlO",
    "resourceVersion": "resourceVersion-5WAnf1kx",
    "resourceVersionMatch": "resourceVersionMatch-t8XhRHeC",
    "sendInitialEvents": "sendInitialEvents-rLXlEK_k",
    "shardSelector": "shardSelector-Kgyki_3_",
    "timeoutSeconds": "timeoutSeconds-yvYezaOC",
    "watch": "watch-XNNPZGbK",
}
_PATCH_MANAGER = "fieldManager-7c6nTn1T"
_DELETE_BODY = "body-2Y1dVQaQ"
_PATCH_BODY = "body-78PwaGsr"


def head(version: str) -> JSONObject:
    """Everything but paths and definitions."""
    parameters = {ref: parameter(name) for name, ref in _SHARED.items()}
    parameters[_PATCH_MANAGER] = parameter("fieldManager")
    parameters[_DELETE_BODY] = {"name": "body", "in": "body", "schema": {"$ref": f"{REF}{META}DeleteOptions"}}
    patch = {"$ref": f"{REF}{META}Patch"}
    parameters[_PATCH_BODY] = {"name": "body", "in": "body", "required": True, "schema": patch}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "parameters": parameters,
        "securityDefinitions": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        "security": [{"BearerToken": []}],
    }


def parameter_type(name: str) -> str:
    """Type of a parameter's value."""
    return "boolean" if name in _BOOLEAN else "integer" if name in _INTEGER else "string"


def parameter(name: str) -> JSONObject:
    """A parameter in full."""
    if name == "path-of-proxy":
        return {"uniqueItems": True, "type": "string", "name": "path", "in": "path", "required": True}
    place = {"in": "path", "required": True} if name in ("name", "namespace") else {"in": "query"}
    return {"uniqueItems": True, "type": parameter_type(name), "name": name, **place}


def _shown(name: str, patch: bool) -> JSONObject:
    if name == "fieldManager" and patch:
        return {"$ref": f"#/parameters/{_PATCH_MANAGER}"}
    return {"$ref": f"#/parameters/{_SHARED[name]}"} if name in _SHARED else parameter(name)


def split_parameters(operations: Sequence[Operation]) -> tuple[list[str], list[list[str]]]:
    """Parameters that all operations of a path share, and what is left of each; in alphabetical order."""
    shared = set(operations[0].parameters).intersection(*(set(o.parameters) for o in operations[1:]))
    return sorted(shared), [sorted(set(o.parameters) - shared) for o in operations]


def _body(operation: Operation) -> list[JSONObject]:
    if not operation.body:
        return []
    if operation.body == META + "DeleteOptions":
        return [{"$ref": f"#/parameters/{_DELETE_BODY}"}]
    if operation.body == META + "Patch":
        return [{"$ref": f"#/parameters/{_PATCH_BODY}"}]
    return [{"name": "body", "in": "body", "required": True, "schema": {"$ref": REF + operation.body}}]


def _operation(operation: Operation, left: list[str], tags: list[str]) -> JSONObject:
    connect = operation.action == "connect"
    discovery = operation.kind is None
    patch = operation.method == "patch" and not connect
    produces = ["application/json", "application/yaml"] if operation.custom else list(_JSON)
    if operation.streams:
        produces += _STREAM
    if operation.id.endswith("PodLog"):
        produces = ["text/plain", *produces]
    consumes = list(_PATCHES) if patch else ["*/*"]
    if patch and operation.custom:
        consumes.remove("application/strategic-merge-patch+json")
    if operation.custom and operation.method in ("put", "post"):
        consumes = ["application/json", "application/yaml"]
    result: JSONObject = {
        "consumes": list(_JSON) if discovery else consumes,
        "produces": ["*/*"] if connect else produces,
        "schemes": ["https"],
        "tags": tags,
        "operationId": operation.id,
    }
    parameters = _body(operation) + [_shown(name, patch) for name in left]
    if parameters:
        result["parameters"] = parameters
    result["responses"] = {
        code: {"description": description(code)} | ({} if code == "401" else {"schema": _answer(name)})
        for code, name in operation.returns
    }
    if operation.kind is not None:
        group, version, kind = operation.kind
        result["x-kubernetes-action"] = operation.action
        result["x-kubernetes-group-version-kind"] = {"group": group, "kind": kind, "version": version}
    return result


def _answer(name: str) -> JSONObject:
    return {"$ref": REF + name} if name else {"type": "string"}


def path_items(paths: Paths, tags: list[str]) -> JSONObject:
    """The paths of one group version."""
    items: JSONObject = {}
    for path, operations in paths.items():
        shared, left = split_parameters(operations)
        item: JSONObject = {o.method: _operation(o, own, tags) for o, own in zip(operations, left, strict=True)}
        if shared:
            item["parameters"] = [_shown(name, False) for name in shared]
        items[path] = item
    return items


def _plain(ident: str, name: str, tags: list[str]) -> Paths:
    return {"": [Operation("get", ident, "", None, returns=(("200", name), ("401", "")))]}


def path_chunks(types: Iterable[ResourceType]) -> Iterator[JSONObject]:
    """The paths of the whole document, one group version at a time: together they are large."""

    def plain(path: str, ident: str, name: str, tags: list[str]) -> JSONObject:
        return {path: path_items(_plain(ident, name, tags), tags)[""]}

    yield plain("/api/", "getCoreAPIVersions", f"{META}APIVersions", ["core"])
    yield plain("/apis/", "getAPIVersions", f"{META}APIGroupList", ["apis"])
    for group, versions in by_version(types).items():
        if group:
            ident = f"get{words(group)}APIGroup"
            yield plain(f"{root(group)}/", ident, f"{META}APIGroup", [tag(group)])
        for version, found in versions.items():
            yield path_items(version_paths(group, version, found), [tag(group, version)])
    for path, ident, tags in (
        ("/.well-known/openid-configuration/", "getServiceAccountIssuerOpenIDConfiguration", ["WellKnown"]),
        ("/openid/v1/jwks/", "getServiceAccountIssuerOpenIDKeyset", ["openid"]),
    ):
        yield plain(path, ident, "", tags)
    version_info = plain("/version/", "getCodeVersion", "io.k8s.apimachinery.pkg.version.Info", ["version"])
    version_info["/version/"]["get"].update({"consumes": ["application/json"], "produces": ["application/json"]})
    yield version_info
