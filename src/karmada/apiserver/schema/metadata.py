"""Validation of object metadata: names, labels, annotations, owners, finalizers."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, forbidden, invalid, required

JSONObject = dict[str, Any]
NameRule = Callable[[str], list[str]]
_CHECKS_OF_UPDATES = 3
"""How often the reference looks at the same labels, annotations and owners of an update; each look is a cause."""
_ANNOTATIONS_LIMIT = 256 * 1024
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes", "customresourcecleanup.apiextensions.k8s.io")


def path_segment(text: str) -> list[str]:
    """What every name must satisfy: it becomes a part of a path."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{letter}'" for letter in "/%" if letter in text]


def in_characters(problems: list[str]) -> list[str]:
    """What is wrong with a DNS name as the server says it, which counts characters where others count bytes."""
    return [problem.replace(" bytes", " characters") for problem in problems]


def validate_metadata(
    obj: JSONObject, old: JSONObject | None, rule: NameRule = name_rules.dns_subdomain, namespaced: bool = True
) -> list[FieldError]:
    """What is wrong with the metadata of a new object, or of an update; `rule` says what names are allowed.

    What an update leaves alone was judged when it came.
    """
    metadata = obj.get("metadata") or {}
    before = (old.get("metadata") or {}) if old is not None else {}
    errors = [] if old is not None else _names(metadata, rule, namespaced)
    marks: list[FieldError] = []
    if (found := metadata.get("labels")) and found != before.get("labels"):
        marks += labels(found, "metadata.labels")
    if (found := metadata.get("annotations")) and found != before.get("annotations"):
        marks += annotations(found, "metadata.annotations")
    if (found := metadata.get("ownerReferences")) and found != before.get("ownerReferences"):
        marks += _owners(found)
    if marks:
        errors += marks * (1 if old is None else _CHECKS_OF_UPDATES)
    if (found := metadata.get("finalizers")) and found != before.get("finalizers"):
        errors += _finalizers(found)
    if found := metadata.get("managedFields"):
        errors += _managed_fields(found)
    return errors


def _names(metadata: JSONObject, rule: NameRule, namespaced: bool) -> list[FieldError]:
    name = metadata.get("name") or ""
    prefix = metadata.get("generateName") or ""
    errors = []
    if prefix:
        shown = prefix[:-1] + "a" if prefix.endswith("-") else prefix
        errors += [invalid("metadata.generateName", prefix, problem) for problem in in_characters(rule(shown))]
    if not name:
        errors.append(required("metadata.name", "name or generateName is required"))
    else:
        errors += [invalid("metadata.name", name, problem) for problem in in_characters(rule(name))]
    if namespaced:
        namespace = metadata.get("namespace") or ""
        if not namespace:
            errors.append(required("metadata.namespace"))
        else:
            errors += [invalid("metadata.namespace", namespace, why) for why in name_rules.dns_label(namespace)]
    elif metadata.get("namespace"):
        errors.append(forbidden("metadata.namespace", "not allowed on this type"))
    return errors


@lru_cache(maxsize=8192)
def key_problems(key: str) -> tuple[str, ...]:
    """What is wrong with a label key. The same few keys come with every object, hence the cache."""
    return tuple(name_rules.label_key(key))


def labels(found: Any, path: str) -> list[FieldError]:
    """What is wrong with labels."""
    errors: list[FieldError] = []
    for key, value in (found or {}).items():
        if problems := key_problems(key):
            errors += [invalid(path, key, problem) for problem in problems]
        errors += [invalid(path, value, problem) for problem in name_rules.label_value(value)]
    return errors


def annotations(found: Any, path: str) -> list[FieldError]:
    """What is wrong with annotations."""
    errors: list[FieldError] = []
    total = 0
    for key, value in (found or {}).items():
        if problems := key_problems(key.lower()):
            errors += [invalid(path, key, problem) for problem in problems]
        total += _size(key) + _size(value)
    if total > _ANNOTATIONS_LIMIT:
        errors.append(
            FieldError("FieldValueTooLong", path, f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes")
        )
    return errors


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def _owners(owners: list[JSONObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = ""
    path = "metadata.ownerReferences"
    for owner in owners:
        api_version = owner.get("apiVersion") or ""
        if not api_version or ("/" in api_version and not all(api_version.partition("/")[::2])):
            errors.append(invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
        errors += [
            invalid(f"{path}.{field}", "", f"{field} must not be empty")
            for field in ("kind", "name", "uid")
            if not owner.get(field)
        ]
        if owner.get("controller"):
            if controller:
                where = f"{controller} and {owner.get('name')}"
                text = f'Only one reference can have Controller set to true. Found "true" in references for {where}'
                errors.append(invalid(path, owners, text))
            controller = owner.get("name") or "?"
    return errors


def _finalizers(finalizers: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    path = "metadata.finalizers"
    for finalizer in finalizers:
        problems = name_rules.label_key(finalizer)
        errors += [invalid(path, finalizer, problem) for problem in problems]
        if not problems and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            errors.append(
                invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")
            )
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        errors.append(invalid(path, finalizers, text))
    return errors


def _managed_fields(entries: list[JSONObject]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, entry in enumerate(entries):
        path = f"metadata.managedFields[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            errors.append(invalid(f"{path}.operation", entry.get("operation") or "", "must be `Apply` or `Update`"))
        if entry.get("fieldsType") not in ("FieldsV1", None, ""):
            errors.append(invalid(f"{path}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
    return errors
