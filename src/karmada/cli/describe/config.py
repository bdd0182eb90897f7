"""What configures pods and namespaces: data, limits, quotas, priorities."""

from base64 import b64decode
from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Query, Related

JSONObject = dict[str, Any]
_LIMITS = ("Type", "Resource", "Min", "Max", "Default Request", "Default Limit", "Max Limit/Request Ratio")
_SCOPES = {
    "Terminating": "Matches all pods that have an active deadline. These pods have a limited lifespan on a node before "
    "being actively terminated by the system.",
    "NotTerminating": "Matches all pods that do not have an active deadline. These pods usually include long running "
    "pods whose container command is not expected to terminate.",
    "BestEffort": "Matches all pods that do not have resource requirements set. These pods have a best effort quality "
    "of service.",
    "NotBestEffort": "Matches all pods that have at least one resource requirement set. These pods have a burstable or "
    "guaranteed quality of service.",
}


def config_map(page: Page, item: JSONObject, _: Related) -> None:
    """A ConfigMap."""
    metadata.head(page, item)
    page.line(0, "\nData\n====")
    for key, value in sorted((item.get("data") or {}).items()):
        page.line(0, f"{key}:\n----\n{value}\n")
    page.line(0, "\nBinaryData\n====")
    for key, value in sorted((item.get("binaryData") or {}).items()):
        page.line(0, f"{key}: {len(b64decode(value))} bytes")
    page.line(0, "")


def secret(page: Page, item: JSONObject, _: Related) -> None:
    """A Secret: how much is in it, not what."""
    metadata.head(page, item)
    page.line(0, f"\nType:\t{item.get('type', '')}\n\nData\n====")
    is_token = item.get("type") == "kubernetes.io/service-account-token"
    for key, value in sorted((item.get("data") or {}).items()):
        plain = b64decode(value)
        shown = plain.decode(errors="replace") if is_token and key == "token" else f"{len(plain)} bytes"
        page.field(0, key, shown)


def limits_of(item: JSONObject) -> dict[str, Query]:
    """What limits a namespace."""
    name = item["metadata"]["name"]
    return {
        "quotas": Query("", "v1", "resourcequotas", name),
        "limits": Query("", "v1", "limitranges", name),
    }


def namespace(page: Page, item: JSONObject, related: Related) -> None:
    """A Namespace."""
    status = item.get("status") or {}
    page.field(0, "Name", item["metadata"]["name"])
    metadata.marks(page, item)
    page.field(0, "Status", status.get("phase", ""))
    if found := status.get("conditions"):
        head = ("Type", "Status", "LastTransitionTime", "Reason", "Message")
        rows = [
            (one["type"], one["status"], metadata.time(one.get("lastTransitionTime")), one["reason"], one["message"])
            for one in found
        ]
        page.line(0, "Conditions:")
        page.table(1, head, rows)
    page.line(0, "")
    if related["quotas"]:
        page.line(0, "Resource Quotas")
        for one in related["quotas"]:
            page.field(1, "Name", one["metadata"]["name"])
            _scopes(page, one, 1, "  ")
            _used(page, one, 1, "---")
    else:
        page.line(0, "No resource quota.")
    page.line(0, "")
    if related["limits"]:
        page.line(0, "Resource Limits")
        _limits(page, related["limits"], " ")
    else:
        page.line(0, "No LimitRange resource.")


def quota(page: Page, item: JSONObject, _: Related) -> None:
    """A ResourceQuota."""
    metadata.name(page, item)
    _scopes(page, item, 0, " ")
    _used(page, item, 0, "----")


def _scopes(page: Page, item: JSONObject, level: int, indent: str) -> None:
    scopes = sorted((item.get("spec") or {}).get("scopes") or ())
    if scopes:
        page.field(level, "Scopes", ", ".join(scopes))
        for scope in scopes:
            if scope in _SCOPES:
                page.line(0, f"{indent}* {_SCOPES[scope]}")


def _used(page: Page, item: JSONObject, level: int, rule: str) -> None:
    status = item.get("status") or {}
    page.line(level, "Resource", "Used", "Hard")
    page.line(level, "--------", rule, rule)
    for name, hard in sorted((status.get("hard") or {}).items()):
        page.line(level, name, (status.get("used") or {}).get(name, "0"), hard)


def limit_range(page: Page, item: JSONObject, _: Related) -> None:
    """A LimitRange."""
    metadata.name(page, item)
    _limits(page, [item], "")


def _limits(page: Page, found: list[JSONObject], indent: str) -> None:
    for cells in (_LIMITS, ["-" * len(cell) for cell in _LIMITS]):
        page.line(0, f"{indent}{cells[0]}", *cells[1:])
    keys = ("min", "max", "defaultRequest", "default", "maxLimitRequestRatio")
    for limit in (limit for item in found for limit in (item.get("spec") or {}).get("limits") or ()):
        names = sorted({name for key in keys for name in limit.get(key) or ()})
        for name in names:
            values = [(limit.get(key) or {}).get(name, "-") for key in keys]
            page.line(0, f"{indent}{limit.get('type', '')}", name, *values)


def priority_class(page: Page, item: JSONObject, _: Related) -> None:
    """A PriorityClass."""
    page.field(0, "Name", item["metadata"]["name"])
    page.field(0, "Value", item.get("value", 0))
    page.field(0, "GlobalDefault", str(item.get("globalDefault", False)).lower())
    page.field(0, "PreemptionPolicy", item.get("preemptionPolicy", "PreemptLowerPriority"))
    page.field(0, "Description", item.get("description", ""))
    page.field(0, "Annotations", ",".join(metadata.pairs(item["metadata"].get("annotations"))) or "<none>")
