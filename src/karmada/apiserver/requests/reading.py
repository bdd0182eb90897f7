"""Stored items as clients asked for them: the served version, and the form the client accepts.

The common case, the stored version as plain JSON, hands out the stored bytes untouched.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import msgspec
import orjson

from karmada.apiserver.requests import offload
from karmada.apiserver.requests.model import Answer, Call
from karmada.apiserver.requests.negotiation import Form
from karmada.apiserver.requests.offload import LARGE
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Served
from karmada.apiserver.watchcache import Item
from karmada.machinery.httpserver.failure import Failure

LARGEST = 1 << 20
"""Bytes of JSON that are written as YAML, which takes seconds, or indented."""
_INDENTATION = 2_000_000
"""Levels above all values together, each of which is two blanks."""
_READS = ("get", "list")


async def decoded(served: Served, body: bytes) -> JSONObject:
    """A stored object as a tree in the served version, conforming to its schema."""
    size = len(body)
    obj: JSONObject = orjson.loads(body) if size < LARGE else await offload.run(size, orjson.loads, body)
    if may_differ(served):
        obj = (await served.converter.convert([obj], served.type.version))[0]
        await offload.run(size, _conform, served, [obj])
    return obj


def may_differ(served: Served) -> bool:
    """Whether objects may be stored in another version, or by another schema: the storage version of a custom kind
    can change, and its objects stay as they are until they are written again.
    """
    return not served.is_storage_version or served.since > 0


def _conform(served: Served, trees: Sequence[JSONObject]) -> None:
    """The schema of a custom kind may be younger than the objects, or another version's."""
    if served.type.custom:
        from karmada.apiserver.crds import objects as custom

        for obj in trees:
            custom.decode(served.type, obj)


def is_plain(served: Served, revision: int) -> bool:
    """Whether an object of this revision is stored just as it is served."""
    return served.is_storage_version and revision >= served.since


async def one(call: Call, body: bytes, code: int = 200, revision: int | None = None) -> Answer:
    """Answer with one stored object; without a revision it has just been written."""
    served, view = call.served, call.view
    plain = served.is_storage_version if revision is None else is_plain(served, revision)
    if plain and view.form is Form.OBJECT:
        return await written(call, code, body)
    if plain and view.form is Form.METADATA:
        return await written(call, code, _partial(call, body))
    if revision is None:
        offload.answering()  # What is done is not refused.
    return await tree(call, await decoded(served, body), code, len(body))


async def tree(call: Call, obj: JSONObject, code: int = 200, size: int = 0) -> Answer:
    """Answer with one object that is at hand as a tree in the served version; `size` is about that of its encoding."""
    served, view = call.served, call.view
    if obj.get("kind") == "Status" or view.form is Form.OBJECT:
        return await written(call, code, await offload.run(size, orjson.dumps, obj))
    if view.form is Form.METADATA_LIST:
        message = f"you requested {view.form}, but the requested object is not a list ({go_type(served)})"
        raise Failure(406, "NotAcceptable", message)
    if view.form is Form.METADATA:
        return await written(call, code, orjson.dumps(partial(call, obj)))
    version = str((obj.get("metadata") or {}).get("resourceVersion", ""))
    return await written(call, code, await offload.run(size, table, call, [obj], version))


def partial(call: Call, obj: JSONObject) -> JSONObject:
    """The PartialObjectMetadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{call.view.version}",
        "metadata": obj["metadata"],
    }


class _Stored(msgspec.Struct):
    metadata: msgspec.Raw


_METADATA = msgspec.json.Decoder(_Stored)


def raw_metadata(body: bytes) -> msgspec.Raw:
    """The encoded metadata of a stored object, of which nothing else is read."""
    return _METADATA.decode(body).metadata


def _partial(call: Call, body: bytes) -> bytes:
    """The PartialObjectMetadata of a stored object."""
    head = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/%b","metadata":' % call.view.version.encode()
    return b"%b%b}" % (head, raw_metadata(body))


def table(call: Call, objects: Sequence[JSONObject], version: str, more: JSONObject | None = None) -> bytes:
    """A Table of some objects; `more` are further fields of the list metadata."""
    include = call.params.get("includeObject", "")
    if include not in ("", "Metadata", "Object", "None"):
        text = f"includeObject: Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
        raise Failure(400, "BadRequest", f"Unable to convert to Table as requested: {text}")
    from karmada.apiserver import printing

    group_version = f"meta.k8s.io/{call.view.version}"
    body = printing.table(call.served.type, objects, include or "Metadata", group_version, now=call.now())
    body["metadata"] = {"resourceVersion": version, **(more or {})}
    return orjson.dumps(body)


async def objects(served: Served, items: Sequence[Item]) -> list[JSONObject]:
    """Items as trees in the served version, converted together."""
    size = sum(len(item.body) for item in items)
    trees: list[JSONObject] = await offload.run(size, lambda: [orjson.loads(item.body) for item in items])
    if may_differ(served) and trees:
        trees = await served.converter.convert(trees, served.type.version)
        await offload.run(size, _conform, served, trees)
    return trees


async def written(call: Call, code: int, body: bytes) -> Answer:
    """The final encoding: YAML or indented where asked.

    What would take too long is not indented, and refused as YAML. A write has happened by now and cannot be refused: it
    is answered with JSON instead.
    """
    view = call.view
    try:
        if view.yaml:
            if len(body) > LARGEST:
                raise _too_large_for_yaml(body)
            text = await offload.run(offload.EXPENSIVE * len(body), _yaml, body)
            return Answer(code, text, "application/yaml")
        if view.pretty and len(body) <= LARGEST:
            return Answer(code, await offload.run(len(body), _pretty, body))
    except Failure:
        if call.verb in _READS:
            raise
    return Answer(code, body)


def _yaml(body: bytes) -> bytes:
    from karmada.api import yaml

    tree = orjson.loads(body)
    if not _can_be_indented(tree):
        raise _too_large_for_yaml(body)
    return yaml.dump(tree).encode()


def _pretty(body: bytes) -> bytes:
    tree = orjson.loads(body)
    return orjson.dumps(tree, option=orjson.OPT_INDENT_2) + b"\n" if _can_be_indented(tree) else body


def _can_be_indented(tree: Any) -> bool:
    """Whether indentation makes a text of bearable size: below many levels a byte becomes hundreds."""
    nodes, depth, left = [tree], 0, _INDENTATION
    while nodes and left >= 0:
        parts = (node.values() if isinstance(node, dict) else node for node in nodes if isinstance(node, dict | list))
        nodes = list(chain.from_iterable(parts))
        depth += 1
        left -= depth * len(nodes)
    return left >= 0


def _too_large_for_yaml(body: bytes) -> Failure:
    text = f"the answer ({len(body)} bytes of JSON) is too large, or nested too deeply, to be written as YAML"
    return Failure(406, "NotAcceptable", f"{text}: ask for application/json, or for a list in pages (limit)")


def go_type(served: Served, suffix: str = "") -> str:
    """The reference's internal name of a type, which some refusals quote."""
    type_ = served.type
    if type_.custom:
        return f"*unstructured.Unstructured{suffix}"
    package = type_.group.split(".")[0] if type_.group else "core"
    return f"*{package}.{type_.kind}{suffix}"
