"""Rules for objects of custom kinds: pruning, defaulting, validation by schema and by expressions."""

from functools import lru_cache
from typing import Any

from karmada.api.field_errors import FieldError
from karmada.apiserver.crds import scale_values
from karmada.apiserver.crds.embedded import validate_embedded
from karmada.apiserver.resources import ResourceType, ScalePaths
from karmada.apiserver.schema.defaulting import filler
from karmada.apiserver.schema.metadata import validate_metadata
from karmada.apiserver.schema.model import COMPILED, MISSING, Schema
from karmada.apiserver.schema.pruning import pruner
from karmada.apiserver.schema.validation import blocks_rules
from karmada.apiserver.schema.validation import validate as validate_schema

JSONObject = dict[str, Any]
_UNCHECKED = (
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def decode(type_: ResourceType, obj: JSONObject) -> list[str]:
    """Prune and default an object in place; paths of the fields that were removed."""
    unknown = prune(type_, obj)
    fill_defaults(type_, obj)
    return unknown


def prune(type_: ResourceType, obj: JSONObject) -> list[str]:
    """Prune an object in place without defaulting, as apply requests need; paths of the fields that were removed."""
    return pruner(type_.schema)(obj) or []


def fill_defaults(type_: ResourceType, obj: JSONObject) -> None:
    """Fill in the defaults of the schema, in place. Also for objects that are read: the schema may be younger."""
    fill = filler(type_.schema)
    if fill is not None:
        fill(obj)


def keep(obj: JSONObject) -> None:
    """Leave a new object as it is."""


def drop_status(obj: JSONObject) -> None:
    """A new object has no status where the status is a subresource."""
    obj.pop("status", None)


def default_status(schema: Schema, obj: JSONObject) -> None:
    """A new object has the status that the schema of its kind declares, whatever was sent."""
    obj.pop("status", None)
    fill = filler(schema)
    if fill is not None:
        fill(obj)


def validate(
    schema: Schema, namespaced: bool, scale: ScalePaths | None, obj: JSONObject, old: JSONObject | None
) -> list[FieldError]:
    """What is wrong with a new object or an update."""
    errors = validate_metadata(obj, old, namespaced=namespaced, custom=True)
    errors += validate_schema(schema, obj, MISSING if old is None else old)
    errors += validate_embedded(schema, obj, MISSING if old is None else old)
    scaled = scale_values.spec_errors(scale, obj) + scale_values.status_errors(scale, obj)
    return errors + scaled + _expressions(schema, obj, old, errors)


def validate_status(
    schema: Schema, namespaced: bool, scale: ScalePaths | None, obj: JSONObject, old: JSONObject | None
) -> list[FieldError]:
    """What is wrong with an update through the status subresource."""
    errors = validate_metadata(obj, old, namespaced=namespaced, custom=True)
    status = (schema.properties or {}).get("status")
    if status is not None and "status" in obj:
        before = MISSING if old is None else old.get("status", MISSING)
        errors += validate_schema(status, obj["status"], before, "status")
    return errors + scale_values.status_errors(scale, obj) + _expressions(schema, obj, old, errors)


def _expressions(schema: Schema, obj: JSONObject, old: JSONObject | None, errors: list[FieldError]) -> list[FieldError]:
    if not has_expressions(schema):
        return []
    if blocks_rules(errors):
        return [FieldError("FieldValueInvalid", "<nil>", _UNCHECKED)]
    from karmada.apiserver.crds.expressions import validate as validate_expressions

    return validate_expressions(schema, obj, old)


@lru_cache(maxsize=COMPILED)
def has_expressions(schema: Schema) -> bool:
    """Whether a schema has validation rules anywhere."""
    return _has_expressions(schema)


def _has_expressions(schema: Schema) -> bool:
    if schema.name:
        return False
    if schema.rules.get("x-kubernetes-validations"):
        return True
    children = [*(schema.properties or {}).values(), schema.items, schema.additional]
    return any(_has_expressions(child) for child in children if child is not None)
