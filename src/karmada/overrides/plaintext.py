"""plaintext: JSON patch operations on the whole resource."""

from collections.abc import Iterable
from typing import Any

from karmada.api import json_patch
from karmada.api.codec import tree
from karmada.api.policy.v1alpha1 import FieldPatchOperation, PlaintextOverrider
from karmada.overrides.effort import Effort
from karmada.overrides.errors import OverrideError
from karmada.overrides.pods import JSONObject


def override_plaintext(resource: JSONObject, overriders: Iterable[PlaintextOverrider], effort: Effort) -> JSONObject:
    """The resource after all operations; none takes effect when one fails."""
    operations = [operation(overrider.operator, overrider.path, overrider) for overrider in overriders]
    if not operations:
        return resource
    patched = patch(resource, operations, effort)
    if not isinstance(patched, dict) or not isinstance(patched.get("kind"), str) or not patched["kind"]:
        raise OverrideError(
            "the patched resource has no kind: a plaintext overrider may not replace it by something else"
        )
    return patched


def operation(operator: str, path: str, overrider: PlaintextOverrider | FieldPatchOperation) -> JSONObject:
    """One operation of a JSON patch."""
    step: JSONObject = {"op": operator, "path": path}
    if operator != "remove":
        step["value"] = tree(overrider.value)
    return step


def patch(document: Any, operations: list[JSONObject], effort: Effort) -> Any:
    """Apply a JSON patch."""
    try:
        return json_patch.apply(document, operations, spend=effort.spend)
    except json_patch.JSONPatchError as error:
        raise OverrideError(str(error)) from error
