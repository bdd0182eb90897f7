"""Objects made to conform to their type: decoded, defaulted, validated, converted for storage.

The one place where the pipeline meets schemas and strategies. Built-in kinds are decoded strictly by type; custom
kinds are pruned, defaulted and validated by their structural schema.
"""

from typing import Any, NamedTuple

import orjson

from karmada.api import merge_patch
from karmada.apiserver.failures import invalid
from karmada.apiserver.requests import bodies
from karmada.apiserver.requests.model import Call, Context
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.apiserver.schema.decoding import decode as decode_builtin
from karmada.apiserver.schema.defaulting import filler
from karmada.apiserver.schema.embedded import malformed
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.schema.paths import MAX_UNKNOWN
from karmada.apiserver.schema.pruning import fits, pruner
from karmada.apiserver.schema.scalars import Mismatch, described
from karmada.apiserver.served_resource import Served
from karmada.machinery.httpserver.failure import Failure, bad_request

_NOTHING: JSONObject = {}
_GUARD = ("uid", "resourceVersion")
"""What patches of controllers name to be sure of what they change."""


class Stored(NamedTuple):
    """An object in its storage version."""

    served: Served
    obj: JSONObject


async def decode(context: Context, call: Call, field_validation: str) -> JSONObject:
    """The object in the request's body, of the served kind, decoded and defaulted."""

    def conforming(body: Any, duplicates: list[str]) -> JSONObject:
        obj = bodies.check_kind(context.catalog, call, body, call.served)
        conform(call, obj, field_validation, duplicates)
        return obj

    return await bodies.read(call, call.served.kind, conforming)


def conform(
    call: Call,
    obj: JSONObject,
    field_validation: str,
    duplicates: list[str] | None = None,
    known: bool = False,
    warnings: list[str] | None = None,
) -> None:
    """Decode and default a tree in place; unknown and duplicate fields are refused, warned of or ignored.

    `known` says that nothing of a custom object can be unknown or out of shape, `warnings` what else is wrong.
    """
    served = call.served
    unknown = _decode(served, obj, known)
    if unknown or duplicates or warnings:
        _report(call, obj, field_validation, unknown, duplicates or [], warnings or [])
    meta = obj.get("metadata")
    if meta and len(meta.get("ownerReferences") or ()) > 1:
        _name_owners_once(call, meta)
    served.type.strategy.default(obj)


def _name_owners_once(call: Call, meta: JSONObject) -> None:
    different: dict[bytes, JSONObject] = {}
    again: dict[str, None] = {}
    for owner in meta["ownerReferences"]:
        known = orjson.dumps(owner, option=orjson.OPT_SORT_KEYS)
        if known in different:
            again[owner.get("uid") or ""] = None
        different.setdefault(known, owner)
    if again:
        meta["ownerReferences"] = list(different.values())
        text = ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and "
        text += "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
        call.warnings.append(text + ", ".join(again))


def is_known(served: Served, patch: JSONObject) -> bool:
    """Whether a merge patch leaves nothing to prune or to put right in a custom object."""
    if not served.type.custom:
        return False
    guard = patch.get("metadata", _NOTHING)
    rest = {key: value for key, value in patch.items() if key != "metadata"}
    if fits(served.type.schema)(rest):
        if guard.__class__ is dict and all(key in _GUARD and value.__class__ is str for key, value in guard.items()):
            return True
        patch = {"metadata": guard}
    given = merge_patch.apply({}, patch)
    decoded_body = copied(given)
    try:
        if pruner(served.type.schema)(decoded_body):
            return False
    except Mismatch:
        return False
    meta, decoded = given.pop("metadata", {}), decoded_body.pop("metadata", {})
    if not isinstance(meta, dict) or any(decoded.get(key) != value for key, value in meta.items()):
        return False
    return orjson.dumps(decoded_body) == orjson.dumps(given)


def _decode(served: Served, obj: JSONObject, known: bool) -> list[str]:
    type_ = served.type
    try:
        if not type_.custom:
            return decode_builtin(type_.schema, obj)
        removed = [] if known else _prune(type_.schema, obj)
    except Mismatch as mismatch:
        head = f'{type_.kind} in version "{type_.version}" cannot be handled as a {type_.kind}'
        inside = malformed(type_.schema, obj) if type_.custom else None
        raise bad_request(f"{head}: {inside or mismatch}") from None
    fill = filler(type_.schema)
    if fill is not None:
        fill(obj)
    return removed


def _prune(schema: Schema, obj: JSONObject) -> list[str]:
    meta = obj.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        raise Mismatch(described(meta), "v1.ObjectMeta")
    return pruner(schema)(obj) or []


def _report(
    call: Call, obj: JSONObject, mode: str, unknown: list[str], duplicates: list[str], warnings: list[str]
) -> None:
    if duplicates and unknown and not call.served.type.custom and isinstance(call.body, bytes):
        texts = bodies.in_order(call.body, unknown, duplicates)
    else:  # custom objects are decoded first, and pruned then
        texts = [f'duplicate field "{path}"' for path in duplicates]
        texts += [f'unknown field "{path}"' for path in unknown]
    texts = [*warnings, *texts][:MAX_UNKNOWN]
    if mode in ("", "Warn"):
        call.warnings.extend(texts)
    elif mode == "Strict":
        type_ = call.served.type
        if call.verb == "patch":
            raise strict_patch(call, texts)
        head = f'{type_.kind} in version "{type_.version}" cannot be handled as a {type_.kind}'
        raise bad_request(f"{head}: strict decoding error: {', '.join(texts)}")


def strict_patch(call: Call, texts: list[str]) -> Failure:
    """A patch whose result has unknown fields, refused because validation is strict."""
    type_ = call.served.type
    errors = [FieldError("FieldValueInvalid", "patch", f"Invalid value: {text}") for text in texts]
    return invalid(type_.group, type_.kind, call.name, errors)


def validate(
    call: Call,
    obj: JSONObject,
    old: JSONObject | None,
    errors: list[FieldError] | None = None,
    status: bool = False,
) -> None:
    """Refuse an object that breaks the rules of its type; `errors` are found already."""
    type_ = call.served.type
    strategy = type_.strategy
    check = strategy.validate_status if status else strategy.validate
    found = [*(errors or ()), *check(obj, old)]
    if not found:
        call.warnings.extend([] if status else strategy.warnings(obj, old))
    else:
        raise invalid(type_.stored_as[0], type_.kind, obj["metadata"].get("name") or "", found)


def prepare_update(served: Served, new: JSONObject, old: JSONObject) -> None:
    """Take over from the old object what an update through the main dispatcher does not change."""
    if served.type.has_status:
        _take(new, old, "status")
    served.type.strategy.prepare_update(new, old)


def prepare_status(served: Served, new: JSONObject, old: JSONObject) -> None:
    """Take over everything but the status."""
    status: Any = new.get("status")
    if served.type.custom:
        kept = {**old, "metadata": {**old["metadata"]}}
        managed = new["metadata"].get("managedFields")
        new.clear()
        new.update(kept)
        if managed is not None:
            new["metadata"]["managedFields"] = managed
        if status is None:
            new.pop("status", None)
        else:
            new["status"] = status
        return
    for key in {*old, *new} - {"metadata", "status"}:
        _take(new, old, key)
    served.type.strategy.prepare_status(new, old)


def keep_metadata(new: JSONObject, old: JSONObject, fields: tuple[str, ...]) -> None:
    """Take over the metadata that an update of the status of some kinds cannot change."""
    for field in fields:
        _take(new, old, field)


def _take(new: JSONObject, old: JSONObject, key: str) -> None:
    if key in old:
        new[key] = old[key]
    else:
        new.pop(key, None)


def copied(obj: JSONObject) -> JSONObject:
    """A tree of its own."""
    copy: JSONObject = orjson.loads(orjson.dumps(obj))
    return copy


async def for_storage(context: Context, served: Served, obj: JSONObject) -> Stored:
    """The object in the version that is stored."""
    if served.is_storage_version:
        return Stored(served, obj)
    storage = context.catalog.stored(served.key)
    if storage is None:
        raise Failure(500, "InternalError", f"no storage version of {served.type.plural} is served")
    converted = (await served.converter.convert([obj], storage.type.version))[0]
    return Stored(storage, converted)
