"""Managed fields in the pipeline: when ownership is tracked, and what counts as a write that changes nothing."""

import orjson

from karmada.apiserver.managedfields import reset_fields, track_update
from karmada.apiserver.requests.model import Call, Context
from karmada.apiserver.resources import JSONObject, same_but
from karmada.machinery.clock import rfc3339


def track(context: Context, call: Call, new: JSONObject, old: JSONObject | None, manager: str) -> None:
    """Make the writer own what it changed; `new` is decoded and defaulted, not yet seen by admission."""
    served = call.served
    track_update(
        old,
        new,
        served.type.schema,
        call.manager(manager),
        served.api_version,
        call.subresource,
        rfc3339(context.now()),
        reset_fields(served.type, call.subresource),
    )


def unchanged(new: JSONObject, old: JSONObject) -> bool:
    """Whether two objects are the same but for times of ownership; makes them the same then."""
    if new == old:
        return _same_bytes(new, old)
    new_meta, old_meta = new["metadata"], old["metadata"]
    if new_meta.keys() != old_meta.keys() or "managedFields" not in new_meta:
        return False
    if not same_but(new, old, ("metadata",)) or not same_but(new_meta, old_meta, ("managedFields",)):
        return False
    if _timeless(new_meta["managedFields"]) != _timeless(old_meta["managedFields"]):
        return False
    new_meta["managedFields"] = old_meta["managedFields"]
    return _same_bytes(new, old)


def _timeless(entries: list[JSONObject]) -> list[JSONObject]:
    return [{key: value for key, value in entry.items() if key != "time"} for entry in entries]


def _same_bytes(new: JSONObject, old: JSONObject) -> bool:
    """Python's equality takes 1, 1.0 and true for the same; the encoding does not."""
    return orjson.dumps(new, option=orjson.OPT_SORT_KEYS) == orjson.dumps(old, option=orjson.OPT_SORT_KEYS)
