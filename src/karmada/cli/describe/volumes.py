"""Volumes: of pods, and what persistent volumes stand for."""

from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page

JSONObject = dict[str, Any]
_ABOUT = {
    "hostPath": ("HostPath", "bare host directory volume"),
    "emptyDir": ("EmptyDir", "a temporary directory that shares a pod's lifetime"),
    "secret": ("Secret", "a volume populated by a Secret"),
    "configMap": ("ConfigMap", "a volume populated by a ConfigMap"),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim",
        "a reference to a PersistentVolumeClaim in the same namespace",
    ),
    "nfs": ("NFS", "an NFS mount that lasts the lifetime of a pod"),
    "downwardAPI": ("DownwardAPI", "a volume populated by information about the pod"),
    "csi": ("CSI", "a Container Storage Interface (CSI) volume source"),
    "projected": ("Projected", "a volume that contains injected data from multiple sources"),
    "ephemeral": (
        "EphemeralVolume",
        "an inline specification for a volume that gets created and deleted with the pod",
    ),
    "local": ("LocalVolume", "a persistent volume backed by local storage on a node"),
    "image": ("Image", "a container image or OCI artifact"),
    "gitRepo": ("GitRepo", "a volume that is pulled from git when the pod is created"),
}


def volumes(page: Page, level: int, found: list[JSONObject] | None, indent: str) -> None:
    """The volumes of a pod; `indent` is what stands before their names."""
    if not found:
        page.field(level, "Volumes", "<none>")
        return
    page.line(level, "Volumes:")
    for volume in found:
        page.line(0, f"{indent}{volume['name']}:")
        source(page, {kind: value for kind, value in volume.items() if kind != "name"})


def source(page: Page, found: JSONObject) -> None:
    """Where the contents of a volume come from."""
    for kind, about in found.items():
        if kind not in _ABOUT:
            continue
        word, text = _ABOUT[kind]
        page.field(2, "Type", f"{word} ({text})")
        _DETAILS[kind](page, about or {})
        return
    page.line(2, "<unknown>")


def _fields(*fields: tuple[str, str, Any]) -> Any:
    """Shows fields by title, key and what stands for a value that is left out."""

    def show(page: Page, about: JSONObject) -> None:
        for title, key, missing in fields:
            page.field(2, title, _text(about.get(key, missing)))

    return show


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _downward(page: Page, about: JSONObject) -> None:
    page.line(2, "Items:")
    for item in about.get("items") or ():
        field = (item.get("fieldRef") or {}).get("fieldPath") or (item.get("resourceFieldRef") or {}).get(
            "resource", ""
        )
        page.line(3, f"{field} -> {item['path']}")


def _csi(page: Page, about: JSONObject) -> None:
    page.field(2, "Driver", about.get("driver", ""))
    page.field(2, "FSType", about.get("fsType", ""))
    if "volumeHandle" in about:
        page.field(2, "VolumeHandle", about["volumeHandle"])
    page.field(2, "ReadOnly", _text(about.get("readOnly", False)))
    attributes = metadata.pairs(about.get("volumeAttributes"))
    page.several(2, "VolumeAttributes", [f"    {line}" for line in attributes or ["<none>"]])


def _projected(page: Page, about: JSONObject) -> None:
    for part in about.get("sources") or ():
        if token := part.get("serviceAccountToken"):
            page.field(2, "TokenExpirationSeconds", token.get("expirationSeconds", 3600))
        if named := part.get("configMap"):
            page.field(2, "ConfigMapName", named.get("name", ""))
            page.field(2, "ConfigMapOptional", _text(named.get("optional", "<nil>")))
        if "downwardAPI" in part:
            page.field(2, "DownwardAPI", "true")
        if named := part.get("secret"):
            page.field(2, "SecretName", named.get("name", ""))
            page.field(2, "SecretOptionalName", _text(named.get("optional", "<nil>")))


def _ephemeral(page: Page, about: JSONObject) -> None:
    claim = about.get("volumeClaimTemplate") or {}
    spec, marks = claim.get("spec") or {}, claim.get("metadata") or {}
    page.field(2, "StorageClass", spec.get("storageClassName", ""))
    page.field(2, "Volume", spec.get("volumeName", ""))
    page.several(2, "Labels", [f"    {line}" for line in metadata.pairs(marks.get("labels")) or ["<none>"]])
    page.several(2, "Annotations", [f"    {line}" for line in metadata.pairs(marks.get("annotations")) or ["<none>"]])
    page.field(2, "Capacity", "")
    page.field(2, "Access Modes", "")
    page.field(2, "VolumeMode", spec.get("volumeMode", "Filesystem"))


_DETAILS: dict[str, Any] = {
    "hostPath": _fields(("Path", "path", ""), ("HostPathType", "type", "")),
    "emptyDir": _fields(("Medium", "medium", ""), ("SizeLimit", "sizeLimit", "<unset>")),
    "secret": _fields(("SecretName", "secretName", ""), ("Optional", "optional", False)),
    "configMap": _fields(("Name", "name", ""), ("Optional", "optional", False)),
    "persistentVolumeClaim": _fields(("ClaimName", "claimName", ""), ("ReadOnly", "readOnly", False)),
    "nfs": _fields(("Server", "server", ""), ("Path", "path", ""), ("ReadOnly", "readOnly", False)),
    "local": _fields(("Path", "path", "")),
    "image": _fields(("Reference", "reference", ""), ("PullPolicy", "pullPolicy", "")),
    "gitRepo": _fields(("Repository", "repository", ""), ("Revision", "revision", "")),
    "downwardAPI": _downward,
    "csi": _csi,
    "projected": _projected,
    "ephemeral": _ephemeral,
}
