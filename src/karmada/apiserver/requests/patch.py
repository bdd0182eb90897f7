"""PATCH: JSON patch, merge patch, strategic merge patch and server-side apply, as changes of the current object."""

from typing import Any, NamedTuple

import orjson

from karmada.api import json_patch, merge_patch
from karmada.api.go_text import format_value
from karmada.apiserver import json_text
from karmada.apiserver.failures import not_found
from karmada.apiserver.json_errors import syntax_error
from karmada.apiserver.redaction import REDACTED, holds_secret
from karmada.apiserver.requests import bodies, decoding, metadata, offload, patch_errors
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import write_options
from karmada.apiserver.requests.update import Change, Part, modify
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.schema.scalars import described
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.machinery.transport import PatchType

_TYPES = {kind.value: kind for kind in PatchType}
_TRIES = 6
_MAX_OPERATIONS = 10_000


class Document(NamedTuple):
    """A patch as it was read, and what is wrong with it."""

    tree: Any
    known: bool
    """Whether it leaves nothing to prune or to put right in a custom object."""
    duplicates: list[str]
    warnings: list[str]


async def patch(context: Context, call: Call) -> Answer:
    """Patch the object."""
    kind = patch_type(call)
    if kind is PatchType.APPLY:
        from karmada.apiserver.requests.apply import apply

        return await apply(context, call)
    options = write_options(dict(call.params), "PatchOptions")
    try:
        document, known, duplicates, warnings = await read(call, kind)
    except Failure:
        if context.store.get(call.served.key, call.namespace, call.name) is None:
            raise not_found(call.served.type.group, call.served.type.plural, call.name) from None
        raise
    part = Part.STATUS if call.subresource == "status" else Part.MAIN
    # Everything but the status is taken from the current object anyway. On the main resource admission may change
    # any part in place, and must not change the current object with it.
    sharing = kind is PatchType.MERGE and part is Part.STATUS

    def build(current: JSONObject) -> JSONObject:
        new = patched(call, kind, document, current)
        if call.served.type.custom and isinstance(new, dict) and (failure := patch_errors.wrong_type(call, new)):
            raise failure
        try:
            new = bodies.check_kind(context.catalog, call, new, call.served)
            decoding.conform(call, new, options.field_validation, duplicates, known, warnings)
        except Failure as failure:
            raise patch_errors.undecodable(failure, _shown(call, kind, current)) from None
        meta = metadata.ensure(new)
        if sharing:
            meta = new["metadata"] = dict(meta)
        metadata.check_name(call, meta)
        metadata.check_namespace(call, meta)
        return new

    return await modify(context, Change(call, options, build, part, tries=_TRIES, sharing=sharing))


def _shown(call: Call, kind: PatchType, current: JSONObject) -> str:
    """What messages quote: the object, patched again as decoding has changed it in place, or a strategic patch."""
    document = _tree(call, kind)
    if kind is PatchType.STRATEGIC:
        return REDACTED if holds_secret(current, document) else format_value(document)
    new = patched(call, kind, document, current)
    given = document if kind is PatchType.JSON else None
    # An object is what it is served as; a JSON patch to its kind alone brings no Secret.
    own = {**new, "kind": call.served.kind} if isinstance(new, dict) else new
    if holds_secret(current, own, None if given else document):
        return REDACTED
    schema = None if call.served.type.custom else call.served.type.schema
    return patch_errors.quoted(schema, new, current, given)


def patch_type(call: Call, scale: bool = False) -> PatchType:
    """The type of a patch by its content type; custom kinds know no strategic merge, but Scales do."""
    media = call.content_type.split(";", 1)[0].strip()
    kind = _TYPES.get(media)
    if kind is None:
        raise Failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    if kind is PatchType.STRATEGIC and call.served.type.custom and not scale:
        accepted = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
        message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
        raise Failure(415, "UnsupportedMediaType", message)
    return kind


async def read(call: Call, kind: PatchType) -> Document:
    """The patch in the body; the loop goes on meanwhile if it is large."""
    return await offload.run(offload.size_of(call), _read, call, kind)


def _read(call: Call, kind: PatchType) -> Document:
    tree = _tree(call, kind)
    if kind is PatchType.JSON:
        return Document(tree, False, [], bodies.operation_warnings(call, tree))
    known = kind is PatchType.MERGE and decoding.is_known(call.served, tree)
    return Document(tree, known, bodies.duplicates(call, tree), [])


def _tree(call: Call, kind: PatchType) -> Any:
    """The patch as a tree of the right shape."""
    body = call.body
    if isinstance(body, bytes):
        try:
            body, call.body = json_text.loads(body)
        except orjson.JSONDecodeError:
            assert isinstance(call.body, bytes)
            raise bad_request(f"error decoding patch: {syntax_error(call.body)}") from None
    if body is None and kind is PatchType.STRATEGIC:
        return {}
    if kind is not PatchType.JSON:
        if not isinstance(body, dict):
            text = f"json: cannot unmarshal {described(body)} into Go value of type map[string]interface {{}}"
            raise bad_request(f"error decoding patch: {text}")
        return body
    if body is None:
        return []
    if not isinstance(body, list):
        text = f"json: cannot unmarshal {described(body)} into Go value of type []handlers.jsonPatchOp"
        raise bad_request(f"error decoding patch: {text}")
    body = [{} if operation is None else operation for operation in body]
    for operation in body:
        if not isinstance(operation, dict):
            text = f"json: cannot unmarshal {described(operation)} into Go value of type handlers.jsonPatchOp"
            raise bad_request(f"error decoding patch: {text}")
    if len(body) > _MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {_MAX_OPERATIONS}, got {len(body)}"
        raise Failure(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    return body


def patched(call: Call, kind: PatchType, document: Any, current: JSONObject) -> Any:
    """The current object with the patch applied."""
    if kind is PatchType.JSON:
        try:
            return json_patch.apply(current, document, replace_may_create=True)
        except json_patch.JSONPatchError:
            message = "the server rejected our request due to an error in our request"
            raise Failure(422, "Invalid", message, {}) from None
    if kind is PatchType.MERGE:
        return merge_patch.apply(current, document)
    from karmada.api import strategic_merge

    try:
        new = strategic_merge.apply(current, document, call.served.type.schema)
    except strategic_merge.StrategicMergeError as error:
        text = f"cannot merge the patch: {REDACTED}" if holds_secret(current, document) else str(error)
        raise bad_request(text) if error.is_malformed else Failure(500, "", text) from None
    # The result is read into the type of the current object, whatever it calls itself.
    new.update({key: current[key] for key in ("apiVersion", "kind") if isinstance(new.get(key), str)})
    return new
