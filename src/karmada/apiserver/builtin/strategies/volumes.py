"""Rules of PersistentVolumeClaims and storage classes."""

from typing import Any

from karmada.api.field_errors import duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.claim_specs import claim_spec_errors
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    immutable,
    one_of,
    qualified_name,
    quantity_of,
    repeated,
    strategy,
    unsupported,
)
from karmada.apiserver.builtin.strategies.internal_form import claim_spec, difference
from karmada.apiserver.builtin.strategies.persistent_volumes import start_pending
from karmada.apiserver.builtin.strategies.pod_warnings import claim_warnings

_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
_CLAIM_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def _default_claim(obj: JSONObject) -> None:
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj["status"].setdefault("phase", "Pending")


def _settle_sources(spec: JSONObject, before: JSONObject) -> None:
    """`dataSource` and `dataSourceRef` say the same to clients of different ages; the older knows two kinds only.

    Sources in other namespaces are behind a feature gate that is off: who asks for one gets an empty volume.
    """
    if (spec.get("dataSourceRef") or {}).get("namespace") and before.get("dataSourceRef") is None:
        del spec["dataSourceRef"]
    ref, source = spec.get("dataSourceRef"), spec.get("dataSource")
    in_use = before.get("dataSource") is not None or before.get("dataSourceRef") is not None
    known = source is None or (source.get("apiGroup") or "", source.get("kind")) in _SOURCES
    if ref is None and not in_use and not known:
        del spec["dataSource"]
        return
    if source is not None and ref is None:
        spec["dataSourceRef"] = {**source}
    elif ref is not None and source is None and not ref.get("namespace"):
        spec["dataSource"] = {key: value for key, value in ref.items() if key != "namespace"}


def _start_claim(obj: JSONObject) -> None:
    start_pending(obj)
    _settle_sources(obj["spec"], {})


def _update_claim(obj: JSONObject, old: JSONObject) -> None:
    _settle_sources(obj["spec"], old["spec"])


def _validate_claim(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors = claim_spec_errors(obj["spec"], "spec")
    if old is None:
        return errors
    spec, before = obj["spec"], old["spec"]
    bound = (obj.get("status") or {}).get("phase") == "Bound"
    fixed, kept = _fixed_claim(spec, before, bound), _fixed_claim(before, before, bound)
    if not before.get("volumeName"):  # a claim that is not bound yet may be given its volume
        kept = {**kept, "volumeName": spec.get("volumeName")}
        fixed = {**fixed, "volumeName": spec.get("volumeName")}
    if fixed != kept:
        errors.append(forbidden("spec", f"{_CLAIM_FIXED}\n{difference(claim_spec(kept), claim_spec(fixed))}"))
    wanted, had = quantity_of(_storage(spec) or "0"), quantity_of(_storage(before) or "0")
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage") or "0"
    if wanted < had and wanted <= quantity_of(capacity):
        text = "field can not be less than status.capacity"
        errors.append(forbidden("spec.resources.requests.storage", text))
    return errors + immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))


def _storage(spec: JSONObject) -> Any:
    return (spec["resources"].get("requests") or {}).get("storage")


def _fixed_claim(spec: JSONObject, before: JSONObject, bound: bool) -> JSONObject:
    """A spec without what may change: size and attributes of a bound claim."""
    if not bound:
        return spec
    resources = {**spec["resources"]}
    if resources.get("requests") is not None:
        resources["requests"] = {**resources["requests"], "storage": _storage(before)}
    return {
        **{key: value for key, value in spec.items() if key != "volumeAttributesClassName"},
        "resources": resources,
    }


def _default_class(obj: JSONObject) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _validate_class(obj: JSONObject, old: JSONObject | None) -> Errors:
    provisioner = obj.get("provisioner") or ""
    errors: Errors = []
    if not provisioner:
        errors.append(required("provisioner", provisioner))
    else:
        errors += qualified_name("provisioner", provisioner.lower())
    errors += one_of("reclaimPolicy", obj["reclaimPolicy"], ("Delete", "Retain"))
    errors += one_of("volumeBindingMode", obj["volumeBindingMode"], ("Immediate", "WaitForFirstConsumer"))
    errors += _topologies(obj.get("allowedTopologies") or [])
    if old is not None:
        errors += immutable("parameters", obj.get("parameters") or {}, old.get("parameters") or {})
        errors += immutable("provisioner", provisioner, old.get("provisioner"))
        errors += immutable("reclaimPolicy", obj["reclaimPolicy"], old.get("reclaimPolicy"))
        errors += immutable("volumeBindingMode", obj["volumeBindingMode"], old.get("volumeBindingMode"))
    return errors


def _topologies(terms: list[JSONObject]) -> Errors:
    """Where volumes may be: terms differ, and so do the keys of one and the values of a key."""
    errors: Errors = []
    seen: set[frozenset[tuple[str, frozenset[str]]]] = {frozenset()}
    for index, term in enumerate(terms):
        path = f"allowedTopologies[{index}].matchLabelExpressions"
        found: dict[str, frozenset[str]] = {}
        for at, wanted in enumerate(term.get("matchLabelExpressions") or ()):
            key, values = wanted.get("key") or "", wanted.get("values") or []
            if not values:
                errors.append(required(f"{path}[{at}].values"))
            errors += [duplicate(f"{path}[{at}].values[{place}]", values[place]) for place in repeated(values)]
            errors += qualified_name(f"{path}[{at}].key", key)
            if key in found:
                errors.append(duplicate(f"{path}[{at}].key", key))
            found[key] = frozenset(values)
        term_values = frozenset(found.items())
        if term_values in seen:
            errors.append(duplicate(path, ""))
        seen.add(term_values)
    return errors


_RESIZING = (
    *("ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible"),
    "NodeResizePending",
)


def _validate_claim_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    status = obj.get("status") or {}
    errors: Errors = []
    for name, amount in (status.get("capacity") or {}).items():
        errors += _amount(f"status.capacity[{name}]", amount)
    field = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        errors += _resized(field, name)
        if state not in _RESIZING:
            errors.append(unsupported(field, name, _RESIZING))
    field = "status.allocatedResources"
    for name, amount in (status.get("allocatedResources") or {}).items():
        errors += _resized(field, name) or _amount(f"{field}[{name}]", amount)
    return errors


def _resized(field: str, name: str) -> Errors:
    """Of resources that Kubernetes knows, only storage can be resized."""
    errors = qualified_name(field, name)
    if not errors and name != "storage" and ("/" not in name or "kubernetes.io/" in name):
        errors.append(unsupported(field, name, ("storage",)))
    return errors


def _amount(field: str, amount: str) -> Errors:
    value = quantity_of(amount).value()
    return [invalid(field, value, "must be a valid resource quantity")] if value < 0 else []


_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def _claim_warnings(obj: JSONObject, old: JSONObject | None) -> list[str]:
    text = 'deprecated since v1.8; use "storageClassName" attribute instead'
    beta = _BETA_CLASS in (obj["metadata"].get("annotations") or {})
    texts = [f"metadata.annotations[{_BETA_CLASS}]: {text}"] if beta else []
    return texts + claim_warnings(obj["spec"], "spec")


PERSISTENT_VOLUME_CLAIM = strategy(
    _default_claim,
    _validate_claim,
    prepare_create=_start_claim,
    prepare_update=_update_claim,
    validate_status=_validate_claim_status,
    warnings=_claim_warnings,
)
STORAGE_CLASS = strategy(_default_class, _validate_class, namespaced=False)
