"""Whether a CRD's schema is structural: every field has a type, and logic only restricts what structure declares.

All functions return field errors in the wording of the API. `path` is the field of the schema within the CRD.
"""

from typing import Any

from karmada.api.field_errors import FieldError, forbidden, invalid, not_supported, required
from karmada.apiserver.crds.defaults import validate_defaults
from karmada.apiserver.schema.regexes import BadExpression, compiled

JSONObject = dict[str, Any]
TYPES = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED = ("definitions", "dependencies", "patternProperties", "additionalItems", "$schema", "id")
_STRUCTURE_ONLY = ("type", "default", "additionalProperties", "nullable", "title", "description")
_EXTENSIONS = (
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
)
_OPERATORS = ("allOf", "anyOf", "oneOf")
_HARMLESS = frozenset({"description", "enum", "format", "maximum", "minimum", "properties", "required", "type"})
"""Keywords that no rule about forms is about, given a type that exists."""
_EMPTY = "must be empty to be structural"


def validate_structure(schema: JSONObject, path: str) -> list[FieldError]:
    """What is wrong with an openAPIV3Schema."""
    errors = _forms(schema, path, root=True)
    errors += _structure(schema, path, "root")
    return errors or (validate_defaults(schema, path) if _has(schema, "default") else [])


def has_rules(schema: JSONObject) -> bool:
    """Whether there are validation rules in a schema."""
    return _has(schema, "x-kubernetes-validations")


def _has(schema: JSONObject, keyword: str) -> bool:
    if keyword in schema:
        return True
    for word in ("items", "additionalProperties"):
        child = schema.get(word)
        if isinstance(child, dict) and _has(child, keyword):
            return True
    properties = schema.get("properties")
    return any(_has(child, keyword) for child in (properties or {}).values())


def _forms(schema: JSONObject, path: str, root: bool = False) -> list[FieldError]:
    """Keywords that are unsupported or malformed anywhere."""
    plain = _HARMLESS.issuperset(schema) and schema.get("type") in TYPES
    errors = [] if plain else _form(schema, path, root)
    for place, child in _children(schema, path):
        errors += _forms(child, place)
    return errors


def _form(schema: JSONObject, path: str, root: bool) -> list[FieldError]:
    """What is malformed in one schema, apart from those inside it."""
    errors: list[FieldError] = []
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(f"{path}.uniqueItems", text))
    additional = schema.get("additionalProperties")
    if additional is not None:
        if root:
            errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if schema.get("x-kubernetes-embedded-resource"):
            text = "must not be used if x-kubernetes-embedded-resource is set"
            errors.append(forbidden(f"{path}.additionalProperties", text))
        if schema.get("properties") and additional is not True:
            text = "additionalProperties and properties are mutual exclusive"
            errors.append(forbidden(f"{path}.additionalProperties", text))
    if schema.get("$ref"):
        errors.append(forbidden(f"{path}.$ref", "$ref is not supported"))
    errors += [forbidden(f"{path}.{word}", f"{word} is not supported") for word in _UNSUPPORTED if schema.get(word)]
    kind = schema.get("type")
    if kind == "null":
        errors.append(forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative"))
    elif kind and kind not in TYPES:
        errors.append(not_supported(f"{path}.type", kind, TYPES))
    if isinstance(schema.get("items"), list):
        errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if schema.get("pattern"):
        try:
            compiled(schema["pattern"])
        except BadExpression as error:
            text = f"must be a valid regular expression, but isn't: {error}"
            errors.append(invalid(f"{path}.pattern", schema["pattern"], text))
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        errors.append(invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined"))
    return errors + _list_forms(schema, path) + _map_forms(schema, path)


def _children(schema: JSONObject, path: str) -> list[tuple[str, JSONObject]]:
    """All schemas directly inside one, with their fields."""
    properties = schema.get("properties")
    found = [(f"{path}.properties[{name}]", child) for name, child in sorted((properties or {}).items())]
    if _HARMLESS.issuperset(schema):
        return found
    if isinstance(schema.get("additionalProperties"), dict):
        found.append((f"{path}.additionalProperties", schema["additionalProperties"]))
    if isinstance(schema.get("items"), dict):
        found.append((f"{path}.items", schema["items"]))
    for operator in _OPERATORS:
        found += [(f"{path}.{operator}[{index}]", child) for index, child in enumerate(schema.get(operator) or ())]
    if isinstance(schema.get("not"), dict):
        found.append((f"{path}.not", schema["not"]))
    return found


def _list_forms(schema: JSONObject, path: str) -> list[FieldError]:
    kind = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    errors: list[FieldError] = []
    if kind is None:
        if keys:
            text = "must be map if x-kubernetes-list-map-keys is non-empty"
            errors.append(required(f"{path}.x-kubernetes-list-type", text))
        return errors
    if schema.get("type") != "array":
        text = "must be array if x-kubernetes-list-type is specified"
        wrong = schema.get("type") or ""
        place = f"{path}.type"
        errors.append(invalid(place, wrong, text) if wrong else required(place, text))
    if kind not in ("atomic", "set", "map"):
        errors.append(not_supported(f"{path}.x-kubernetes-list-type", kind, ("atomic", "set", "map")))
    items = schema.get("items") if isinstance(schema.get("items"), dict) else {}
    assert isinstance(items, dict)
    if kind != "map":
        if keys:
            text = "must be map if x-kubernetes-list-map-keys is non-empty"
            errors.append(invalid(f"{path}.x-kubernetes-list-type", kind, text))
        return errors + (_set_items(items, path) if kind == "set" else [])
    if not keys:
        text = "must not be empty if x-kubernetes-list-type is map"
        errors.append(required(f"{path}.x-kubernetes-list-map-keys", text))
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        errors.append(invalid(f"{path}.items.type", items.get("type") or "", text))
        return errors
    return errors + _map_keys(items, keys, path)


def _map_keys(items: JSONObject, keys: list[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        child = properties.get(key)
        if child is None:
            text = "entries must all be names of item properties"
            errors.append(invalid(f"{path}.x-kubernetes-list-map-keys[{index}]", key, text))
            continue
        if child.get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            errors.append(invalid(f"{path}.items.properties[{key}].type", child["type"], text))
        if key not in (items.get("required") or ()) and "default" not in child:
            text = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            errors.append(required(f"{path}.items.properties[{key}].default", text))
    if len(set(keys)) != len(keys):
        text = "must not contain duplicate entries"
        errors.append(invalid(f"{path}.x-kubernetes-list-map-keys", keys, text))
    return errors


def _set_items(items: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if items.get("nullable"):
        errors.append(forbidden(f"{path}.items.nullable", "cannot be nullable when x-kubernetes-list-type is set"))
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        text = 'must be "atomic" as item of a list with x-kubernetes-list-type=set'
        found = items.get("x-kubernetes-map-type")
        errors.append(invalid(f"{path}.items.x-kubernetes-map-type", found, text))
    return errors


def _map_forms(schema: JSONObject, path: str) -> list[FieldError]:
    kind = schema.get("x-kubernetes-map-type")
    if kind is None:
        return []
    if kind not in ("atomic", "granular"):
        return [not_supported(f"{path}.x-kubernetes-map-type", kind, ("atomic", "granular"))]
    if schema.get("type") != "object":
        text = "must be object if x-kubernetes-map-type is specified"
        return [invalid(f"{path}.type", schema.get("type") or "", text)]
    return []


_NO_TYPE = {
    "root": "must not be empty at the root",
    "field": "must not be empty for specified object fields",
    "item": "must not be empty for specified array items",
}


def _structure(schema: JSONObject, path: str, level: str) -> list[FieldError]:
    """The rules that make a schema structural, node by node."""
    errors: list[FieldError] = []
    kind = schema.get("type")
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if not kind and not schema.get("$ref") and not free:
        errors.append(required(f"{path}.type", _NO_TYPE[level]))
    if kind == "array" and schema.get("items") is None:
        errors.append(required(f"{path}.items", "must be specified"))
    if level == "root" and kind and kind != "object":
        errors.append(invalid(f"{path}.type", kind, "must be object at the root"))
    if schema.get("x-kubernetes-embedded-resource"):
        errors += _embedded(schema, path)
    if level == "root" or schema.get("x-kubernetes-embedded-resource"):
        errors += _metadata(schema, path)
    for name, child in sorted((schema.get("properties") or {}).items()):
        if not ((level == "root" or schema.get("x-kubernetes-embedded-resource")) and name == "metadata"):
            errors += _structure(child, f"{path}.properties[{name}]", "field")
    if isinstance(schema.get("additionalProperties"), dict):
        errors += _structure(schema["additionalProperties"], f"{path}.additionalProperties", "field")
    if isinstance(schema.get("items"), dict):
        errors += _structure(schema["items"], f"{path}.items", "item")
    for operator in _OPERATORS:
        for index, branch in enumerate(schema.get(operator) or ()):
            errors += _branch(branch, f"{path}.{operator}[{index}]", schema, path)
    if isinstance(schema.get("not"), dict):
        errors += _branch(schema["not"], f"{path}.not", schema, path)
    return errors


def _embedded(schema: JSONObject, path: str) -> list[FieldError]:
    errors = []
    if schema.get("type") != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        errors.append(invalid(f"{path}.type", schema.get("type") or "", text))
    if not schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        text = (
            "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        )
        errors.append(required(f"{path}.properties", text))
    return errors


def _metadata(schema: JSONObject, path: str) -> list[FieldError]:
    """Metadata is known anyway; a schema may only restrict names."""
    metadata = (schema.get("properties") or {}).get("metadata")
    if metadata is None:
        return []
    place = f"{path}.properties[metadata]"
    if metadata.get("type") != "object":
        return [invalid(f"{place}.type", metadata.get("type") or "", "must be object")]
    if set(metadata.get("properties") or ()) - {"name", "generateName"}:
        text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        return [forbidden(place, text)]
    return []


def _branch(branch: JSONObject, path: str, outer: JSONObject, outer_path: str) -> list[FieldError]:
    """Inside logical operators: no structure of its own, nothing that is not declared outside."""
    both = {"type": "integer"}, {"type": "string"}
    if outer.get("x-kubernetes-int-or-string") and branch in both:
        return []
    if outer.get("x-kubernetes-int-or-string") and list(branch.get("anyOf") or ()) == [*both]:
        return []
    errors = [forbidden(f"{path}.{word}", _EMPTY) for word in _STRUCTURE_ONLY if branch.get(word)]
    errors += [forbidden(f"{path}.{word}", _EMPTY) for word in _EXTENSIONS if branch.get(word)]
    declared = outer.get("properties") or {}
    for name, child in sorted((branch.get("properties") or {}).items()):
        place = f"{path}.properties[{name}]"
        outside = f"{outer_path}.properties[{name}]"
        errors += _branch(child, place, declared.get(name) or {}, outside)
        if name not in declared and not isinstance(outer.get("additionalProperties"), dict):
            errors.append(required(outside, f"because it is defined in {place}"))
    if isinstance(branch.get("items"), dict):
        inside = outer.get("items")
        errors += _branch(
            branch["items"], f"{path}.items", inside if isinstance(inside, dict) else {}, f"{outer_path}.items"
        )
        if not isinstance(inside, dict):
            errors.append(required(f"{outer_path}.items", f"because it is defined in {path}.items"))
    for operator in _OPERATORS:
        for index, child in enumerate(branch.get(operator) or ()):
            errors += _branch(child, f"{path}.{operator}[{index}]", outer, outer_path)
    if isinstance(branch.get("not"), dict):
        errors += _branch(branch["not"], f"{path}.not", outer, outer_path)
    return errors
