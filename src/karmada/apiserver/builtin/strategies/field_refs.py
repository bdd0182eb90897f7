"""Rules of references to fields and resources of a pod, in variables and in files of downward API volumes."""

import re

from karmada.api.field_errors import invalid, required
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, qualified_name, quantity_of, unsupported
from karmada.apiserver.builtin.strategies.tables import Check

_IN_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_IN_VARIABLES = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_CONVERTIBLE = frozenset((*_IN_FILES, *_IN_VARIABLES, "spec.schedulerName", "spec.restartPolicy", "status.phase"))
_SUBSCRIPT = re.compile(r"(?P<path>[^\[\]]*)\['(?P<key>.*)'\]")
_RESOURCES = tuple(f"{way}.{name}" for way in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))
_HUGE = ("requests.hugepages-", "limits.hugepages-")
_UNITS = frozenset(f"1{unit}" for unit in ("", *"kMGTPE", *(f"{letter}i" for letter in "KMGTPE")))
_SIZES = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the {}"


def _field_ref(supported: tuple[str, ...]) -> Check:
    def check(path: str, ref: JSONObject) -> Errors:
        if not ref.get("apiVersion"):
            return [required(f"{path}.apiVersion")]
        named = ref.get("fieldPath") or ""
        if not named:
            return [required(f"{path}.fieldPath")]
        if ref["apiVersion"] != "v1":
            text = f"error converting fieldPath: unsupported pod version: {ref['apiVersion']}"
            return [invalid(f"{path}.fieldPath", named, text)]
        found = _SUBSCRIPT.fullmatch(named)
        if found and found["path"] in ("metadata.annotations", "metadata.labels"):
            key = found["key"]
            return qualified_name(path, key.lower() if found["path"] == "metadata.annotations" else key)
        if found or named not in _CONVERTIBLE:
            text = (
                f"field label does not support subscript: {named}" if found else f"field label not supported: {named}"
            )
            return [invalid(f"{path}.fieldPath", named, f"error converting fieldPath: {text}")]
        return [] if named in supported else [unsupported(f"{path}.fieldPath", named, sorted(supported))]

    return check


in_file, in_variable = _field_ref(_IN_FILES), _field_ref(_IN_VARIABLES)
"""A field that a file of a volume, or a variable, shows."""


def resource_in_file(path: str, ref: JSONObject) -> Errors:
    """A container's resource that a file shows: the container is named."""
    if not ref.get("containerName"):
        return [required(f"{path}.containerName"), *_divisor(path, ref)]
    return resource_in_variable(path, ref)


def resource_in_variable(path: str, ref: JSONObject) -> Errors:
    """A container's resource that a variable shows."""
    name = ref.get("resource") or ""
    errors: Errors = []
    if not name:
        errors.append(required(f"{path}.resource"))
    elif name not in _RESOURCES and not name.startswith(_HUGE):
        errors.append(unsupported(f"{path}.resource", name, sorted(_RESOURCES)))
    return errors + _divisor(path, ref)


def _divisor(path: str, ref: JSONObject) -> Errors:
    name, divisor = ref.get("resource") or "", ref.get("divisor") or "0"
    if quantity_of(divisor).unscaled == 0:
        return []
    if name.endswith(".cpu"):
        fine, text = divisor in ("1m", "1"), "only divisor's values 1m and 1 are supported with the cpu resource"
    elif name in _RESOURCES or name.startswith(_HUGE):
        kind = (
            "hugepages"
            if name.startswith(_HUGE)
            else name.partition(".")[2].replace("eph", "local eph").replace("-", " ")
        )
        fine, text = divisor in _UNITS, _SIZES.format(f"{kind} resource")
    else:
        return []
    return [] if fine else [invalid(f"{path}.divisor", name, text)]
