"""Objects inside of custom objects, where a schema says so: they have a type and metadata like any other.

An embedded object that an update leaves alone was judged when it came.
"""

from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, invalid, required
from karmada.apiserver.schema import metadata
from karmada.apiserver.schema.embedded import children
from karmada.apiserver.schema.model import MISSING, Schema

JSONObject = dict[str, Any]


def validate_embedded(schema: Schema, value: Any, old: Any, path: str = "") -> list[FieldError]:
    """What is wrong with the objects embedded in a value of a schema; the value itself is none."""
    errors: list[FieldError] = []
    for child, key, item, place in children(schema, value, path):
        before = _at(old, key)
        if item == before:
            continue
        if child.embedded and isinstance(item, dict):
            errors += _object(item, place)
        errors += validate_embedded(child, item, before, place)
    return errors


def _at(value: Any, key: str | int) -> Any:
    if isinstance(value, dict):
        return value.get(key, MISSING)
    return value[key] if isinstance(value, list) and isinstance(key, int) and key < len(value) else MISSING


def _object(obj: JSONObject, path: str) -> list[FieldError]:
    errors = _text(obj, "apiVersion", path) + _text(obj, "kind", path)
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if isinstance(version, str) and version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    if isinstance(kind, str) and kind:
        errors += metadata.kind_errors(f"{path}.kind", kind)
    return errors + _metadata(obj.get("metadata") or {}, f"{path}.metadata")


def _text(obj: JSONObject, field: str, path: str) -> list[FieldError]:
    if field not in obj:
        return [required(f"{path}.{field}")]
    return [invalid(f"{path}.{field}", "", "must not be empty")] if obj[field] == "" else []


def _metadata(found: JSONObject, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("generateName", "name"):
        text = found.get(field) or ""
        errors += [invalid(f"{path}.{field}", text, problem) for problem in metadata.path_segment(text)]
    if namespace := found.get("namespace"):
        problems = name_rules.dns_label(namespace)
        errors += [invalid(f"{path}.namespace", namespace, problem) for problem in problems]
    if (generation := found.get("generation") or 0) < 0:
        errors.append(invalid(f"{path}.generation", generation, "must be greater than or equal to 0"))
    errors += metadata.labels(found.get("labels"), f"{path}.labels")
    errors += metadata.annotations(found.get("annotations"), f"{path}.annotations")
    errors += metadata.owners(found.get("ownerReferences") or [], f"{path}.ownerReferences")
    errors += metadata.finalizers(found.get("finalizers") or [], f"{path}.finalizers")
    return errors + metadata.managed_fields(found.get("managedFields") or [], f"{path}.managedFields")
