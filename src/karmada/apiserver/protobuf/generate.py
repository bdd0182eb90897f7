"""Makes `fields.txt`, the table of protobuf fields: python -m karmada.apiserver.protobuf.generate PROTOS OPENAPI

PROTOS is a folder with the `generated.proto` files of k8s.io/api, apimachinery, apiextensions-apiserver and
kube-aggregator (any file names), OPENAPI the OpenAPI v2 document of a server. Only messages that a served kind can
contain are kept, and only fields that the OpenAPI document knows. A message that JSON inlines is marked.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_FIELD = re.compile(
    r"^\s*(?:(optional|repeated)\s+)?(map<\s*string\s*,\s*[\w.]+\s*>|[\w.]+)\s+(\w+)\s*=\s*(\d+)\s*;", re.M
)
_MESSAGE = re.compile(r"^message\s+(\w+)\s*\{(.*?)^\}", re.M | re.S)
_SCALARS = {"string": "s", "bool": "b", "int32": "i", "int64": "i", "uint32": "i", "double": "d", "bytes": "y"}
_PLAIN = ("JSONSchemaProps",)
"""Messages whose JSON names follow a rule of their own, see `decoding`."""


class _Field(NamedTuple):
    number: int
    name: str
    shape: str
    type: str


Messages = dict[str, list[_Field]]


def main(protos: str, openapi: str) -> None:
    """Write the table beside this module."""
    messages: Messages = {}
    for path in sorted(Path(protos).iterdir()):
        messages.update(_parse(path.read_text("utf-8")))
    definitions = json.loads(Path(openapi).read_text("utf-8"))["definitions"]
    served = [name for name, body in definitions.items() if body.get("x-kubernetes-group-version-kind")]
    kept: dict[str, str] = {}
    waiting = sorted(name.removeprefix("io.k8s.") for name in served if not name.endswith("List"))
    while waiting:
        name = waiting.pop()
        if name in kept or name not in messages:
            continue
        fields = list(_kept(name, messages, definitions))
        kept[name] = " ".join(f"{field.number}:{field.name}:{field.shape}{field.type}" for field in fields)
        waiting += [field.type for field in fields if "." in field.type]
    lines = [f"{name} {fields}".rstrip() for name, fields in sorted(kept.items())]
    head = "# Fields of protobuf messages: number:name:[* repeated, % map, ^ inlined]type. Made by generate.py.\n"
    Path(__file__).with_name("fields.txt").write_text(head + "\n".join(lines) + "\n", "utf-8")


def _parse(text: str) -> Iterator[tuple[str, list[_Field]]]:
    text = re.sub(r"//[^\n]*", "", text)
    package = re.search(r"^package\s+([\w.]+);", text, re.M)
    assert package is not None
    for name, body in _MESSAGE.findall(text):
        fields = []
        for label, type_, field, number in _FIELD.findall(body):
            shape = "*" if label == "repeated" else ""
            if type_.startswith("map<"):
                shape, type_ = "%", type_[4:-1].split(",")[1].strip()
            fields.append(_Field(int(number), field, shape, _type(type_, package[1])))
        yield f"{_short(package[1])}.{name}", fields


def _type(name: str, package: str) -> str:
    if name in _SCALARS:
        return _SCALARS[name]
    return _short(name.lstrip(".")) if "." in name else f"{_short(package)}.{name}"


def _short(package: str) -> str:
    return package.removeprefix("k8s.io.").replace("_", "-")


def _kept(name: str, messages: Messages, definitions: dict[str, Any]) -> Iterator[_Field]:
    properties = definitions.get(f"io.k8s.{name}", {}).get("properties")
    for field in messages[name]:
        if properties is None or field.name in properties or name.endswith(_PLAIN):
            yield field
            continue
        same = [known for known in properties if known.lower() == field.name.lower()]
        if same:
            yield field._replace(name=same[0])
        elif "." in field.type and not field.shape:
            inner = {part.name for part in messages.get(field.type, ())}
            if inner & set(properties):
                yield field._replace(shape="^")


if __name__ == "__main__":
    main(*sys.argv[1:])
