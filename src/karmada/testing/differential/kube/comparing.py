"""What of two answers must be equal: everything but values that no two servers share."""

import re
from typing import Any

import orjson

from karmada.testing.differential.kube.peers import Answer

_RANDOM = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|eyJ[-_A-Za-z0-9]+\.[-_A-Za-z0-9]+\.[-_A-Za-z0-9]+"
)
_RECENT = re.compile(r"20(2[6-9]|3\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_OPAQUE = {
    "resourceVersion": "<rv>",
    "continue": "<continue>",
    "storageVersionHash": "<hash>",
    "time": "<time>",
    "remainingItemCount": "<count>",
    "jwks_uri": "<address>",
    "authentication.kubernetes.io/credential-id": "<credential>",
}
_OWN_ADDRESS = "serverAddress"
"""Where a server is reached, if it says so."""
_ADDRESS_LINE = re.compile(r"\n +serverAddress: \S+")
_BUILD = ("gitCommit", "gitTreeState", "buildDate", "goVersion")
"""What `/version` says of how a server was built."""
_UNORDERED = ("managedFields", "causes", "resourceRules", "nonResourceRules")
_AGE = re.compile(r"\d+[sm]")
_ALLOCATED = re.compile(r"10\.(96|44)\.\d+\.\d+")


def plain(value: Any, key: str = "") -> Any:
    """A value with random parts replaced by tokens."""
    if isinstance(value, dict):
        if key == "metadata" and "generateName" in value and isinstance(value.get("name"), str):
            value = {**value, "name": value["name"][:-5] + "<gen>"}
        if "columnDefinitions" in value:
            columns = [{**column, "description": ""} for column in value["columnDefinitions"] or ()]
            value = {**value, "columnDefinitions": columns}
        return {name: plain(child, name) for name, child in value.items() if name != _OWN_ADDRESS}
    if isinstance(value, list):
        if key == "cells":
            value = [_cell(one) for one in value]
        made = [plain(child, key) for child in value]
        return sorted(made, key=_sorted_repr) if key in _UNORDERED else made
    if key in _BUILD and isinstance(value, str):
        return "<build>"
    if key in _OPAQUE and value:
        return _OPAQUE[key]
    if key == "manager" and isinstance(value, str):
        return value.partition("-v1.")[0]
    if key == "nodePort" and isinstance(value, int) and 30000 <= value < 33000:
        return "<port>"
    if isinstance(value, str):
        value = _RANDOM.sub("<uid>", value)
        value = _RECENT.sub("<time>", value)
        value = _ADDRESS_LINE.sub("", value)
        return _ALLOCATED.sub("<ip>", value) if key in ("clusterIP", "clusterIPs") else value
    return value


def _sorted_repr(value: Any) -> bytes:
    """What entries are ordered by: two servers may write their fields in another order."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _cell(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    return _ALLOCATED.sub("<ip>", "<age>" if _AGE.fullmatch(cell) else cell)


def difference(stock: Answer, own: Answer) -> tuple[str, str] | None:
    """The class of the first difference (code, object, causes, ownership, warnings, wording) and what it is."""
    if stock.code != own.code:
        return "code", f"{stock.code} / {own.code}: {_message(stock)} / {_message(own)}"
    theirs, us = plain(stock.body), plain(own.body)
    if isinstance(theirs, dict) and isinstance(us, dict):
        if theirs.get("kind") == "Status" and stock.code >= 400:
            found = _status(theirs, us)
            if found:
                return found
        else:
            owned = take_ownership(theirs), take_ownership(us)
            if theirs != us:
                return "object", first_difference(theirs, us)
            if owned[0] != owned[1]:
                return "ownership", first_difference(list(owned[0]), list(owned[1]))
    elif theirs != us:
        return "object", first_difference(theirs, us)
    if sorted(stock.warnings) != sorted(own.warnings):
        return "warnings", f"{list(stock.warnings)} / {list(own.warnings)}"
    return None


def _status(theirs: dict[str, Any], us: dict[str, Any]) -> tuple[str, str] | None:
    for name in ("reason", "kind", "apiVersion"):
        if theirs.get(name) != us.get(name):
            return "code", f".{name}: {theirs.get(name)!r} / {us.get(name)!r}"
    mine, others = _causes(us), _causes(theirs)
    if mine != others:
        missing = [one for one in others if one not in mine]
        extra = [one for one in mine if one not in others]
        return "causes", f"missing {missing}, not in stock {extra}: {theirs.get('message')!r} / {us.get('message')!r}"
    if theirs != us:
        return "wording", first_difference(theirs, us)
    return None


def _causes(status: dict[str, Any]) -> list[tuple[str, str]]:
    """How often the same is said does not count: the message says it once."""
    causes = (status.get("details") or {}).get("causes") or []
    return sorted({(str(cause.get("reason")), str(cause.get("field"))) for cause in causes})


def take_ownership(obj: Any) -> list[Any]:
    """The managed fields of an object and of those in a list or table, taken out of it."""
    found = []
    if isinstance(obj, dict):
        if isinstance(obj.get("metadata"), dict) and "managedFields" in obj["metadata"]:
            found.append(obj["metadata"].pop("managedFields"))
        for name in ("items", "rows", "object"):
            for child in obj[name] if isinstance(obj.get(name), list) else [obj.get(name)]:
                found += take_ownership(child)
    return found


def _message(answer: Answer) -> Any:
    return answer.body.get("message") if isinstance(answer.body, dict) else answer.body


def first_difference(one: Any, other: Any, path: str = "") -> str:
    """The place of the first difference, with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in other or key not in one or one[key] != other[key]:
                if key in one and key in other:
                    return first_difference(one[key], other[key], f"{path}.{key}")
                return f"{path}.{key}: {one.get(key, '<absent>')!r} / {other.get(key, '<absent>')!r}"
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            if left != right:
                return first_difference(left, right, f"{path}[{index}]")
    return f"{path}: {one!r} / {other!r}"
