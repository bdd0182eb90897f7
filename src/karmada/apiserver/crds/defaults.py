"""Whether the defaults in a CRD's schema are valid values of it.

What is below additionalProperties is not looked at: a stock API server does not either.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from karmada.api.field_errors import FieldError, forbidden, invalid
from karmada.apiserver.crds.embedded import validate_embedded
from karmada.apiserver.crds.types import complete_embedded
from karmada.apiserver.schema.embedded import malformed
from karmada.apiserver.schema.model import MISSING, Schema
from karmada.apiserver.schema.openapi import from_openapi, no_references
from karmada.apiserver.schema.pruning import pruner
from karmada.apiserver.schema.validation import validate

JSONObject = dict[str, Any]
_OF_RESOURCES = ("apiVersion", "kind", "metadata")
_RESOURCE = "x-kubernetes-embedded-resource"


def validate_defaults(schema: JSONObject, path: str, root: bool = True) -> list[FieldError]:
    """What is wrong with the defaults in a structural schema: they are valid, and hold nothing that would be pruned."""
    resource = root or bool(schema.get(_RESOURCE))
    errors = _default({**schema, _RESOURCE: True} if resource else schema, path) if "default" in schema else []
    for name, child in sorted((schema.get("properties") or {}).items()):
        place = f"{path}.properties[{name}]"
        if not resource or name not in _OF_RESOURCES:
            errors += validate_defaults(child, place, root=False)
            continue
        for where, value, obj in _defaults_below(child, place, name):
            if root:
                errors.append(forbidden(f"{where}.default", f"must not be set in top-level {name}"))
            else:
                errors += _of_metadata(where, value, obj)
    if isinstance(schema.get("items"), dict):
        errors += validate_defaults(schema["items"], f"{path}.items", root=False)
    return errors


def _default(schema: JSONObject, path: str) -> list[FieldError]:
    """What is wrong with the default of one schema."""
    tree = _tree({**schema, "default": None})
    value = deepcopy(schema["default"])
    place = f"{path}.default"
    wrong, inside = _resources(tree, value, path)
    errors: list[FieldError] = []
    if not wrong and pruner(tree)(value):
        errors.append(invalid(place, schema["default"], "must not have unknown fields"))
    return errors + validate(tree, schema["default"], base=place) + inside


def _tree(schema: JSONObject) -> Schema:
    tree = from_openapi(_of_any_scalars(schema), no_references)
    complete_embedded(tree)
    return tree


def _of_any_scalars(schema: Any) -> Any:
    """A schema whose values that are numbers or texts may be anything: so a stock server judges defaults."""
    if isinstance(schema, dict):
        return {key: _of_any_scalars(part) for key, part in schema.items() if key != "x-kubernetes-int-or-string"}
    return [_of_any_scalars(part) for part in schema] if isinstance(schema, list) else schema


def _resources(tree: Schema, value: Any, path: str) -> tuple[bool, list[FieldError]]:
    """Whether objects in a default, or the default, cannot be read, and what is wrong with them.

    What their metadata does not know is removed.
    """
    outer = Schema(type="object", properties={"default": tree})
    given = {"default": value}
    wrong = malformed(outer, given, path)
    return (True, [wrong]) if wrong is not None else (False, validate_embedded(outer, given, MISSING, path))


def _defaults_below(schema: JSONObject, path: str, name: str) -> Iterator[tuple[str, Any, JSONObject]]:
    """The defaults in what every object has: where they are, and what becomes of an object without anything else."""
    if "default" in schema:
        yield path, schema["default"], {name: schema["default"]}
    for key, child in sorted((schema.get("properties") or {}).items()):
        if "default" in child:
            yield f"{path}.properties[{key}]", child["default"], {name: {key: child["default"]}}


def _of_metadata(where: str, value: Any, obj: JSONObject) -> list[FieldError]:
    tree = _tree({"type": "object", _RESOURCE: True})
    _, found = _resources(tree, deepcopy({"apiVersion": "v1", "kind": "Kind", **obj}), "")
    texts = [f"{error.field.removeprefix('default.')}: {error.message}" for error in found]
    return [invalid(f"{where}.default", value, f"must result in valid metadata: {text}") for text in texts]
