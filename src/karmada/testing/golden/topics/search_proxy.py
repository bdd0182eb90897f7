"""Topic `search-proxy`: composite resource versions and continue tokens."""

from typing import Any

from karmada.search.resource_versions import Continue, ResourceVersions
from karmada.testing.golden.case import Topic


def _encode(given: dict[str, Any]) -> dict[str, Any]:
    return {"value": str(ResourceVersions(given.get("rvs")))}


def _decode(given: dict[str, Any]) -> dict[str, Any]:
    versions = ResourceVersions.parse(given["value"])
    outcome: dict[str, Any] = {
        "get": {cluster: versions.get(cluster) for cluster in given.get("get") or ()},
        "isZero": versions.is_zero,
        "string": str(versions),
    }
    for cluster, version in (given.get("set") or {}).items():
        versions.set(cluster, version)
    if given.get("set"):
        outcome["afterSet"] = str(versions)
    if versions.versions is not None:
        outcome["rvs"] = versions.versions
    return outcome


def _continue(given: dict[str, Any]) -> dict[str, Any]:
    token = str(Continue(given["RV"], given["Cluster"], given["Continue"]))
    read = Continue.parse(token)
    decoded = {"rv": read.versions, "cluster": read.cluster, "continue": read.token}
    return {"value": token, "decoded": {key: value for key, value in decoded.items() if value or key == "rv"}}


TOPIC = Topic(
    "search-proxy",
    {"resourceversion.Encode": _encode, "resourceversion.Decode": _decode, "continue.Encode": _continue},
)
