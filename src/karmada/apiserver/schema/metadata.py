"""Validation of object metadata: names, labels, annotations, owners, finalizers."""

from collections.abc import Callable
from typing import Any

from karmada.api import name_rules
from karmada.api.caching import text_cache
from karmada.api.field_errors import FieldError, forbidden, invalid, required, too_many
from karmada.api.meta import ANNOTATIONS_LIMIT
from karmada.apiserver.schema.update_checks import CUSTOM, looks_at

JSONObject = dict[str, Any]
NameRule = Callable[[str], list[str]]
_MAX_QUOTED = 16
"""How many complaints about references to owners quote all of them."""
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes", "customresourcecleanup.apiextensions.k8s.io")


def path_segment(text: str) -> list[str]:
    """What every name must satisfy: it becomes a part of a path."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{letter}'" for letter in "/%" if letter in text]


def in_characters(problems: list[str]) -> list[str]:
    """What is wrong with a DNS name as the server says it, which counts characters where others count bytes."""
    return [problem.replace(" bytes", " characters") for problem in problems]


def kind_errors(field: str, kind: str) -> list[FieldError]:
    """What is wrong with the name of a kind."""
    problems = in_characters(name_rules.dns_1035_label(kind.lower()))
    if not problems:
        return []
    return [invalid(field, kind, f"may have mixed case, but should otherwise match: {', '.join(problems)}")]


def validate_metadata(
    obj: JSONObject,
    old: JSONObject | None,
    rule: NameRule = name_rules.dns_subdomain,
    namespaced: bool = True,
    custom: bool = False,
    status: bool = False,
) -> list[FieldError]:
    """What is wrong with the metadata of a new object, or of an update; `rule` says what names are allowed.

    What an update leaves alone was judged when it came. Finalizers of custom objects may have any name.
    """
    metadata = obj.get("metadata") or {}
    before = (old.get("metadata") or {}) if old is not None else {}
    errors = [] if old is not None else _names(metadata, rule, namespaced)
    marks: list[FieldError] = []
    if (found := metadata.get("labels")) and found != before.get("labels"):
        marks += labels(found, "metadata.labels")
    if (found := metadata.get("annotations")) and found != before.get("annotations"):
        marks += annotations(found, "metadata.annotations")
    if (found := metadata.get("ownerReferences")) and found != (had := before.get("ownerReferences")):
        marks += owners(found, "metadata.ownerReferences", len(had or ()))
    ends: list[FieldError] = []
    unqualified: list[FieldError] = []
    if (found := metadata.get("finalizers")) and found != (had := before.get("finalizers")):
        ends = finalizers(found, "metadata.finalizers", len(had or ()))
        unqualified = _unqualified(found)
    prefix = metadata.get("generateName") or ""
    prefix = prefix if old is not None and prefix != before.get("generateName") else ""
    if marks or ends or unqualified or prefix:
        group = (obj.get("apiVersion") or "").rpartition("/")[0]
        if old is None:
            errors += marks + ends + ([] if custom or group in _ANY_FINALIZER else unqualified)
        else:
            errors += _prefix(prefix, path_segment) + marks + ends + marks
            looks = CUSTOM if custom else looks_at(group, obj.get("kind") or "")
            for look in looks.status if status else looks.main:
                errors += (_prefix(prefix, rule) if look in "fF" else []) + marks + ([] if look in "uU" else ends)
                errors += unqualified if look.isupper() else []
    if found := metadata.get("managedFields"):
        errors += managed_fields(found, "metadata.managedFields")
    return errors


def _names(metadata: JSONObject, rule: NameRule, namespaced: bool) -> list[FieldError]:
    name = metadata.get("name") or ""
    prefix = metadata.get("generateName") or ""
    errors = []
    errors += _prefix(prefix, rule)
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


def _prefix(prefix: str, rule: NameRule) -> list[FieldError]:
    """What is wrong with the beginning of a name."""
    if not prefix:
        return []
    shown = prefix[:-1] + "a" if prefix.endswith("-") else prefix
    problems = [*path_segment(shown), *in_characters(rule(shown))]
    return [invalid("metadata.generateName", prefix, problem) for problem in dict.fromkeys(problems)]


@text_cache(8192)
def key_problems(key: str) -> tuple[str, ...]:
    """What is wrong with a label key. The same few keys come with every object, hence the cache."""
    return tuple(name_rules.label_key(key))


MOST_OWNERS = 2000
"""References to owners that an object may have: each is judged here, and followed by the garbage collector."""
MOST_FINALIZERS = 2000
"""Finalizers that an object may have: each is judged here, and counted where it holds a namespace back."""
_REMEMBERED = 8192
_good_labels: set[str] = set()
_good_annotations: set[str] = set()
"""Keys that were found to be good: objects of a kind come with the same few, which are then one question."""


def _remember(key: str, good: set[str]) -> None:
    """Note a good key; when there are too many, those that still come are found again."""
    if len(good) >= _REMEMBERED:
        good.clear()
    good.add(key)


def labels(found: Any, path: str) -> list[FieldError]:
    """What is wrong with labels."""
    errors: list[FieldError] = []
    found = found or {}
    good = _good_labels.issuperset(found)
    for key, value in found.items():
        if not good:
            if problems := key_problems(key):
                errors += [invalid(path, key, problem) for problem in problems]
            else:
                _remember(key, _good_labels)
        if wrong := name_rules.label_value(value):
            errors += [invalid(path, value, problem) for problem in wrong]
    return errors


def annotations(found: Any, path: str) -> list[FieldError]:
    """What is wrong with annotations."""
    errors: list[FieldError] = []
    found = found or {}
    if not _good_annotations.issuperset(found):
        for key in found:
            if problems := key_problems(key.lower()):
                errors += [invalid(path, key, problem) for problem in problems]
            else:
                _remember(key, _good_annotations)
    if _size("".join((*found, *found.values()))) > ANNOTATIONS_LIMIT:
        errors.append(
            FieldError("FieldValueTooLong", path, f"Too long: may not be more than {ANNOTATIONS_LIMIT} bytes")
        )
    return errors


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def owners(found: list[JSONObject], path: str, before: int = 0) -> list[FieldError]:
    """What is wrong with references to owners. An object that had too many of them before may keep as many."""
    if len(found) > max(MOST_OWNERS, before):
        return [too_many(path, len(found), MOST_OWNERS)]
    errors: list[FieldError] = []
    controller = ""
    for owner in found:
        group, _, version = (owner.get("apiVersion") or "").rpartition("/")
        if not version or "/" in group:
            errors.append(invalid(f"{path}.apiVersion", owner.get("apiVersion") or "", "version must not be empty"))
        errors += [
            invalid(f"{path}.{field}", "", "must not be empty")
            for field in ("kind", "name", "uid")
            if not owner.get(field)
        ]
        if (group, version, owner.get("kind")) == ("", "v1", "Event"):
            errors.append(invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"))
        if owner.get("controller"):
            name = f"{owner.get('kind') or ''}/{owner.get('name') or ''}"
            if controller and len(errors) < _MAX_QUOTED:
                where = f"{controller} and {name}"
                text = f'Only one reference can have Controller set to true. Found "true" in references for {where}'
                errors.append(invalid(path, found, text))
            controller = name
    return errors


def finalizers(found: list[str], path: str, before: int = 0) -> list[FieldError]:
    """What is wrong with finalizers of any object. One that had too many of them before may keep as many."""
    if len(found) > max(MOST_FINALIZERS, before):
        return [too_many(path, len(found), MOST_FINALIZERS)]
    errors = [invalid(path, finalizer, why) for finalizer in found for why in key_problems(finalizer)]
    if "orphan" in found and "foregroundDeletion" in found:
        errors.append(invalid(path, found, "finalizer orphan and foregroundDeletion cannot be both set"))
    return errors


_ANY_FINALIZER = ("admissionregistration.k8s.io", "coordination.k8s.io", "node.k8s.io")
"""Groups whose finalizers need no domain: their validation is that of custom objects."""


def _unqualified(found: list[str]) -> list[FieldError]:
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", finalizer, text)
        for index, finalizer in enumerate(found)
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def managed_fields(entries: list[JSONObject], path: str) -> list[FieldError]:
    """What is wrong with entries about who owns which fields."""
    errors: list[FieldError] = []
    for index, entry in enumerate(entries):
        place = f"{path}[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            errors.append(invalid(f"{place}.operation", entry.get("operation") or "", "must be `Apply` or `Update`"))
        if entry.get("fieldsType") not in ("FieldsV1", None, ""):
            errors.append(invalid(f"{place}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
    return errors
