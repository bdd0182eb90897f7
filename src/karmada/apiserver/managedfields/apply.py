"""Server-side apply: make the object hold what one manager wants, without breaking what others own.

The configuration is merged into the live object; what the manager applied last time, applies no more and nobody else
owns is removed; a value that another manager owns is a conflict unless forced. Afterwards the manager owns exactly
the fields of its configuration.
"""

from typing import Any

import orjson

from karmada.apiserver.managedfields import entries, last_applied
from karmada.apiserver.managedfields.checking import check
from karmada.apiserver.managedfields.comparison import Comparison, compare
from karmada.apiserver.managedfields.conflicts import ApplyConflict, Conflict
from karmada.apiserver.managedfields.entries import Entry
from karmada.apiserver.managedfields.fieldset import EMPTY, Fields, difference, intersection, union, union_all, without
from karmada.apiserver.managedfields.merging import merge, prune, retyped
from karmada.apiserver.managedfields.owned import owned_by
from karmada.apiserver.managedfields.track import after_write
from karmada.apiserver.managedfields.zero import zero_object
from karmada.apiserver.schema.model import Schema
from karmada.machinery.httpserver.failure import bad_request

JSONObject = dict[str, Any]

BEFORE_FIRST_APPLY = "before-first-apply"


def apply(
    live: JSONObject | None,
    config: JSONObject,
    schema: Schema,
    manager: str,
    force: bool,
    api_version: str,
    subresource: str,
    now: str,
    reset: Fields = EMPTY,
) -> JSONObject:
    """The object after applying a configuration, with its managedFields; a tree of its own.

    `live` is None when the object does not exist yet. The result still needs defaulting and everything a write needs.
    Equal to `live` when nothing changes. Raises `ApplyConflict`, or a `Failure` for a configuration that does not fit
    the schema. Neither `live` nor `config` is changed.
    """
    if config["metadata"].get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    check(config, schema)
    wanted = _cut(config, reset)
    fields = without(owned_by(wanted, schema), reset)
    mine = entries.entry(manager, "Apply", api_version, subresource, fields, now)
    if live is None:
        # What an endpoint never changes is given at creation nevertheless; nobody owns it.
        given = {name: fields for name, fields in reset.items() if name == "f:status"}
        return _result(_cut(config, given), [mine])
    result = _apply(live, wanted, schema, mine, force, reset)
    if manager == last_applied.MANAGER:
        last_applied.follow(result, config)
    return result


def _apply(live: JSONObject, config: JSONObject, schema: Schema, mine: Entry, force: bool, reset: Fields) -> JSONObject:
    current = _tracked(live, schema, mine, reset)
    who = entries.identity(mine)
    last = next((entry for entry in current if entries.identity(entry) == who), None)
    others = [entry for entry in current if entry is not last]
    merged = merge(live, config, schema)
    if last is not None and last["fieldsV1"] != mine["fieldsV1"]:
        owned = union_all([mine["fieldsV1"], *(entry["fieldsV1"] for entry in others)])
        merged = prune(merged, last["fieldsV1"], owned, schema)
    comparison = compare(live, merged, schema, reset, applied=True)
    if not force:
        _refuse_conflicts(live, others, comparison, schema, mine["manager"])
    # What an endpoint resets is nobody's, but it is written and judged before it is reset.
    written = compare(live, merged, schema, applied=True) if any(reset.values()) else comparison
    changed = bool(written.changed or written.removed) or retyped(live, merged)
    if not changed:
        mine = {key: value for key, value in mine.items() if key != "time"}
        if last is not None and "time" in last:
            mine["time"] = last["time"]
    gone = union(comparison.changed, comparison.removed)
    kept = [entries.with_fields(entry, difference(entry["fieldsV1"], gone)) for entry in others]
    return _result(merged if changed else live, [*kept, mine])


def _result(tree: JSONObject, tracked: list[Entry]) -> JSONObject:
    """A copy of the object with these entries."""
    metadata = {key: value for key, value in tree["metadata"].items() if key != "managedFields"}
    owning = entries.arranged(tracked)
    if owning:
        metadata["managedFields"] = owning
    result: JSONObject = orjson.loads(orjson.dumps({**tree, "metadata": metadata}))
    return result


def _tracked(live: JSONObject, schema: Schema, mine: Entry, reset: Fields) -> list[Entry]:
    """Who owns what; an object nobody is known to own belongs, as it is, to whoever wrote it before.

    A Scale is an object of its own here: who owns its replicas counts, whatever else is owned of the scaled object.
    """
    tracked: list[Entry] = live["metadata"].get("managedFields") or []
    subresource = mine.get("subresource", "")
    scales = subresource == entries.SCALE
    if any(intersection(entry["fieldsV1"], mine["fieldsV1"]) for entry in tracked) if scales else tracked:
        return tracked
    found = compare(zero_object(schema), live, schema, reset)
    if scales:
        found = Comparison(intersection(found.changed, mine["fieldsV1"]), EMPTY)
    version, time = mine["apiVersion"], mine.get("time", "")
    return after_write(tracked, found, entries.entry(BEFORE_FIRST_APPLY, "Update", version, subresource, EMPTY, time))


def _refuse_conflicts(
    live: JSONObject, others: list[Entry], comparison: Comparison, schema: Schema, manager: str
) -> None:
    if not comparison.changed:
        return
    found = [(entry, intersection(entry["fieldsV1"], comparison.changed)) for entry in others]
    conflicts = [Conflict(entry, fields) for entry, fields in found if fields]
    if conflicts and manager == last_applied.MANAGER:
        allowed = last_applied.unchanged_since(live, schema)
        found = [(entry, difference(fields, allowed)) for entry, fields in conflicts]
        conflicts = [Conflict(entry, fields) for entry, fields in found if fields]
    if conflicts:
        raise ApplyConflict(conflicts)


def _cut(config: JSONObject, reset: Fields) -> JSONObject:
    """The configuration without the top-level fields this subresource does not write."""
    return {key: value for key, value in config.items() if key == "metadata" or reset.get("f:" + key) != EMPTY}
