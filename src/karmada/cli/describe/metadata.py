"""Names, labels, annotations, times and selectors, as descriptions show them."""

from datetime import UTC
from typing import Any

from karmada.api.annotations import LAST_APPLIED_CONFIGURATION
from karmada.cli.describe.page import Page

JSONObject = dict[str, Any]
LONGEST = 140


def head(page: Page, item: JSONObject) -> None:
    """How most descriptions begin."""
    name(page, item)
    marks(page, item)


def name(page: Page, item: JSONObject) -> None:
    """Name and namespace."""
    page.field(0, "Name", item["metadata"]["name"])
    page.field(0, "Namespace", item["metadata"].get("namespace", ""))


def marks(page: Page, item: JSONObject) -> None:
    """Labels and annotations."""
    labels(page, item["metadata"].get("labels"))
    annotations(page, item["metadata"].get("annotations"))


def labels(page: Page, found: JSONObject | None, name: str = "Labels", level: int = 0) -> None:
    """One label per line."""
    page.several(level, name, pairs(found))


def pairs(found: JSONObject | None) -> list[str]:
    """`key=value` of each, in order."""
    return [f"{key}={value}" for key, value in sorted((found or {}).items())]


def annotations(page: Page, found: JSONObject | None, level: int = 0) -> None:
    """One annotation per line; long ones are cut."""
    lines: list[str] = []
    for key, value in sorted((found or {}).items()):
        if key == LAST_APPLIED_CONFIGURATION:
            continue
        text = str(value).removesuffix("\n")
        if len(key) + len(text) + 2 <= LONGEST and "\n" not in text:
            lines.append(f"{key}: {text}")
            continue
        lines.append(f"{key}:")
        lines += [f"  {_cut(line)}" for line in text.split("\n")]
    page.several(level, "Annotations", lines)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST - 2 else text[: LONGEST - 2] + "..."


def owner(page: Page, item: JSONObject) -> None:
    """What controls an object, if something does."""
    for reference in item["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            page.field(0, "Controlled By", f"{reference['kind']}/{reference['name']}")


def time(text: str | None) -> str:
    """A moment as people write it."""
    from karmada.api.timestamps import parse

    return parse(text).astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000") if text else "<unset>"


def time_or_zero(text: str | None) -> str:
    """The same in tables of conditions, where a moment that is not known is the beginning of time."""
    return time(text) if text else "Mon, 01 Jan 0001 00:00:00 +0000"


def ago(text: str) -> str:
    """How long a moment has passed."""
    from time import time as now

    from karmada.api.duration import human
    from karmada.api.timestamps import parse

    return human(now() - parse(text).timestamp())


def phase(page: Page, item: JSONObject, usual: str) -> None:
    """The status, or for how long an object has been going."""
    left = item["metadata"].get("deletionTimestamp")
    page.field(0, "Status", f"Terminating (lasts {ago(left)})" if left else usual)


def selector(found: JSONObject | None) -> str:
    """A label selector on one line."""
    parts = {key: f"{key}={value}" for key, value in ((found or {}).get("matchLabels") or {}).items()}
    for test in (found or {}).get("matchExpressions") or ():
        values = ",".join(sorted(test.get("values") or ()))
        match test.get("operator"):
            case "Exists":
                parts[test["key"]] = test["key"]
            case "DoesNotExist":
                parts[test["key"]] = f"!{test['key']}"
            case operator:
                parts[test["key"]] = f"{test['key']} {str(operator).lower()} ({values})"
    return ",".join(parts[key] for key in sorted(parts)) or "<none>"


def conditions(page: Page, found: list[JSONObject] | None) -> None:
    """Conditions of workloads."""
    if found:
        page.line(0, "Conditions:")
        rows = [(f"{one.get('type', '')} ", one.get("status", ""), one.get("reason", "")) for one in found]
        page.table(1, ("Type", "Status", "Reason"), rows)
