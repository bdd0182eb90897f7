"""A CRD's versions as validation messages quote them: the server's own form, with every field and its name there."""

from typing import Any

JSONObject = dict[str, Any]

_SCHEMA_FIELDS: tuple[tuple[str, str, Any], ...] = (
    ("ID", "id", ""),
    ("Schema", "$schema", ""),
    ("Ref", "$ref", None),
    ("Description", "description", ""),
    ("Type", "type", ""),
    ("Nullable", "nullable", False),
    ("Format", "format", ""),
    ("Title", "title", ""),
    ("Default", "default", None),
    ("Maximum", "maximum", None),
    ("ExclusiveMaximum", "exclusiveMaximum", False),
    ("Minimum", "minimum", None),
    ("ExclusiveMinimum", "exclusiveMinimum", False),
    ("MaxLength", "maxLength", None),
    ("MinLength", "minLength", None),
    ("Pattern", "pattern", ""),
    ("MaxItems", "maxItems", None),
    ("MinItems", "minItems", None),
    ("UniqueItems", "uniqueItems", False),
    ("MultipleOf", "multipleOf", None),
    ("Enum", "enum", None),
    ("MaxProperties", "maxProperties", None),
    ("MinProperties", "minProperties", None),
    ("Required", "required", None),
    ("Items", "items", None),
    ("AllOf", "allOf", None),
    ("OneOf", "oneOf", None),
    ("AnyOf", "anyOf", None),
    ("Not", "not", None),
    ("Properties", "properties", None),
    ("AdditionalProperties", "additionalProperties", None),
    ("PatternProperties", "patternProperties", None),
    ("Dependencies", "dependencies", None),
    ("AdditionalItems", "additionalItems", None),
    ("Definitions", "definitions", None),
    ("ExternalDocs", "externalDocs", None),
    ("Example", "example", None),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", None),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", False),
    ("XIntOrString", "x-kubernetes-int-or-string", False),
    ("XListMapKeys", "x-kubernetes-list-map-keys", None),
    ("XListType", "x-kubernetes-list-type", None),
    ("XMapType", "x-kubernetes-map-type", None),
    ("XValidations", "x-kubernetes-validations", None),
)


def dump_versions(versions: list[JSONObject], shared: set[str]) -> list[JSONObject]:
    """The versions; `shared` names the parts that are the same in all of them and kept elsewhere."""
    return [_version(version, shared) for version in versions]


def _version(version: JSONObject, shared: set[str]) -> JSONObject:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    shown = None if "schema" in shared or schema is None else _schema(schema)
    if shown is not None and shown["Properties"] is None and shown["Type"] == "object":
        # Decoding drops an empty map; a root without fields was most likely written with one.
        shown["Properties"] = {}
    return {
        "Name": version.get("name") or "",
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None if shown is None else {"OpenAPIV3Schema": shown},
        "Subresources": None if "subresources" in shared else version.get("subresources"),
        "AdditionalPrinterColumns": None
        if "additionalPrinterColumns" in shared
        else version.get("additionalPrinterColumns"),
        "SelectableFields": None if "selectableFields" in shared else version.get("selectableFields"),
    }


def dump_rule(rule: JSONObject) -> JSONObject:
    """A validation rule."""
    return {
        "Rule": rule.get("rule") or "",
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def _schema(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {name: _value(keyword, schema.get(keyword), zero) for name, keyword, zero in _SCHEMA_FIELDS}


def _value(keyword: str, value: Any, zero: Any) -> Any:
    if value is None:
        return zero
    if keyword in ("properties", "patternProperties", "definitions"):
        return {name: _schema(value[name]) for name in sorted(value)}
    if keyword in ("allOf", "oneOf", "anyOf"):
        return [_schema(child) for child in value]
    if keyword == "not":
        return _schema(value)
    if keyword == "items":
        return {"Schema": _schema(value), "JSONSchemas": None}
    if keyword in ("additionalProperties", "additionalItems"):
        if isinstance(value, bool):
            return {"Allows": value, "Schema": None}
        return {"Allows": True, "Schema": _schema(value)}
    if keyword == "x-kubernetes-validations":
        return [dump_rule(rule) for rule in value]
    return value
