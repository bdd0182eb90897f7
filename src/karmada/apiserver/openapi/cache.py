"""Encoded OpenAPI documents, made when first asked for and kept, compressed, until the served types change.

The built-in definitions of the v2 document are joined from the generated table without being decoded.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from karmada.apiserver.discovery.documents import by_version
from karmada.apiserver.openapi import custom, descriptions, protobuf, v2, v3
from karmada.apiserver.openapi.operations import META, Operation, Paths, root, schema_name, tag, version_paths, words
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema import definitions
from karmada.apiserver.schema.openapi import to_openapi

JSONObject = dict[str, Any]
VERSION = "1.36"
_AS_PROTOBUF = "#protobuf"
_INFO = "io.k8s.apimachinery.pkg.version.Info"


def _from_tree(type_: ResourceType) -> JSONObject:
    return to_openapi(type_.schema)


class OpenAPI:
    """Answers /openapi requests for the types that `types` returns; `changes` grows with every change of them.

    `source` finds the schema of a type that is not built in as its author wrote it, with descriptions.
    """

    def __init__(
        self,
        types: Callable[[], Sequence[ResourceType]],
        changes: Callable[[], int],
        source: Callable[[ResourceType], JSONObject] = _from_tree,
        described: descriptions.Descriptions | None = None,
    ) -> None:
        self._types = types
        self._changes = changes
        self._source = source
        self._descriptions = described or descriptions.installed(VERSION)
        self._seen = -1
        self._documents: dict[str, bytes] = {}

    def get(self, path: str, as_protobuf: bool = False) -> bytes | None:
        """The document at /openapi/v2, /openapi/v3 or below; None where there is none.

        Only the v2 document has a protobuf form.
        """
        changes = self._changes()
        if changes != self._seen:
            self._documents.clear()
            self._seen = changes
        path = path.rstrip("/") + (_AS_PROTOBUF if as_protobuf else "")
        packed = self._documents.get(path)
        if packed is None:
            document = self._make(path)
            if document is None:
                return None
            packed = self._documents[path] = zlib.compress(document, 1)
        return zlib.decompress(packed)

    def _make(self, path: str) -> bytes | None:
        if path == "/openapi/v2":
            return self._swagger()
        if path == "/openapi/v2" + _AS_PROTOBUF:
            return self._swagger_protobuf()
        if path == "/openapi/v3":
            return orjson.dumps({"paths": self._index()})
        if path.startswith("/openapi/v3/"):
            return self._version(path.removeprefix("/openapi/v3/"))
        return None

    def _definitions(self) -> Iterator[tuple[str, bytes]]:
        """All definitions of the v2 document, encoded; the built-in ones as they are in the table."""
        for name in definitions.names():
            yield name, definitions.encoded(name)
        for type_ in self._types():
            if not type_.schema.name:
                name = schema_name(type_)
                own = custom.object_schema(type_, self._source(type_), v2.REF, v2=True)
                yield name, orjson.dumps(own)
                yield f"{name}List", orjson.dumps(custom.list_schema(type_, v2.REF))

    def _swagger(self) -> bytes:
        head = orjson.dumps(v2.head(VERSION))[:-1]
        paths = b",".join(orjson.dumps(chunk)[1:-1] for chunk in v2.path_chunks(self._types()))
        schemas = b",".join(b"%b:%b" % (orjson.dumps(name), body) for name, body in self._definitions())
        return b'%b,"paths":{%b},"definitions":{%b}}' % (head, paths, schemas)

    def _swagger_protobuf(self) -> bytes:
        schemas = ((name, orjson.loads(body)) for name, body in self._definitions())
        return protobuf.encode(v2.head(VERSION), v2.path_chunks(self._types()), schemas)

    def _index(self) -> JSONObject:
        names = ["api", "apis", "version"]
        for group, versions in by_version(self._types()).items():
            names += [f"apis/{group}"] if group else []
            names += [root(group, version)[1:] for version in versions]
        return {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self._hash(name)}"} for name in sorted(names)}

    def _hash(self, name: str) -> str:
        """Changes whenever the document may change; clients cache documents by it."""
        parts = name.split("/")
        group = parts[1] if parts[0] == "apis" and len(parts) > 1 else ""
        kinds = [orjson.dumps(self._source(t)) for t in self._types() if t.group == group and not t.schema.name]
        return (
            hashlib.sha256(b"".join([VERSION.encode(), self._descriptions.version.encode(), name.encode(), *kinds]))
            .hexdigest()
            .upper()
        )

    def _version(self, name: str) -> bytes | None:
        plain = self._plain(name)
        if plain is not None:
            paths, tags = plain
            return orjson.dumps(v3.document(VERSION, paths, tags, "", lambda _: None, self._descriptions))
        match name.split("/"):
            case ["api", version]:
                group = ""
            case ["apis", group, version]:
                pass
            case _:
                return None
        found = by_version(self._types()).get(group, {}).get(version)
        if not found:
            return None
        own: JSONObject = {}
        for type_ in found:
            if not type_.schema.name:
                own[schema_name(type_)] = custom.object_schema(type_, self._source(type_), v3.REF)
                own[f"{schema_name(type_)}List"] = custom.list_schema(type_, v3.REF)
        paths = version_paths(group, version, found)
        return orjson.dumps(v3.document(VERSION, paths, [tag(group, version)], group, own.get, self._descriptions))

    def _plain(self, name: str) -> tuple[Paths, list[str]] | None:
        """Documents about discovery itself."""

        def one(path: str, ident: str, schema: str, tags: list[str]) -> tuple[Paths, list[str]]:
            returns = (("200", schema), ("401", ""))
            operation = Operation("get", ident, "", None, returns=returns, json_only=schema == _INFO)
            return {path: [operation]}, tags

        match name.split("/"):
            case ["version"]:
                return one("/version/", "getCodeVersion", _INFO, ["version"])
            case ["api"]:
                return one("/api/", "getCoreAPIVersions", f"{META}APIVersions", ["core"])
            case ["apis"]:
                return one("/apis/", "getAPIVersions", f"{META}APIGroupList", ["apis"])
            case ["apis", group] if group in by_version(self._types()):
                return one(f"/apis/{group}/", f"get{words(group)}APIGroup", f"{META}APIGroup", [tag(group)])
        return None
