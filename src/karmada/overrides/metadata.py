"""labelsOverrider and annotationsOverrider: set, replace, remove keys, or add those that are absent."""

from collections.abc import Iterable
from typing import Literal

from karmada.api.policy.v1alpha1 import LabelAnnotationOverrider
from karmada.overrides.effort import Effort
from karmada.overrides.errors import OverrideError
from karmada.overrides.pods import JSONObject


def override_map(
    resource: JSONObject,
    field: Literal["labels", "annotations"],
    overriders: Iterable[LabelAnnotationOverrider],
    effort: Effort,
) -> None:
    """Apply the overriders in order; replace and remove touch only keys that exist."""
    metadata = resource.setdefault("metadata", {})
    for overrider in overriders:
        given = overrider.value or {}
        if not given:
            continue
        if not isinstance(metadata, dict):
            raise OverrideError(f"metadata is not an object: no {field} can be changed")
        found = metadata.get(field)
        effort.spend(len(given) + (len(found) if isinstance(found, dict) else 0))
        # What is no map of texts counts as none.
        usable = isinstance(found, dict) and all(isinstance(value, str) for value in found.values())
        present: dict[str, str] = found if isinstance(found, dict) and usable else {}
        match overrider.operator:
            case "add":
                metadata[field] = {**present, **given}
            case "addIfAbsent":
                metadata[field] = {**given, **present}
            case "replace" | "remove" if not usable:
                continue
            case "replace":
                metadata[field] = {key: given.get(key, value) for key, value in present.items()}
            case "remove":
                metadata[field] = {key: value for key, value in present.items() if key not in given}
            case _:
                raise OverrideError(f"unsupported operator {overrider.operator!r} for {field}")
