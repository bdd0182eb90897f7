"""Ownership by writing: create, update and patch make the writer own what changed.

A write that changes nothing leaves managedFields as they are. An object without managedFields (a client reset them)
stays untracked until someone applies to it.
"""

from typing import Any

from karmada.apiserver.managedfields import entries
from karmada.apiserver.managedfields.comparison import Comparison, compare
from karmada.apiserver.managedfields.entries import Entry
from karmada.apiserver.managedfields.fieldset import EMPTY, Fields, difference, ordered, union
from karmada.apiserver.managedfields.zero import zero_object
from karmada.apiserver.schema.model import Schema

JSONObject = dict[str, Any]


def track_update(
    old: JSONObject | None,
    new: JSONObject,
    schema: Schema,
    manager: str,
    api_version: str,
    subresource: str,
    now: str,
    reset: Fields = EMPTY,
) -> None:
    """Set metadata.managedFields of `new`, which replaces `old` (None: it is created).

    `new` is decoded and defaulted, not yet changed by admission. Its own managedFields count as the client's wish:
    absent or malformed ones are ignored, an empty list (or `[{}]`) forgets all ownership, others replace the live ones.
    `reset` holds what this subresource does not write, see `reset_fields`. `now` is an RFC 3339 time in UTC.
    """
    metadata = new["metadata"]
    sent = metadata.pop("managedFields", None)
    live: list[Entry] = old["metadata"].get("managedFields") or [] if old is not None else []
    current = live
    if sent is not None and sent != live and not subresource:
        current = [] if entries.is_reset(sent) else entries.decode(sent) or live
    if not current and old is not None and old["metadata"].get("uid"):
        return
    comparison = compare(zero_object(schema) if old is None else old, new, schema, reset)
    if comparison.changed or comparison.removed:
        writer = entries.entry(manager, "Update", api_version, subresource, EMPTY, now)
        tracked = entries.arranged(entries.capped(after_write(current, comparison, writer)))
    else:
        tracked = current if current is live else entries.arranged(current)
    if tracked:
        metadata["managedFields"] = tracked


def after_write(current: list[Entry], comparison: Comparison, writer: Entry) -> list[Entry]:
    """The entries after a write: what changed belongs to the writer, what is gone to no one."""
    taken = comparison.changed
    gone = union(comparison.changed, comparison.removed)
    who = entries.identity(writer)
    result: list[Entry] = []
    own: Fields = EMPTY
    for item in current:
        fields = item["fieldsV1"]
        if entries.identity(item) == who:
            own = fields
            if not taken:
                result.append(entries.with_fields(item, difference(fields, comparison.removed)))
        else:
            result.append(entries.with_fields(item, difference(fields, gone)))
    if taken:
        owned = union(difference(own, comparison.removed), taken)
        # What is stored is in order, and so is what changed: only where both come together it is lost.
        in_order = owned is own or owned is taken
        result.append(entries.with_fields(writer, owned if in_order else ordered(owned)))
    return result
