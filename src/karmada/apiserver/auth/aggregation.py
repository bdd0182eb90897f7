"""Aggregated cluster roles: their rules are those of all cluster roles their selectors match. Pure."""

from collections.abc import Iterable
from typing import Any

from karmada.api import label_selector

JSONObject = dict[str, Any]


def is_aggregated(role: JSONObject) -> bool:
    """Whether a cluster role's rules are computed."""
    return bool((role.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def aggregated_rules(role: JSONObject, others: Iterable[JSONObject]) -> list[JSONObject]:
    """The rules of an aggregated role: of each selector's roles by name, without repeats."""
    rules: list[JSONObject] = []
    by_name = sorted(others, key=lambda other: str(other["metadata"]["name"]))
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or []:
        matches = label_selector.from_json(selector).matches
        for other in by_name:
            if other["metadata"]["name"] == role["metadata"]["name"]:
                continue
            if matches(other["metadata"].get("labels") or {}):
                rules.extend(rule for rule in other.get("rules") or [] if rule not in rules)
    return rules
