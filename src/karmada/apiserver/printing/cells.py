"""Cells that many kinds share, worded as kubectl users know them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from karmada.api import duration, label_selector

JSONObject = dict[str, Any]

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"

_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def name_of(obj: JSONObject) -> str:
    """The object's name."""
    return str(obj["metadata"].get("name", ""))


def age(obj: JSONObject, now: float) -> str:
    """Time since creation."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def since(time: str | None, now: float) -> str:
    """Time since a timestamp."""
    return duration.human(now - seconds(time)) if time else UNKNOWN


def seconds(time: str) -> float:
    """A timestamp in seconds since the epoch."""
    return datetime.fromisoformat(time).timestamp()


def part(obj: JSONObject, *keys: str) -> JSONObject:
    """The object below some keys, empty when there is none."""
    for key in keys:
        obj = obj.get(key) or {}
    return obj


def count(obj: JSONObject, key: str) -> int:
    """A number that is zero when absent."""
    return int(obj.get(key) or 0)


def labels(values: JSONObject | None) -> str:
    """Labels as `k=v,k=v`."""
    return ",".join(f"{key}={values[key]}" for key in sorted(values)) if values else NONE


def selector(value: JSONObject | None) -> str:
    """A label selector in its string form."""
    if not value:
        return NONE
    if not value.get("matchExpressions"):
        return labels(value.get("matchLabels"))
    try:
        return str(label_selector.from_json(value)) or NONE
    except label_selector.LabelSelectorError:
        return "<error>"


def containers(pod_spec: JSONObject) -> tuple[str, str]:
    """Names and images of a pod's containers."""
    items = pod_spec.get("containers") or []
    return ",".join(item.get("name", "") for item in items), ",".join(item.get("image", "") for item in items)


def limited(values: Sequence[str], most: int = 3, total: int | None = None, separator: str = ",") -> str:
    """The first of some values and how many more there are."""
    length = len(values) if total is None else total
    shown = separator.join(values[:most])
    return f"{shown} + {length - most} more..." if length > most else shown


def access_modes(modes: Iterable[str] | None) -> str:
    """Access modes of volumes in their short forms."""
    present = set(modes or ())
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in present)


def condition(obj: JSONObject, kind: str) -> JSONObject | None:
    """The condition of a type in the object's status."""
    found: Iterable[JSONObject] = part(obj, "status").get("conditions") or ()
    return next((item for item in found if item.get("type") == kind), None)


def text(value: bool | None) -> str:
    """A boolean as table cells spell it."""
    return UNSET if value is None else str(value)
