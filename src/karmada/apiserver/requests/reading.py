"""Stored items as clients asked for them: the served version, and the form the client accepts.

The common case, the stored version as plain JSON, hands out the stored bytes untouched.
"""

from collections.abc import Sequence

import orjson

from karmada.apiserver.requests import offload
from karmada.apiserver.requests.model import Answer, Call
from karmada.apiserver.requests.negotiation import Form
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Served
from karmada.apiserver.watchcache import Item
from karmada.machinery.httpserver.failure import Failure


async def decoded(served: Served, body: bytes) -> JSONObject:
    """A stored object as a tree in the served version, conforming to its schema."""
    obj: JSONObject = orjson.loads(body)
    if may_differ(served):
        obj = (await served.converter.convert([obj], served.type.version))[0]
        _conform(served, obj)
    return obj


def may_differ(served: Served) -> bool:
    """Whether objects may be stored in another version, or by another schema: the storage version of a custom kind
    can change, and its objects stay as they are until they are written again.
    """
    return not served.is_storage_version or served.since > 0


def _conform(served: Served, obj: JSONObject) -> None:
    """The schema of a custom kind may be younger than the object, or another version's."""
    if served.type.custom:
        from karmada.apiserver.crds import objects as custom

        custom.decode(served.type, obj)


def is_plain(served: Served, revision: int) -> bool:
    """Whether an object of this revision is stored just as it is served."""
    return served.is_storage_version and revision >= served.since


async def one(call: Call, body: bytes, code: int = 200, revision: int | None = None) -> Answer:
    """Answer with one stored object; without a revision it has just been written."""
    served, view = call.served, call.view
    if view.form is Form.OBJECT:
        if not (served.is_storage_version if revision is None else is_plain(served, revision)):
            body = orjson.dumps(await decoded(served, body))
        return await written(call, code, body)
    return await tree(call, await decoded(served, body), code)


async def tree(call: Call, obj: JSONObject, code: int = 200) -> Answer:
    """Answer with one object that is at hand as a tree in the served version."""
    served, view = call.served, call.view
    if obj.get("kind") == "Status" or view.form is Form.OBJECT:
        return await written(call, code, orjson.dumps(obj))
    if view.form is Form.METADATA_LIST:
        message = f"you requested {view.form}, but the requested object is not a list ({go_type(served)})"
        raise Failure(406, "NotAcceptable", message)
    if view.form is Form.METADATA:
        return await written(call, code, orjson.dumps(partial(call, obj)))
    version = str((obj.get("metadata") or {}).get("resourceVersion", ""))
    return await written(call, code, table(call, [obj], version))


def partial(call: Call, obj: JSONObject) -> JSONObject:
    """The PartialObjectMetadata of an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{call.view.version}",
        "metadata": obj["metadata"],
    }


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
        for obj in trees:
            _conform(served, obj)
    return trees


async def written(call: Call, code: int, body: bytes) -> Answer:
    """The final encoding: YAML or indented where asked."""
    if call.view.yaml:
        return Answer(code, await offload.run(len(body), _yaml, body), "application/yaml")
    if call.view.pretty:
        return Answer(code, await offload.run(len(body), _pretty, body))
    return Answer(code, body)


def _yaml(body: bytes) -> bytes:
    from karmada.api import yaml

    return yaml.dump(orjson.loads(body)).encode()


def _pretty(body: bytes) -> bytes:
    return orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2) + b"\n"


def go_type(served: Served, suffix: str = "") -> str:
    """The reference's internal name of a type, which some refusals quote."""
    type_ = served.type
    if type_.custom:
        return f"*unstructured.Unstructured{suffix}"
    package = type_.group.split(".")[0] if type_.group else "core"
    return f"*{package}.{type_.kind}{suffix}"
