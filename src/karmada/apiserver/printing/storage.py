"""Rows of volumes, claims, classes and the other kinds of storage and devices."""

from collections.abc import Callable

from karmada.apiserver.printing import cells
from karmada.apiserver.printing.model import JSONObject, Printers, table

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


def _claim_of(obj: JSONObject) -> str:
    claim = cells.part(obj, "spec").get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _bound_capacity(obj: JSONObject) -> str:
    bound = cells.part(obj, "spec").get("volumeName")
    return str(cells.part(obj, "status", "capacity").get("storage", "0")) if bound else ""


def _bound_modes(obj: JSONObject) -> str:
    bound = cells.part(obj, "spec").get("volumeName")
    return cells.access_modes(cells.part(obj, "status").get("accessModes")) if bound else ""


def _default_marked(*annotations: str) -> Callable[[JSONObject], str]:
    def read(obj: JSONObject) -> str:
        default = any(_annotations(obj).get(annotation) == "true" for annotation in annotations)
        return cells.name_of(obj) + (" (default)" if default else "")

    return read


def _token_audiences(obj: JSONObject) -> str:
    tokens = cells.part(obj, "spec").get("tokenRequests")
    return cells.UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens)


def _claim_state(obj: JSONObject) -> str:
    status = cells.part(obj, "status")
    deleted = "deletionTimestamp" in obj["metadata"]
    states = ["deleted"] if deleted else []
    if status.get("allocation") is None:
        states += [] if deleted else ["pending"]
    else:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    return ",".join(states)


_ATTRIBUTES = ("VolumeAttributesClass", "spec.volumeAttributesClassName", cells.UNSET)
_MODE = ("+VolumeMode", "spec.volumeMode", cells.UNSET)

PRINTERS: Printers = {
    ("", "persistentvolumes"): table(
        "Name",
        ("Capacity", "spec.capacity.storage", "0"),
        ("Access Modes", lambda obj: cells.access_modes(cells.part(obj, "spec").get("accessModes"))),
        ("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
        ("Status", _phase),
        ("Claim", _claim_of),
        ("StorageClass", _class_of),
        _ATTRIBUTES,
        ("Reason", "status.reason"),
        "Age",
        _MODE,
    ),
    ("", "persistentvolumeclaims"): table(
        "Name",
        ("Status", _phase),
        ("Volume", "spec.volumeName"),
        ("Capacity", _bound_capacity),
        ("Access Modes", _bound_modes),
        ("StorageClass", _class_of),
        _ATTRIBUTES,
        "Age",
        _MODE,
    ),
    ("storage.k8s.io", "storageclasses"): table(
        ("Name", _default_marked(_DEFAULT_CLASS, _OLD_DEFAULT_CLASS)),
        ("Provisioner", "provisioner"),
        ("ReclaimPolicy", "reclaimPolicy", "Delete"),
        ("VolumeBindingMode", "volumeBindingMode", "Immediate"),
        ("AllowVolumeExpansion", lambda obj: bool(obj.get("allowVolumeExpansion"))),
        "Age",
    ),
    ("storage.k8s.io", "volumeattributesclasses"): table(
        ("Name", _default_marked(_DEFAULT_ATTRIBUTES)), ("DriverName", "driverName"), "Age"
    ),
    ("storage.k8s.io", "volumeattachments"): table(
        "Name",
        ("Attacher:string:name", "spec.attacher"),
        ("PV", "spec.source.persistentVolumeName"),
        ("Node", "spec.nodeName"),
        ("Attached:boolean", "status.attached"),
        "Age",
    ),
    ("storage.k8s.io", "csidrivers"): table(
        "Name",
        ("AttachRequired:boolean", lambda obj: bool(cells.part(obj, "spec").get("attachRequired", True))),
        ("PodInfoOnMount:boolean", "spec.podInfoOnMount"),
        ("StorageCapacity:boolean", "spec.storageCapacity"),
        ("TokenRequests", _token_audiences),
        ("RequiresRepublish:boolean", "spec.requiresRepublish"),
        ("Modes", lambda obj: ",".join(cells.part(obj, "spec").get("volumeLifecycleModes") or ()) or cells.NONE),
        "Age",
    ),
    ("storage.k8s.io", "csinodes"): table(
        "Name", ("Drivers:integer", lambda obj: len(cells.part(obj, "spec").get("drivers") or ())), "Age"
    ),
    ("resource.k8s.io", "deviceclasses"): table("Name", "Age"),
    ("resource.k8s.io", "resourceclaimtemplates"): table("Name", "Age"),
    ("resource.k8s.io", "resourceclaims"): table("Name", ("State", _claim_state), "Age"),
    ("resource.k8s.io", "resourceslices"): table(
        "Name", ("Node", "spec.nodeName"), ("Driver", "spec.driver"), ("Pool", "spec.pool.name"), "Age"
    ),
}
