"""The JSON Schema of the chart's values, made from the values themselves: Helm refuses what the chart does not have, as
do those who render it without Helm."""

import re
from collections.abc import Iterator, Mapping
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
PATTERNS = {"imageRegistry": "^(.+/)?$"}
"""What names of images are put after ends with a slash."""
_TYPES: Mapping[str, Any] = {"object": dict, "array": list, "boolean": bool, "integer": int, "string": str}


def violations(value: Any, schema: JSONObject, where: str = "") -> Iterator[str]:
    """What is wrong with values by their schema: a sentence each, which names the value."""
    wanted = schema["type"]
    if not isinstance(value, _TYPES[wanted]) or (wanted == "integer" and isinstance(value, bool)):
        yield f"{where or 'the whole file'}: {value!r} is no {wanted}"
    elif value not in schema.get("enum", [value]):
        yield f"{where}: {value!r} is none of {', '.join(schema['enum'])}"
    elif wanted == "string" and not re.search(schema.get("pattern", ""), value):
        yield f"{where}: {value!r} does not match {schema['pattern']}"
    elif wanted == "integer" and value < schema["minimum"]:
        yield f"{where}: {value} is less than {schema['minimum']}"
    elif wanted == "array":
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: there must be one at least"
        for number, item in enumerate(value):
            yield from violations(item, schema["items"], f"{where}[{number}]")
    elif wanted == "object" and "properties" in schema:
        for key, below in value.items():
            path = f"{where}.{key}" if where else str(key)
            if key not in schema["properties"]:
                yield f"the chart has no value {path}"
            elif below is not None:  # null takes a default away
                yield from violations(below, schema["properties"][key], path)


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
        return {"type": "array", "items": element, **({"minItems": 1} if name == "members" else {})}
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int):
        return {"type": "integer", "minimum": 0}
    bound = {"enum": ENUMS[name]} if name in ENUMS else {"pattern": PATTERNS[name]} if name in PATTERNS else {}
    return {"type": "string", **bound}
