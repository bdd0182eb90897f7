"""Rules of what CSI drivers write: drivers, nodes, capacities, attachments and classes of attributes."""

from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import FieldError, duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.claim_specs import NO_SOURCE, access_modes
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    immutable,
    non_negative,
    one_of,
    qualified_name,
    quantity_of,
    selector,
    strategy,
)
from karmada.apiserver.schema.metadata import in_characters

_SHORTEST, _LONGEST = 600, 1 << 32
"""Seconds that a token of a driver may be valid."""


def driver_name(field: str, name: str) -> Errors:
    """The name of a driver: a DNS name in any case."""
    if not name:
        return [required(field)]
    errors: Errors = []
    if len(name) > 63:
        errors.append(FieldError("FieldValueTooLong", field, "Too long: may not be more than 63 bytes"))
    return errors + [invalid(field, name, why) for why in in_characters(name_rules.dns_subdomain(name.lower()))]


def _validate_attachment(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors = driver_name("spec.attacher", spec.get("attacher") or "")
    source = spec.get("source") or {}
    volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if volume is None and inline is None:
        text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        errors.append(required("spec.source", text))
    elif volume is not None and inline is not None:
        text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        errors.append(forbidden("spec.source", text))
    elif volume is not None:
        if not volume:
            errors.append(required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"))
        errors += dns_subdomain("spec.source.persistentVolumeName", volume)
    else:
        errors += _inline_volume(inline or {}, "spec.source.inlineVolumeSpec")
    errors += dns_subdomain("spec.nodeName", spec.get("nodeName") or "")
    if old is not None:
        errors += immutable("spec", spec, old["spec"])
    return errors


def _inline_volume(volume: JSONObject, path: str) -> Errors:
    """A volume without an object of its own: only what is needed to attach it."""
    text = "may not be specified in the context of inline volumes"
    alone = ("claimRef", "capacity", "persistentVolumeReclaimPolicy", "storageClassName", "volumeMode")
    errors = [forbidden(f"{path}.{field}", text) for field in alone if volume.get(field)]
    errors += access_modes(volume.get("accessModes") or [], f"{path}.accessModes")
    if volume.get("csi") is None:
        errors.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    if not any(field not in NO_SOURCE for field in volume):
        errors.append(required(path, "must specify a volume type"))
    return errors


def _validate_attributes_class(obj: JSONObject, old: JSONObject | None) -> Errors:
    driver = obj.get("driverName") or ""
    errors = qualified_name("driverName", driver.lower()) if driver else [required("driverName")]
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


def _create_driver(obj: JSONObject) -> None:
    obj["spec"].pop("preventPodSchedulingIfMissing", None)


def _update_driver(obj: JSONObject, old: JSONObject) -> None:
    """Changes are counted, from nothing on."""
    _create_driver(obj)
    if obj["spec"] != old["spec"]:
        obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate_driver(obj: JSONObject, old: JSONObject | None) -> Errors:
    spec = obj["spec"]
    errors: Errors = []
    policies = ("File", "None", "ReadWriteOnceWithFSType")
    errors += one_of("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), policies)
    seen: set[str] = set()
    for index, token in enumerate(spec.get("tokenRequests") or ()):
        errors += _token(token, f"spec.tokenRequests[{index}]", seen)
    for mode in spec.get("volumeLifecycleModes") or ():
        errors += one_of("spec.volumeLifecycleModes", mode, ("Ephemeral", "Persistent"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        text = "must be greater than or equal to 10 seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, text))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, text))
    if old is not None:
        before = old["spec"]
        errors += immutable("spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
        field = "volumeLifecycleModes"
        errors += immutable(f"spec.{field}", spec.get(field), before.get(field))
    return errors


def _token(token: JSONObject, path: str, seen: set[str]) -> Errors:
    errors: Errors = []
    audience = token.get("audience") or ""
    if audience in seen:
        errors.append(duplicate(f"{path}.audience", audience))
    seen.add(audience)
    seconds = token.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        text = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    if seconds is not None and seconds > _LONGEST:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    return errors


def _driver_warnings(obj: JSONObject, old: JSONObject | None) -> list[str]:
    spec = obj["spec"]
    if not spec.get("tokenRequests") or "serviceAccountTokenInSecrets" in spec:
        return []
    return [
        "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
        "logging of tokens in volume attributes"
    ]


def _validate_node(obj: JSONObject, old: JSONObject | None) -> Errors:
    drivers = obj["spec"].get("drivers") or []
    errors: Errors = []
    seen: set[str] = set()
    for index, driver in enumerate(drivers):
        path = f"spec.drivers[{index}]"
        name = driver.get("name") or ""
        errors += driver_name(f"{path}.name", name) + _node_id(driver.get("nodeID") or "", f"{path}.nodeID")
        errors += non_negative(f"{path}.allocatable.count", (driver.get("allocatable") or {}).get("count"))
        keys: set[str] = set()
        for key in driver.get("topologyKeys") or ():
            if key in keys:
                errors.append(duplicate(f"{path}", key))
            keys.add(key)
            errors += qualified_name(path, key) if key else [required(path)]
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
    before = {driver["name"]: driver for driver in ((old or {}).get("spec") or {}).get("drivers") or ()}
    for driver in drivers:
        if (had := before.get(driver.get("name") or "")) is not None and _fixed(had) != _fixed(driver):
            shown = {
                "Name": driver.get("name") or "",
                "NodeID": driver.get("nodeID") or "",
                "TopologyKeys": driver.get("topologyKeys"),
                "Allocatable": None,
            }
            errors.append(invalid("spec.drivers", shown, "field is immutable"))
    return errors


def _fixed(driver: JSONObject) -> Any:
    return {key: value for key, value in driver.items() if key != "allocatable"}


def _node_id(node: str, field: str) -> Errors:
    if not node:
        return [required(field)]
    return [invalid(field, node, "must be 192 characters or less")] if len(node) > 192 else []


def _validate_capacity(obj: JSONObject, old: JSONObject | None) -> Errors:
    name = obj.get("storageClassName") or ""
    errors = dns_subdomain("storageClassName", name)
    if name and len(name) > 253:
        errors += dns_label("storageClassName", name)
    errors += selector("nodeTopology", obj.get("nodeTopology"))
    amount = obj.get("capacity")  # How large a volume may be is not judged.
    if amount is not None and quantity_of(amount).sign() < 0:
        errors.append(invalid("capacity", amount, "must be greater than or equal to 0"))
    if old is not None:
        errors += immutable("nodeTopology", obj.get("nodeTopology"), old.get("nodeTopology"))
        errors += immutable("storageClassName", name, old.get("storageClassName"))
    return errors


def _validate_attachment_status(obj: JSONObject, old: JSONObject | None) -> Errors:
    errors: Errors = []
    for field in ("attachError", "detachError"):
        error = obj["status"].get(field) or {}
        if len((error.get("message") or "").encode()) > _MESSAGE:
            text = f"Too long: may not be more than {_MESSAGE} bytes"
            errors.append(FieldError("FieldValueTooLong", f"status.{field}.message", text))
        code = error.get("errorCode")
        if code is not None and code < 0:
            text = "must be between 0 and 2147483647, inclusive"
            errors.append(invalid(f"status.{field}.errorCode", code, text))
    return errors


_MESSAGE = 262144
VOLUME_ATTACHMENT = strategy(
    validate=_validate_attachment,
    validate_status=_validate_attachment_status,
    namespaced=False,
    unconditional_update=False,
)
VOLUME_ATTRIBUTES_CLASS = strategy(validate=_validate_attributes_class, namespaced=False)
CSI_DRIVER = strategy(
    _default_driver,
    _validate_driver,
    namespaced=False,
    unconditional_update=False,
    prepare_create=_create_driver,
    prepare_update=_update_driver,
    warnings=_driver_warnings,
)
CSI_NODE = strategy(validate=_validate_node, namespaced=False, unconditional_update=False)
CSI_STORAGE_CAPACITY = strategy(validate=_validate_capacity, unconditional_update=False)
