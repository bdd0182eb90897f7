"""The entries of metadata.managedFields: who owns which fields, since when, through which subresource.

An entry is identified by manager, operation and subresource, for updates also by the API version. Entries are kept
as they are stored; one that nothing changed keeps its very object.
"""

from typing import Any

from karmada.apiserver.managedfields.fieldset import EMPTY, Fields, ordered, parse, union_all

Entry = dict[str, Any]
Identity = tuple[str, str, str, str]

MAX_UPDATE_MANAGERS = 10
ANCIENT = "ancient-changes"
SCALE = "scale"


def identity(entry: Entry) -> Identity:
    """What makes an entry the same one: appliers keep theirs across API versions."""
    operation = entry["operation"]
    version = "" if operation == "Apply" else entry["apiVersion"]
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


def entry(manager: str, operation: str, api_version: str, subresource: str, fields: Fields, time: str) -> Entry:
    """A new entry owning fields in order; the scale subresource leaves no time."""
    made: Entry = {"manager": manager, "operation": operation, "apiVersion": api_version}
    if time and subresource != SCALE:
        made["time"] = time
    made["fieldsType"] = "FieldsV1"
    made["fieldsV1"] = fields
    if subresource:
        made["subresource"] = subresource
    return made


def with_fields(old: Entry, fields: Fields) -> Entry:
    """The entry owning other fields; itself when they are the same tree."""
    return old if fields is old["fieldsV1"] else {**old, "fieldsV1": fields}


def is_reset(sent: Any) -> bool:
    """Whether a client asks to forget all ownership: an empty list, or one empty entry."""
    return isinstance(sent, list) and (not sent or (len(sent) == 1 and sent[0] == {}))


def decode(sent: Any) -> list[Entry] | None:
    """Entries as a client sent them, in canonical form; None when any of them is no entry."""
    if not isinstance(sent, list):
        return None
    decoded: dict[Identity, Entry] = {}
    for item in sent:
        if not isinstance(item, dict) or item.get("operation") not in ("Apply", "Update"):
            return None
        fields = parse(item.get("fieldsV1") or EMPTY)
        if not item.get("apiVersion") or item.get("fieldsType") != "FieldsV1" or fields is None:
            return None
        decoded[identity(item)] = {**item, "fieldsV1": ordered(fields)}
    return list(decoded.values())


def arranged(entries: list[Entry]) -> list[Entry]:
    """Entries in the order the API lists them; those owning nothing are dropped."""
    owning = [entry for entry in entries if entry["fieldsV1"]]
    if len(owning) > 1:
        owning.sort(key=lambda e: (e["operation"], e.get("time", ""), *identity(e)))
    return owning


def capped(entries: list[Entry]) -> list[Entry]:
    """At most ten update entries: the oldest of a version are merged into one of `ancient-changes`."""
    if len(entries) <= MAX_UPDATE_MANAGERS:
        return entries
    updates = [entry for entry in entries if entry["operation"] == "Update"]
    excess = len(updates) - MAX_UPDATE_MANAGERS
    if excess <= 0:
        return entries
    updates.sort(key=lambda e: (e.get("time", ""), *identity(e)))
    kept = {identity(entry): entry for entry in entries}
    together: dict[str, list[Entry]] = {}
    for old in updates:
        if excess <= 0:
            break
        merged = together.setdefault(old["apiVersion"], [])
        if merged:
            excess -= 1
        merged.append(old)
    for version, merged in together.items():
        if len(merged) == 1:
            continue
        bucket: Identity = (ANCIENT, "Update", version, "")
        if bucket in kept:  # it takes the place of the oldest, which stays
            merged = [kept[bucket], *merged[1:]]
        for old in merged:
            kept.pop(identity(old), None)
        fields = union_all(old["fieldsV1"] for old in merged)
        kept[bucket] = entry(ANCIENT, "Update", version, "", fields, merged[-1].get("time", ""))
    return list(kept.values())
