"""The JSON Schema of the chart's values, made from the values themselves: Helm refuses what the chart does not have."""

from collections.abc import Mapping
from typing import Any

JSONObject = dict[str, Any]
OPEN = frozenset({"resources", "secrets", "nodeSelector"})
"""Maps whose keys are the user's."""
ENUMS = {
    "antiAffinity": ["preferred", "required"],
    "imagePullPolicy": ["Always", "IfNotPresent", "Never"],
    "serviceType": ["ClusterIP", "LoadBalancer", "NodePort"],
    "scheme": ["HTTP", "HTTPS"],
}


def values_schema(values: Mapping[str, Any]) -> JSONObject:
    """The schema of values like these; `global` is Helm's own."""
    made = _schema("", values)
    made["properties"]["global"] = {"type": "object"}
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart karmada", **made}


def _schema(name: str, value: Any) -> JSONObject:
    if isinstance(value, Mapping):
        if name in OPEN:
            return {"type": "object"}
        properties = {key: _schema(key, below) for key, below in value.items()}
        return {"type": "object", "additionalProperties": False, "properties": properties}
    if isinstance(value, list):
        element = {"type": "object" if name == "tolerations" else "string"}
        return {"type": "array", "items": element}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer", "minimum": 0}
    return {"type": "string", **({"enum": ENUMS[name]} if name in ENUMS else {})}
