"""What admission says about names and about updates of metadata, beyond what the API server has judged before."""

from collections.abc import Callable

from karmada.api.field_errors import FieldError, forbidden, invalid, required
from karmada.api.meta import ObjectMeta
from karmada.api.name_rules import dns_label
from karmada.webhook.model import JSONObject

_FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_TEXTS = frozenset({"name", "namespace", "uid"})


def name_errors(metadata: ObjectMeta, rule: Callable[[str], list[str]]) -> list[FieldError]:
    """What is wrong with the names of a namespaced object; `rule` is that of its kind."""
    errors: list[FieldError] = []
    if metadata.generate_name:
        prefix = metadata.generate_name
        shown = prefix[:-1] + "a" if prefix.endswith("-") else prefix
        errors += [invalid("metadata.generateName", prefix, why) for why in rule(shown)]
    if metadata.name:
        errors += [invalid("metadata.name", metadata.name, why) for why in rule(metadata.name)]
    else:
        errors.append(required("metadata.name", "name or generateName is required"))
    if metadata.namespace:
        errors += [invalid("metadata.namespace", metadata.namespace, why) for why in dns_label(metadata.namespace)]
    else:
        errors.append(required("metadata.namespace"))
    return errors


def update_errors(new: JSONObject, old: JSONObject) -> list[FieldError]:
    """What an update may not change or leave out."""
    after, before = new.get("metadata") or {}, old.get("metadata") or {}
    errors: list[FieldError] = []
    if before.get("deletionTimestamp"):
        added = set(after.get("finalizers") or ()) - set(before.get("finalizers") or ())
        if added:
            shown = ", ".join(f'"{finalizer}"' for finalizer in sorted(added))
            detail = "no new finalizers can be added if the object is being deleted, found new finalizers "
            errors.append(forbidden("metadata.finalizers", f"{detail}[]string{{{shown}}}"))
    if not after.get("resourceVersion"):
        errors.append(invalid("metadata.resourceVersion", "", "must be specified for an update"))
    generation = after.get("generation") or 0
    if generation < (before.get("generation") or 0):
        errors.append(invalid("metadata.generation", generation, "must not be decremented"))
    for field in _FIXED:
        zero = "" if field in _TEXTS else None
        value = after.get(field) or zero
        if value != (before.get(field) or zero):
            errors.append(invalid(f"metadata.{field}", value, "field is immutable"))
    return errors
