"""Rows of volumes, claims, classes and the other kinds of storage and devices."""

from typing import Any

from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printer, Printers, columns

_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_OLD_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
_DEFAULT_ATTRIBUTES = "volumeattributesclass.alpha.kubernetes.io/is-default-class"


def _annotations(obj: JSONObject) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def _class_of(obj: JSONObject) -> str:
    return _annotations(obj).get(_OLD_CLASS) or cells.part(obj, "spec").get("storageClassName") or ""


def _phase(obj: JSONObject) -> str:
    terminating = "deletionTimestamp" in obj["metadata"]
    return "Terminating" if terminating else str(cells.part(obj, "status").get("phase", ""))


def _volume(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    claim = spec.get("claimRef")
    return [
        cells.name_of(obj),
        cells.part(spec, "capacity").get("storage", "0"),
        cells.access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _class_of(obj),
        spec.get("volumeAttributesClassName") or cells.UNSET,
        cells.part(obj, "status").get("reason", ""),
        cells.age(obj, now),
        spec.get("volumeMode") or cells.UNSET,
    ]


def _claim(obj: JSONObject, now: float) -> list[Any]:
    spec, status = cells.part(obj, "spec"), cells.part(obj, "status")
    bound = bool(spec.get("volumeName"))
    return [
        cells.name_of(obj),
        _phase(obj),
        spec.get("volumeName", ""),
        cells.part(status, "capacity").get("storage", "0") if bound else "",
        cells.access_modes(status.get("accessModes")) if bound else "",
        _class_of(obj),
        spec.get("volumeAttributesClassName") or cells.UNSET,
        cells.age(obj, now),
        spec.get("volumeMode") or cells.UNSET,
    ]


def _storage_class(obj: JSONObject, now: float) -> list[Any]:
    annotations = _annotations(obj)
    default = "true" in (annotations.get(_DEFAULT_CLASS), annotations.get(_OLD_DEFAULT_CLASS))
    return [
        cells.name_of(obj) + (" (default)" if default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        bool(obj.get("allowVolumeExpansion")),
        cells.age(obj, now),
    ]


def _attributes_class(obj: JSONObject, now: float) -> list[Any]:
    default = " (default)" if _annotations(obj).get(_DEFAULT_ATTRIBUTES) == "true" else ""
    return [cells.name_of(obj) + default, obj.get("driverName", ""), cells.age(obj, now)]


def _attachment(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    return [
        cells.name_of(obj),
        spec.get("attacher", ""),
        cells.part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName", ""),
        bool(cells.part(obj, "status").get("attached")),
        cells.age(obj, now),
    ]


def _driver(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    tokens = spec.get("tokenRequests")
    return [
        cells.name_of(obj),
        bool(spec.get("attachRequired", True)),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        cells.UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens),
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or cells.NONE,
        cells.age(obj, now),
    ]


def _csi_node(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), len(cells.part(obj, "spec").get("drivers") or ()), cells.age(obj, now)]


def _named(obj: JSONObject, now: float) -> list[Any]:
    return [cells.name_of(obj), cells.age(obj, now)]


def _resource_claim(obj: JSONObject, now: float) -> list[Any]:
    status = cells.part(obj, "status")
    deleted = "deletionTimestamp" in obj["metadata"]
    states = ["deleted"] if deleted else []
    if status.get("allocation") is None:
        states += [] if deleted else ["pending"]
    else:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    return [cells.name_of(obj), ",".join(states), cells.age(obj, now)]


def _resource_slice(obj: JSONObject, now: float) -> list[Any]:
    spec = cells.part(obj, "spec")
    pool = cells.part(spec, "pool").get("name", "")
    return [cells.name_of(obj), spec.get("nodeName") or "", spec.get("driver", ""), pool, cells.age(obj, now)]


PRINTERS: Printers = {
    ("", "persistentvolumes"): Printer(
        columns(
            *("Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass"),
            *("VolumeAttributesClass", "Reason", "Age", "+VolumeMode"),
        ),
        _volume,
    ),
    ("", "persistentvolumeclaims"): Printer(
        columns(
            *("Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", "Age"),
            "+VolumeMode",
        ),
        _claim,
    ),
    ("storage.k8s.io", "storageclasses"): Printer(
        columns("Name", "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"),
        _storage_class,
    ),
    ("storage.k8s.io", "volumeattributesclasses"): Printer(columns("Name", "DriverName", "Age"), _attributes_class),
    ("storage.k8s.io", "volumeattachments"): Printer(
        columns("Name", "Attacher:string:name", "PV", "Node", "Attached:boolean", "Age"), _attachment
    ),
    ("storage.k8s.io", "csidrivers"): Printer(
        columns(
            *("Name", "AttachRequired:boolean", "PodInfoOnMount:boolean", "StorageCapacity:boolean"),
            *("TokenRequests", "RequiresRepublish:boolean", "Modes", "Age"),
        ),
        _driver,
    ),
    ("storage.k8s.io", "csinodes"): Printer(columns("Name", "Drivers:integer", "Age"), _csi_node),
    ("resource.k8s.io", "deviceclasses"): Printer(columns("Name", "Age"), _named),
    ("resource.k8s.io", "resourceclaimtemplates"): Printer(columns("Name", "Age"), _named),
    ("resource.k8s.io", "resourceclaims"): Printer(columns("Name", "State", "Age"), _resource_claim),
    ("resource.k8s.io", "resourceslices"): Printer(columns("Name", "Node", "Driver", "Pool", "Age"), _resource_slice),
}
