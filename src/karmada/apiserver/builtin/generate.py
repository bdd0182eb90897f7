"""Makes `definitions.bin`: `python -m karmada.apiserver.builtin.generate [--openapi FILE]`.

Sources: the v1.36 definitions in the PyPI package `kubernetes-validate` (a development dependency), from which
descriptions and the package's own null types are removed; `wire.txt` beside this module, which says for each
field how the API's encoders treat absent and zero values; and, with --openapi, the /openapi/v2 document of a
running Kubernetes API server, the only place where the values of enumerations are listed. Without that option
the enumerations of the existing table are kept.
"""

import argparse
import json
import zlib
from importlib.resources import files
from typing import Any

from karmada.apiserver.builtin import catalog
from karmada.apiserver.schema import definitions

JSONObject = dict[str, Any]
RELEASE = "v1.36.0-local"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_ALWAYS = (
    [_META + n for n in ("APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions", "Patch")]
    + [_META + n for n in ("Status", "WatchEvent", "MicroTime", "Time")]
    + ["io.k8s.apimachinery.pkg.version.Info", "io.k8s.api.policy.v1.Eviction", "io.k8s.api.autoscaling.v1.Scale"]
    + ["io.k8s.api.authentication.v1.TokenRequest", "io.k8s.apimachinery.pkg.runtime.RawExtension"]
)


def _clean(node: Any) -> Any:
    """A node as the API server publishes it: no descriptions, no null types, plain references."""
    if isinstance(node, list):
        return [_clean(item) for item in node]
    if not isinstance(node, dict):
        return node
    result: JSONObject = {}
    for key, value in node.items():
        if key == "properties":
            result[key] = {name: _clean(child) for name, child in value.items()}
        elif key == "type" and isinstance(value, list):
            result[key] = next(kind for kind in value if kind != "null")
        elif key == "$ref":
            result[key] = value.replace("#/$defs/", definitions.PREFIX)
        elif key not in ("description", "enum", "oneOf"):
            result[key] = _clean(value)
    if "oneOf" in node:
        result["type"] = "string"
        if any("integer" in choice["type"] for choice in node["oneOf"]):
            result["format"] = "int-or-string"
    return result


def _references(node: Any) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(_references, node)) if node else set()
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"].removeprefix(definitions.PREFIX)} if isinstance(node.get("$ref"), str) else set()
    return own.union(*map(_references, node.values()))


def _served(source: dict[str, JSONObject]) -> list[str]:
    """Names of the definitions that the served kinds, their lists and the API's own objects need."""
    kinds = {(t.group, t.version, kind) for t in catalog.builtin_types() for kind in (t.kind, t.kind + "List")}
    roots = list(_ALWAYS)
    for name, node in source.items():
        of = node.get("x-kubernetes-group-version-kind", ())
        if any((kind["group"], kind["version"], kind["kind"]) in kinds for kind in of):
            roots.append(name)
    seen: set[str] = set()
    while roots:
        name = roots.pop()
        if name not in seen:
            seen.add(name)
            roots.extend(_references(source[name]))
    return sorted(seen)


def _take_enums(target: Any, source: Any) -> None:
    """Copy `enum` keywords from one tree of the same shape to another."""
    if isinstance(target, dict) and isinstance(source, dict):
        if "enum" in source and "type" in target and isinstance(source["enum"], list):
            target["enum"] = source["enum"]
        for key, child in target.items():
            _take_enums(child, source.get(key))


def _wire(text: str) -> dict[str, dict[str, str]]:
    """Codes by definition and field from lines such as `io.k8s.api.core.v1.Secret v:metadata z:data,type`."""
    table = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, *parts = line.split()
            codes = (part.split(":", 1) for part in parts)
            table[name] = {field: code for code, fields in codes for field in fields.split(",")}
    # An empty list asks to forget all ownership, so it must survive decoding.
    del table[_META + "ObjectMeta"]["managedFields"]
    return table


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description="Make the table of built-in definitions.")
    parser.add_argument("--openapi", help="an /openapi/v2 document to take the values of enumerations from")
    arguments = parser.parse_args()
    package = files("kubernetes_validate").joinpath("kubernetes-json-schema", RELEASE, "_definitions.json")
    source = {name: _clean(node) for name, node in json.loads(package.read_bytes())["$defs"].items()}
    if arguments.openapi:
        with open(arguments.openapi, encoding="utf-8") as file:
            published = json.load(file)["definitions"]
    else:
        published = {name: json.loads(definitions.encoded(name)) for name in definitions.names()}
    wire = _wire(files(__package__).joinpath("wire.txt").read_text("utf-8"))
    lines = []
    for name in _served(source):
        node = source[name]
        _take_enums(node, published.get(name))
        facts = json.dumps(wire.get(name, {}), separators=(",", ":"), sort_keys=True)
        lines.append(f"{name}\t{json.dumps(node, separators=(',', ':'))}\t{facts}\n")
    with open(str(files("karmada.apiserver.schema").joinpath("definitions.bin")), "wb") as file:
        file.write(zlib.compress("".join(lines).encode(), 9))


if __name__ == "__main__":
    main()
