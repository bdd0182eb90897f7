"""Volumes that outlive pods, claims to them, and classes of them."""

from typing import Any

from karmada.cli.describe import metadata, volumes
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Query, Related

JSONObject = dict[str, Any]
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_OTHER_FIELDS = frozenset(
    {
        "capacity",
        "accessModes",
        "claimRef",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "mountOptions",
        "volumeMode",
        "nodeAffinity",
        "volumeAttributesClassName",
    }
)


def persistent_volume(page: Page, item: JSONObject, _: Related) -> None:
    """A PersistentVolume."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    page.field(0, "Name", item["metadata"]["name"])
    metadata.marks(page, item)
    page.field(0, "Finalizers", _finalizers(item))
    page.field(0, "StorageClass", spec.get("storageClassName", ""))
    metadata.phase(page, item, status.get("phase", ""))
    claim = spec.get("claimRef")
    page.field(0, "Claim", f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "")
    page.field(0, "Reclaim Policy", spec.get("persistentVolumeReclaimPolicy", ""))
    page.field(0, "Access Modes", modes(spec.get("accessModes")))
    page.field(0, "VolumeMode", spec.get("volumeMode", "Filesystem"))
    page.field(0, "Capacity", (spec.get("capacity") or {}).get("storage", ""))
    _affinity(page, (spec.get("nodeAffinity") or {}).get("required"))
    page.field(0, "Message", status.get("message", ""))
    page.line(0, "Source:")
    volumes.source(page, {key: value for key, value in spec.items() if key not in _OTHER_FIELDS})


def _affinity(page: Page, required: JSONObject | None) -> None:
    if required is None:
        page.field(0, "Node Affinity", "<none>")
        return
    page.field(0, "Node Affinity", "")
    terms = required.get("nodeSelectorTerms") or ()
    page.field(1, "Required Terms", "" if terms else "<none>")
    for number, term in enumerate(terms):
        page.several(2, f"Term {number}", [requirement(one) for one in term.get("matchExpressions") or ()])


def requirement(one: JSONObject) -> str:
    """`zone in [a, b]`."""
    text = f"{one['key']} {str(one.get('operator', 'In')).lower()}"
    return text + (f" [{', '.join(one['values'])}]" if one.get("values") else "")


def modes(found: list[str] | None) -> str:
    """`RWO,ROX`."""
    return ",".join(_MODES[mode] for mode in _MODES if mode in (found or ()))


def _finalizers(item: JSONObject) -> str:
    return f"[{' '.join(item['metadata'].get('finalizers') or ())}]"


def pods_near(item: JSONObject) -> dict[str, Query]:
    """The pods that may use a claim."""
    return {"pods": Query("", "v1", "pods", item["metadata"].get("namespace", ""))}


def claim(page: Page, item: JSONObject, related: Related) -> None:
    """A PersistentVolumeClaim."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    metadata.name(page, item)
    page.field(0, "StorageClass", spec.get("storageClassName", ""))
    metadata.phase(page, item, status.get("phase", ""))
    page.field(0, "Volume", spec.get("volumeName", ""))
    metadata.marks(page, item)
    page.field(0, "Finalizers", _finalizers(item))
    bound = bool(spec.get("volumeName"))
    page.field(0, "Capacity", (status.get("capacity") or {}).get("storage", "") if bound else "")
    page.field(0, "Access Modes", modes(status.get("accessModes")) if bound else "")
    page.field(0, "VolumeMode", spec.get("volumeMode", "Filesystem"))
    if origin := spec.get("dataSource"):
        page.line(0, "DataSource:")
        if origin.get("apiGroup"):
            page.field(1, "APIGroup", origin["apiGroup"])
        page.field(1, "Kind", origin["kind"])
        page.field(1, "Name", origin["name"])
    page.several(0, "Used By", [pod["metadata"]["name"] for pod in related["pods"] if _uses(pod, item)])
    found = status.get("conditions")
    if found:
        page.line(0, "Conditions:")
        page.line(1, "Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message")
        page.line(1, "----", "------", "-----------------", "------------------", "------", "-------")
        for one in found:
            moments = [metadata.time_or_zero(one.get(key)) for key in ("lastProbeTime", "lastTransitionTime")]
            cells = (one.get("type", ""), one.get("status", ""), *moments, one.get("reason", ""))
            page.line(1, *(f"{cell} " for cell in cells), one.get("message", ""))


def _uses(pod: JSONObject, item: JSONObject) -> bool:
    name = item["metadata"]["name"]
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
            return True
        if "ephemeral" in volume and f"{pod['metadata']['name']}-{volume['name']}" == name:
            return True
    return False


def storage_class(page: Page, item: JSONObject, _: Related) -> None:
    """A StorageClass."""
    marks = item["metadata"].get("annotations") or {}
    page.field(0, "Name", item["metadata"]["name"])
    page.field(0, "IsDefaultClass", "Yes" if marks.get(_DEFAULT) == "true" else "No")
    page.field(0, "Annotations", ",".join(metadata.pairs(marks)) or "<none>")
    page.field(0, "Provisioner", item.get("provisioner", ""))
    page.field(0, "Parameters", ",".join(metadata.pairs(item.get("parameters"))) or "<none>")
    grows = item.get("allowVolumeExpansion")
    page.field(0, "AllowVolumeExpansion", "<unset>" if grows is None else str(grows))
    options = item.get("mountOptions") or ()
    page.line(0, *(("MountOptions:",) if options else ("MountOptions:", "<none>")))
    for option in options:
        page.line(1, option)
    if item.get("reclaimPolicy"):
        page.field(0, "ReclaimPolicy", item["reclaimPolicy"])
    if item.get("volumeBindingMode"):
        page.field(0, "VolumeBindingMode", item["volumeBindingMode"])
    if terms := item.get("allowedTopologies"):
        page.field(0, "AllowedTopologies", "")
        for number, term in enumerate(terms):
            page.several(1, f"Term {number}", [requirement(one) for one in term.get("matchLabelExpressions") or ()])
