"""Rules of storage: PersistentVolumes and claims, storage classes, attachments and CSI objects."""

from typing import Any

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    immutable,
    one_of,
    qualified_name,
    quantity_of,
    selector,
    strategy,
    unsupported,
)
from karmada.apiserver.builtin.strategies.internal_form import claim_spec, difference
from karmada.apiserver.builtin.strategies.pod_validation import nfs_errors
from karmada.apiserver.builtin.strategies.pods import default_volume_source

_ACCESS = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM = ("Delete", "Recycle", "Retain")
_NO_SOURCE = frozenset(
    (
        "accessModes",
        "capacity",
        "claimRef",
        "mountOptions",
        "nodeAffinity",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "volumeAttributesClassName",
        "volumeMode",
    )
)
_CLAIM_FIXED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def _default_claim(obj: JSONObject) -> None:
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj["status"].setdefault("phase", "Pending")
    _twin_sources(obj["spec"])


def _twin_sources(spec: JSONObject) -> None:
    """`dataSource` and `dataSourceRef` say the same to clients of different ages."""
    ref, source = spec.get("dataSourceRef"), spec.get("dataSource")
    if source and not ref:
        spec["dataSourceRef"] = {**source}
    elif ref and not source and not ref.get("namespace"):
        spec["dataSource"] = {key: value for key, value in ref.items() if key != "namespace"}


def _start_pending(obj: JSONObject) -> None:
    obj["status"] = {"phase": "Pending"}


def _access_modes(modes: list[str], path: str, why: str = "") -> Errors:
    if not modes:
        return [required(path, why)]
    errors = [unsupported(path, mode, _ACCESS) for mode in modes if mode not in _ACCESS]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def claim_spec_errors(spec: JSONObject, path: str) -> Errors:
    """What is wrong with a claim's spec."""
    errors = _access_modes(spec.get("accessModes") or [], f"{path}.accessModes", "at least 1 access mode is required")
    storage = (spec["resources"].get("requests") or {}).get("storage")
    place = f"{path}.resources[storage]"
    if storage is None:
        errors.append(required(place))
    elif quantity_of(storage).unscaled <= 0:
        errors.append(invalid(place, storage, "must be greater than zero"))
    if spec.get("storageClassName"):
        errors += dns_subdomain(f"{path}.storageClassName", spec["storageClassName"])
    errors += one_of(f"{path}.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))
    return errors + selector(f"{path}.selector", spec.get("selector"))


def _validate_claim(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors = claim_spec_errors(obj["spec"], "spec")
    if old is None:
        return errors
    spec, before = obj["spec"], old["spec"]
    binding = not before.get("volumeName")
    if _fixed_claim(spec, binding) != _fixed_claim(before, binding):
        kept = {**spec, "resources": before["resources"]}
        errors.append(forbidden("spec", f"{_CLAIM_FIXED}\n{difference(claim_spec(before), claim_spec(kept))}"))
    wanted, had = _storage(spec), _storage(before)
    if wanted and had and quantity_of(wanted) < quantity_of(had):
        text = "field can not be less than previous value"
        errors.append(forbidden("spec.resources.requests.storage", text))
    return errors


def _storage(spec: JSONObject) -> Any:
    return (spec["resources"].get("requests") or {}).get("storage")


def _fixed_claim(spec: JSONObject, binding: bool) -> JSONObject:
    """What may not change; a claim that is not bound yet may be given its volume."""
    free = {"resources", "volumeAttributesClassName", *(["volumeName"] if binding else [])}
    return {key: value for key, value in spec.items() if key not in free}


def _default_volume(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    obj["status"].setdefault("phase", "Pending")
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")
    default_volume_source(spec)


def _validate_volume(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = _access_modes(spec.get("accessModes") or [], "spec.accessModes")
    capacity = spec.get("capacity") or {}
    if not capacity:
        errors.append(required("spec.capacity"))
    if list(capacity) != ["storage"]:
        errors.append(unsupported("spec.capacity", capacity or None, ("storage",)))
    for name, amount in capacity.items():
        if quantity_of(amount).unscaled <= 0:
            errors.append(invalid(f"spec.capacity[{name}]", amount, "must be greater than zero"))
    sources = [field for field in spec if field not in _NO_SOURCE]
    if not sources:
        errors.append(required("spec", "must specify a volume type"))
    errors += [forbidden(f"spec.{field}", "may not specify more than 1 volume type") for field in sources[1:]]
    errors += one_of("spec.persistentVolumeReclaimPolicy", spec["persistentVolumeReclaimPolicy"], _RECLAIM)
    errors += one_of("spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))
    if "nfs" in spec:
        errors += nfs_errors(spec["nfs"], "spec.nfs")
    if "hostPath" in spec and not spec["hostPath"].get("path"):
        errors.append(required("spec.hostPath.path"))
    if "local" in spec and not spec.get("nodeAffinity"):
        errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    if old is not None:
        new_source = {field: spec.get(field) for field in sources}
        if any(old["spec"].get(field) != value for field, value in new_source.items()):
            text = "spec.persistentvolumesource is immutable after creation"
            errors.append(forbidden("spec.persistentvolumesource", text))
        errors += immutable("spec.volumeMode", spec.get("volumeMode"), old["spec"].get("volumeMode"))
    return errors


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
    if old is not None:
        if obj.get("parameters") != old.get("parameters"):
            errors.append(forbidden("parameters", "updates to parameters are forbidden."))
        if provisioner != old.get("provisioner"):
            errors.append(forbidden("provisioner", "updates to provisioner are forbidden."))
        if obj["reclaimPolicy"] != old.get("reclaimPolicy"):
            errors.append(forbidden("reclaimPolicy", "updates to reclaimPolicy are forbidden."))
        errors += immutable("volumeBindingMode", obj["volumeBindingMode"], old.get("volumeBindingMode"))
    return errors


def _validate_attachment(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors: Errors = []
    attacher = spec.get("attacher") or ""
    if not attacher:
        errors.append(required("spec.attacher", attacher))
    else:
        errors += dns_subdomain("spec.attacher", attacher)
    source = spec.get("source") or {}
    if not source.get("persistentVolumeName") and not source.get("inlineVolumeSpec"):
        text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        errors.append(required("spec.source", text))
    if source.get("persistentVolumeName"):
        errors += dns_subdomain("spec.source.persistentVolumeName", source["persistentVolumeName"])
    node = spec.get("nodeName")
    errors += dns_subdomain("spec.nodeName", node) if node else [required("spec.nodeName", "")]
    if old is not None:
        errors += immutable("spec", spec, old["spec"])
    return errors


def _validate_attributes_class(obj: JSONObject, old: JSONObject | None) -> Errors:
    driver = obj.get("driverName") or ""
    errors = dns_subdomain("driverName", driver.lower()) if driver else [required("driverName", "")]
    if not obj.get("parameters"):
        errors.append(required("parameters", "must contain at least one key/value pair"))
    if old is not None:
        if driver != old.get("driverName"):
            errors.append(forbidden("driverName", "updates to driverName are forbidden."))
        if obj.get("parameters") != old.get("parameters"):
            errors.append(forbidden("parameters", "updates to parameters are forbidden."))
    return errors


def _default_driver(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("storageCapacity", False)
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)


def _validate_capacity(obj: JSONObject, old: JSONObject | None) -> Errors:
    name = obj.get("storageClassName") or ""
    errors = dns_subdomain("storageClassName", name) if name else [required("storageClassName")]
    if name and len(name) > 253:
        errors += dns_label("storageClassName", name)
    errors += selector("nodeTopology", obj.get("nodeTopology"))
    if old is not None:
        errors += immutable("storageClassName", name, old.get("storageClassName"))
        errors += immutable("nodeTopology", obj.get("nodeTopology"), old.get("nodeTopology"))
    return errors


PERSISTENT_VOLUME_CLAIM = strategy(_default_claim, _validate_claim, prepare_create=_start_pending)
PERSISTENT_VOLUME = strategy(_default_volume, _validate_volume, namespaced=False, prepare_create=_start_pending)
STORAGE_CLASS = strategy(_default_class, _validate_class, namespaced=False)
VOLUME_ATTACHMENT = strategy(validate=_validate_attachment, namespaced=False)
VOLUME_ATTRIBUTES_CLASS = strategy(validate=_validate_attributes_class, namespaced=False)
CSI_DRIVER = strategy(_default_driver, namespaced=False)
CSI_NODE = strategy(namespaced=False)
CSI_STORAGE_CAPACITY = strategy(validate=_validate_capacity)
