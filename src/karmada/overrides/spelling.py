"""Overriders as records and messages spell them: in wire order, maps by key, null where no value is given."""

from typing import Any

from karmada.api.codec import quotable_tree
from karmada.api.policy.v1alpha1 import Overriders

_WIRE_ORDER = (
    "plaintext",
    "imageOverrider",
    "commandOverrider",
    "argsOverrider",
    "labelsOverrider",
    "annotationsOverrider",
    "fieldOverrider",
    "replicasOverrider",
    "resourcesOverrider",
)


def spelled(overriders: Overriders) -> dict[str, Any]:
    """All overriders of a rule."""
    given = quotable_tree(overriders)
    return {name: [spelled_item(item, name) for item in given[name]] for name in _WIRE_ORDER if name in given}


def spelled_item(item: dict[str, Any], name: str) -> dict[str, Any]:
    """One overrider of the list `name`: a change always has a value, if only null."""
    if name == "plaintext":
        return {**item, "value": item.get("value")}
    for form in ("json", "yaml"):
        if form in item:
            item = {**item, form: [{**change, "value": change.get("value")} for change in item[form]]}
    return item
