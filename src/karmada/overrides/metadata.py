"""labelsOverrider and annotationsOverrider: set, replace, remove keys, or add those that are absent."""

from collections.abc import Iterable
from typing import Literal

from karmada.api.policy.v1alpha1 import LabelAnnotationOverrider
from karmada.overrides.pods import JSONObject


def override_map(
    resource: JSONObject, field: Literal["labels", "annotations"], overriders: Iterable[LabelAnnotationOverrider]
) -> None:
    """Apply the overriders in order; replace and remove touch only keys that exist."""
    metadata = resource.setdefault("metadata", {})
    for overrider in overriders:
        present = metadata.get(field) or {}
        match overrider.operator:
            case "add":
                changed = {**present, **overrider.value}
            case "addIfAbsent":
                changed = {**overrider.value, **present}
            case "replace":
                changed = {key: overrider.value.get(key, value) for key, value in present.items()}
            case "remove":
                changed = {key: value for key, value in present.items() if key not in overrider.value}
            case _:
                continue
        if changed or field in metadata:
            metadata[field] = changed
