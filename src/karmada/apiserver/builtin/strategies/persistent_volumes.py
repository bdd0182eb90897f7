"""Rules of PersistentVolumes: one source each, complete in itself, that stays what it is."""

import posixpath
from typing import Any

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.claim_specs import NO_SOURCE, access_modes
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    immutable,
    one_of,
    quantity_of,
    strategy,
    unsupported,
)
from karmada.apiserver.builtin.strategies.devices import driver
from karmada.apiserver.builtin.strategies.internal_form import volume_affinity
from karmada.apiserver.builtin.strategies.paths import no_backsteps
from karmada.apiserver.builtin.strategies.pod_warnings import term_warnings
from karmada.apiserver.builtin.strategies.pods import default_volume_source
from karmada.apiserver.builtin.strategies.scheduling_rules import node_selector
from karmada.apiserver.builtin.strategies.tables import Check, fields, filled, given, having, needed, optional
from karmada.apiserver.builtin.strategies.volume_sources import (
    PLACES,
    POD_SOURCES,
    PORTAL_RULE,
    iscsi_source,
    storage_os,
)

_RECLAIM = ("Delete", "Recycle", "Retain")
_SECRET = optional(fields(("name", needed(dns_subdomain)), ("namespace", needed(dns_label))))
_NAMED_SECRET = optional(fields(("name namespace", needed())))
_BAD_NAMESPACE = "if the endpointnamespace is set, it must be a valid namespace name"


def _endpoints_namespace(path: str, name: str | None) -> Errors:
    if name is None:
        return []
    return dns_label(path, name) if name else [invalid(path, name, _BAD_NAMESPACE)]


def _secret_namespace(path: str, name: str | None) -> Errors:
    return [required(path)] if name == "" else []


_OWN_SOURCES: dict[str, Check] = {
    "glusterfs": fields(("endpoints path", needed()), ("endpointsNamespace", _endpoints_namespace)),
    "iscsi": iscsi_source(secret=having("name"), prefixes=False),
    "cinder": fields(("volumeID", needed()), ("secretRef", _NAMED_SECRET)),
    "azureFile": fields(("secretName shareName", needed()), ("secretNamespace", _secret_namespace)),
    "local": fields(("path", needed(no_backsteps))),
    "storageos": storage_os(_NAMED_SECRET),
    "csi": fields(
        ("driver", needed(driver)),
        ("volumeHandle", needed()),
        ("controllerPublishSecretRef controllerExpandSecretRef nodePublishSecretRef nodeExpandSecretRef", _SECRET),
    ),
}
_NAMES = (
    *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte"),
    *("cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk"),
    *("portworxVolume", "azureDisk", "scaleIO", "local", "storageos", "csi"),
)
_SOURCES = {name: _OWN_SOURCES.get(name) or POD_SOURCES[name] for name in _NAMES}
"""In the order in which they are looked at: of several the first counts."""


def _default_volume(obj: JSONObject) -> None:
    spec = obj["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    obj["status"].setdefault("phase", "Pending")
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")
    default_volume_source(spec)


def start_pending(obj: JSONObject) -> None:
    """A new volume or claim is not bound."""
    obj["status"] = {"phase": "Pending"}


def _validate_volume(obj: JSONObject, old: JSONObject | None) -> Errors:
    """Updates are judged as objects and as changes: what is wrong with the spec is said twice."""
    errors = _volume_spec(obj["spec"], obj["metadata"].get("name") or "")
    return errors if old is None else errors + errors + _volume_update(obj["spec"], old["spec"])


def _volume_spec(spec: JSONObject, name: str) -> Errors:
    errors = access_modes(spec.get("accessModes") or [], "spec.accessModes") + _capacity(spec.get("capacity") or {})
    reclaim = spec["persistentVolumeReclaimPolicy"]
    errors += one_of("spec.persistentVolumeReclaimPolicy", reclaim, _RECLAIM)
    errors += _AFFINITY("spec.nodeAffinity", spec.get("nodeAffinity"))
    errors += _source(spec, name)
    place = (spec.get("hostPath") or {}).get("path") or ""
    if place and posixpath.normpath(place).strip("/") == "" and reclaim == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden("spec.persistentVolumeReclaimPolicy", text))
    errors += filled(dns_subdomain)("spec.storageClassName", spec.get("storageClassName"))
    errors += one_of("spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))
    if (attributes := spec.get("volumeAttributesClassName")) is not None:
        errors += needed(dns_subdomain, "an empty string is disallowed")("spec.volumeAttributesClassName", attributes)
        if "csi" not in spec:
            errors.append(required("spec.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


_AFFINITY = optional(fields(("required", given(node_selector, "must specify required node constraints"))))


def _capacity(capacity: JSONObject) -> Errors:
    errors: Errors = [] if capacity else [required("spec.capacity")]
    if list(capacity) != ["storage"]:
        errors.append(unsupported("spec.capacity", capacity or None, ("storage",)))
    for name, amount in capacity.items():
        if quantity_of(amount).unscaled <= 0:
            errors.append(invalid(f"spec.capacity[{name}]", amount, "must be greater than zero"))
    return errors


def _source(spec: JSONObject, name: str) -> Errors:
    present = [one for one in _SOURCES if spec.get(one) is not None]
    errors: Errors = [] if present else [required("spec", "must specify a volume type")]
    for position, one in enumerate(present):
        if position and one != "flexVolume":  # that one is always looked at
            place = "spec.cephFS" if one == "cephfs" else f"spec.{one}"
            errors.append(forbidden(place, "may not specify more than 1 volume type"))
            continue
        errors += _SOURCES[one](f"spec.{PLACES.get(one, one)}", spec[one])
        portal = spec[one].get("targetPortal") or ""
        if one == "iscsi" and spec[one].get("initiatorName") is not None and len(f"{name}:{portal}") > 64:
            errors.append(invalid("spec.iscsi.targetportal", portal, PORTAL_RULE))
        if one == "local" and spec.get("nodeAffinity") is None:
            errors.append(required("spec.nodeAffinity", "Local volume requires node affinity"))
    return errors


def _volume_update(spec: JSONObject, old: JSONObject) -> Errors:
    errors: Errors = []
    sources = {field for field in {*spec, *old} if field not in NO_SOURCE}
    if any(old.get(field) != _fixed(field, spec.get(field), old.get(field)) for field in sources):
        text = "spec.persistentvolumesource is immutable after creation"
        errors.append(forbidden("spec.persistentvolumesource", text))
    errors += immutable("volumeMode", spec.get("volumeMode"), old.get("volumeMode"))
    affinity, before = spec.get("nodeAffinity"), old.get("nodeAffinity")
    if before is not None and affinity != before:
        text = "field is immutable, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", volume_affinity(affinity), text))
    if old.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        errors.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
    return errors


_EXPANDING = "controllerExpandSecretRef"


def _fixed(name: str, source: Any, old: Any) -> Any:
    """A source without what may be added to it: the secret for expanding a volume of CSI."""
    if name == "csi" and source and old and _EXPANDING not in old:
        return {key: value for key, value in source.items() if key != _EXPANDING}
    return source


_DEPRECATED = {
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}
_OLD_ANNOTATIONS = {
    "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead',
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_RECYCLE = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
    "Instead, the recommended approach is to use dynamic provisioning."
)


def _warnings(obj: JSONObject, old: JSONObject | None) -> list[str]:
    spec, annotations = obj["spec"], obj["metadata"].get("annotations") or {}
    texts = [f"metadata.annotations[{key}]: {text}" for key, text in _OLD_ANNOTATIONS.items() if key in annotations]
    texts += [_RECYCLE] if spec["persistentVolumeReclaimPolicy"] == "Recycle" else []
    affinity = (spec.get("nodeAffinity") or {}).get("required") or {}
    for index, term in enumerate(affinity.get("nodeSelectorTerms") or ()):
        texts += term_warnings(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{index}]")
    return texts + [f"spec.{text}" for name, text in _DEPRECATED.items() if spec.get(name) is not None]


PERSISTENT_VOLUME = strategy(
    _default_volume, _validate_volume, namespaced=False, prepare_create=start_pending, warnings=_warnings
)
