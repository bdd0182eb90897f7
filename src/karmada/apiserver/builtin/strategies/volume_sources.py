"""Rules of the volumes of pods: one source each, complete in itself."""

import re
from typing import Any

from karmada.api import name_rules
from karmada.api.field_errors import duplicate, forbidden, invalid, required
from karmada.apiserver.builtin.strategies.claim_specs import claim_spec_errors
from karmada.apiserver.builtin.strategies.common import Errors, JSONObject, dns_label, dns_subdomain, quantity_of
from karmada.apiserver.builtin.strategies.devices import driver
from karmada.apiserver.builtin.strategies.field_refs import in_file, resource_in_file
from karmada.apiserver.builtin.strategies.paths import absolute, descending, no_backsteps, non_reserved
from karmada.apiserver.builtin.strategies.tables import (
    Check,
    choice,
    each,
    fields,
    filled,
    given,
    having,
    needed,
    optional,
    within,
)
from karmada.apiserver.schema.metadata import annotations, in_characters, labels

_FILE_MODE = within(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")
_LUN = within(0, 255, "must be between 0 and 255, inclusive")
PORTAL_RULE = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
    "iscsi.initiatorName is specified."
)
"""What kernels allow of the name of an interface."""
_INITIATORS = {
    "iqn": re.compile(r".*iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)", re.ASCII),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}"),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}"),
}


def _initiator(prefixes: bool) -> Check:
    """The name of an initiator; `prefixes` says which beginnings it may have where it has none of them."""
    text = "must be valid format starting with iqn, eui, or naa" if prefixes else "must be valid format"

    def check(path: str, name: str) -> Errors:
        rule = _INITIATORS.get(name[:3])
        if rule is None:
            return [invalid(path, name, text)]
        return [] if rule.fullmatch(name) else [invalid(path, name, "must be valid format")]

    return check


def iscsi_source(secret: Check, prefixes: bool) -> Check:
    """A volume of iSCSI, with a reference to a secret that fits."""
    initiator = _initiator(prefixes)

    def chap(path: str, iscsi: JSONObject) -> Errors:
        wanted = iscsi.get("chapAuthDiscovery") or iscsi.get("chapAuthSession")
        errors: Errors = [required(f"{path}.secretRef")] if wanted and iscsi.get("secretRef") is None else []
        errors += secret(f"{path}.secretRef", iscsi.get("secretRef"))
        name = iscsi.get("initiatorName")
        return errors if name is None else errors + initiator(f"{path}.initiatorname", name)

    return fields(("targetPortal", needed()), ("iqn", needed(initiator)), ("lun", _LUN), chap)


def storage_os(secret: Check) -> Check:
    """A volume of StorageOS, with a reference to a secret that fits."""
    return fields(("volumeName", needed(dns_label)), ("volumeNamespace", filled(dns_label)), ("secretRef", secret))


def _one_dataset(path: str, flocker: JSONObject) -> Errors:
    name, uuid = flocker.get("datasetName") or "", flocker.get("datasetUUID") or ""
    errors: Errors = []
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        errors.append(invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    return [*errors, invalid(f"{path}.datasetName", name, "must not contain '/'")] if "/" in name else errors


def _fibre(path: str, channel: JSONObject) -> Errors:
    names, ids, lun = channel.get("targetWWNs") or [], channel.get("wwids") or [], channel.get("lun")
    errors: Errors = []
    if not names and not ids:
        errors.append(required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(f"{path}.targetWWNs", names, text))
    if names and lun is None:
        errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    return errors + (_LUN(f"{path}.lun", lun) if names else [])


_PAIRS = "must be a host:port pair or multiple pairs separated by commas"


def _registry(path: str, quobyte: JSONObject) -> Errors:
    registry = quobyte.get("registry") or ""
    if not registry:
        return [required(f"{path}.registry", _PAIRS)]
    if len(quobyte.get("tenant") or "") > 64:
        return [required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")]
    wrong = [pair for pair in registry.split(",") if pair.count(":") != 1]
    return [invalid(f"{path}.registry", registry, _PAIRS) for _ in wrong]


def _disk_address(path: str, disk: JSONObject) -> Errors:
    place, address = f"{path}.diskURI", disk.get("diskURI") or ""
    managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
    blob = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
    if disk.get("kind") == "Managed":
        return [] if address.startswith("/subscriptions/") else choice(managed)(place, address)
    return [] if address.startswith("https://") else choice(blob)(place, address)


def _own_options(path: str, options: dict[str, str]) -> Errors:
    text = "kubernetes.io and k8s.io namespaces are reserved"
    return [
        invalid(f"{path}[{key}]", key, text)
        for key in options
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io"))
    ]


_ITEM = fields(("key path", needed()), ("path", filled(non_reserved)), ("mode", _FILE_MODE))
_FILES = (("defaultMode", _FILE_MODE), ("items", each(_ITEM)))


def _shown(path: str, file: JSONObject) -> Errors:
    if file.get("fieldRef") is not None:
        errors = in_file(f"{path}.fieldRef", file["fieldRef"])
        if file.get("resourceFieldRef") is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", text))
        return errors
    if file.get("resourceFieldRef") is not None:
        return resource_in_file(f"{path}.resourceFieldRef", file["resourceFieldRef"])
    return [required(path, "one of fieldRef and resourceFieldRef is required")]


_SHOWN = fields(("path", needed()), ("path", filled(non_reserved)), _shown, ("mode", _FILE_MODE))


def _shown_files(path: str, files: list[JSONObject]) -> Errors:
    """Complaints are about the volume, as in the reference."""
    return [error for file in files for error in _SHOWN(path.removesuffix(".items"), file)]


def _token(path: str, token: JSONObject) -> Errors:
    seconds, volume = token.get("expirationSeconds") or 0, path.partition(".sources[")[0]
    errors: Errors = []
    if seconds < 600:
        text = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    if seconds > 2**32:
        text = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, text))
    return errors + needed(non_reserved)(f"{volume}.path", token.get("path"))


_SOURCE = fields(
    ("secret configMap", optional(fields(("name", needed()), ("items", each(_ITEM))))),
    ("downwardAPI", optional(fields(("items", filled(_shown_files))))),
    ("serviceAccountToken", optional(_token)),
)
_PARTS = ("secret", "configMap", "downwardAPI", "serviceAccountToken")


def _sources(path: str, sources: list[JSONObject]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for index, source in enumerate(sources):
        errors += _SOURCE(f"{path}[{index}]", source)
        present = [part for part in _PARTS if source.get(part) is not None]
        for part in present:
            for item in source[part].get("items") or ():
                place = item.get("path") or ""
                if place and place in seen:
                    about = place if part == "downwardAPI" else source[part].get("name") or ""
                    errors.append(invalid(path.removesuffix(".sources"), about, "conflicting duplicate paths"))
                seen.add(place)
        if len(present) > 1:
            errors.append(forbidden(f"{path}[{index}]", "may not specify more than 1 volume type per source"))
    return errors


def _claim_template(path: str, template: JSONObject) -> Errors:
    meta = template.get("metadata") or {}
    errors = labels(meta.get("labels"), f"{path}.metadata.labels")
    errors += annotations(meta.get("annotations"), f"{path}.metadata.annotations")
    errors += [
        forbidden(f"{path}.metadata.{field}", "cannot be set")
        for field, value in meta.items()
        if value and field not in ("labels", "annotations")
    ]
    return errors + claim_spec_errors(template["spec"], f"{path}.spec")


def _secret_of_csi(path: str, csi: JSONObject) -> Errors:
    ref = csi.get("nodePublishSecretRef")
    if ref is None:
        return []
    name = ref.get("name") or ""
    return dns_subdomain(f"{path}.name", name) if name else [required(f"{path}.nodePublishSecretRef.name")]


def _mounted(path: str, value: str | None) -> Errors:
    return absolute(path, value or "")


def _size_limit(path: str, limit: Any) -> Errors:
    wrong = limit is not None and quantity_of(limit).unscaled < 0
    return [forbidden(path, "SizeLimit field must be a valid resource quantity")] if wrong else []


_HOST_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_NAMED_SECRET = ("secretRef", having("name"))
_PARTITION = ("partition", within(0, 255, "must be between 0 and 255, inclusive"))
_PULLING = choice("Always", "IfNotPresent", "Never")
_HOST_PATH = fields(("path", needed(no_backsteps)), ("type", optional(choice(*_HOST_TYPES))))
_AZURE_DISK = fields(
    ("diskName diskURI", needed()),
    ("cachingMode", optional(choice("None", "ReadOnly", "ReadWrite"))),
    ("kind", optional(choice("Dedicated", "Managed", "Shared"))),
    _disk_address,
)
_SOURCES: tuple[tuple[str, Check], ...] = (
    ("emptyDir", fields(("sizeLimit", _size_limit))),
    ("hostPath", lambda path, value: _HOST_PATH(path, value) if value.get("path") else [required(f"{path}.path")]),
    ("gitRepo", fields(("repository", needed()), ("directory", filled(descending)))),
    ("gcePersistentDisk", fields(("pdName", needed()), _PARTITION)),
    ("awsElasticBlockStore", fields(("volumeID", needed()), _PARTITION)),
    ("secret", fields(("secretName", needed()), *_FILES)),
    ("nfs", fields(("server path", needed()), ("path", _mounted))),
    ("iscsi", iscsi_source(secret=lambda path, value: [], prefixes=True)),
    ("glusterfs", fields(("endpoints path", needed()))),
    ("flocker", fields(_one_dataset)),
    ("persistentVolumeClaim", fields(("claimName", needed()))),
    ("rbd", fields(("monitors image", needed()))),
    ("cinder", fields(("volumeID", needed()), _NAMED_SECRET)),
    ("cephfs", fields(("monitors", needed()))),
    ("quobyte", fields(_registry, ("volume", needed()))),
    ("downwardAPI", fields(("defaultMode", _FILE_MODE), ("items", filled(_shown_files)))),
    ("fc", fields(_fibre)),
    ("flexVolume", fields(("driver", needed()), ("options", filled(_own_options)))),
    ("configMap", fields(("name", needed()), *_FILES)),
    ("azureFile", fields(("secretName shareName", needed()))),
    ("vsphereVolume", fields(("volumePath", needed()))),
    ("photonPersistentDisk", fields(("pdID", needed()))),
    ("portworxVolume", fields(("volumeID", needed()))),
    ("azureDisk", _AZURE_DISK),
    ("storageos", storage_os(having("name"))),
    ("projected", fields(("defaultMode", _FILE_MODE), ("sources", filled(_sources)))),
    ("scaleIO", fields(("gateway system volumeName", needed()))),
    ("csi", fields(("driver", needed(driver)), _secret_of_csi)),
    ("ephemeral", fields(("volumeClaimTemplate", given(_claim_template)))),
    ("image", fields(("pullPolicy", needed(_PULLING)))),
)
POD_SOURCES = dict(_SOURCES)
"""The checks of sources by their names."""
PLACES = {"gcePersistentDisk": "persistentDisk"}
"""Where complaints about a source are put, where that is another name."""
_EXTRA_PLACES = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}
"""The same for a source that is one too many."""


def volume_errors(
    path: str, volumes: list[JSONObject], pod: JSONObject | None = None
) -> tuple[Errors, dict[str, JSONObject]]:
    """What is wrong with volumes, and the volumes by name; `pod` is the metadata of a pod, None for a template."""
    errors: Errors = []
    named: dict[str, JSONObject] = {}
    for index, volume in enumerate(volumes):
        place, name = f"{path}[{index}]", volume.get("name") or ""
        found = _source(place, volume)
        if pod is not None and "ephemeral" in volume and name and pod.get("name"):
            found += _claim_name(place, name, pod["name"])
        if pod is not None and volume.get("image") is not None and not volume["image"].get("reference"):
            found.append(required(f"{place}.image.reference"))
        if not name:
            found.append(required(f"{place}.name"))
        elif wrong := dns_label(f"{place}.name", name):
            found += wrong
        elif name in named:
            found.append(duplicate(f"{place}.name", name))
        errors += found
        if not found:
            named[name] = volume
    return errors, named


def _source(place: str, volume: JSONObject) -> Errors:
    errors: Errors = []
    present = [(name, check) for name, check in _SOURCES if volume.get(name) is not None]
    for position, (name, check) in enumerate(present):
        if position:
            text = "may not specify more than 1 volume type"
            errors.append(forbidden(f"{place}.{_EXTRA_PLACES.get(name, name)}", text))
        else:
            errors += check(f"{place}.{PLACES.get(name, name)}", volume[name])
        portal = f"{volume.get('name') or ''}:{volume[name].get('targetPortal') or ''}"
        if name == "iscsi" and volume[name].get("initiatorName") is not None and len(portal) > 64:
            errors.append(invalid(f"{place}.name", volume.get("name"), PORTAL_RULE))
    return errors if present else [required(place, "must specify a volume type")]


def _claim_name(place: str, volume: str, pod: str) -> Errors:
    """The claim of an ephemeral volume is named after pod and volume."""
    name = f"{pod}-{volume}"
    problems = in_characters(name_rules.dns_subdomain(name))
    return [invalid(f"{place}.name", volume, f'PVC name "{name}": {problem}') for problem in problems]
