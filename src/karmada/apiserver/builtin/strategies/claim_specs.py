"""Rules of the spec of PersistentVolumeClaims, which templates of claims have too."""

from karmada.api.field_errors import forbidden, invalid, required
from karmada.apiserver.builtin.strategies.common import (
    Errors,
    JSONObject,
    dns_label,
    dns_subdomain,
    one_of,
    quantity_of,
    selector,
    unsupported,
)

_ACCESS = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
NO_SOURCE = frozenset(
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
"""Fields of the spec of a volume that do not say where its data is."""
_SAME = ("apiGroup", "kind", "name")


def access_modes(modes: list[str], path: str, why: str = "") -> Errors:
    """How a volume may be mounted."""
    if not modes:
        return [required(path, why)]
    errors = [unsupported(path, mode, _ACCESS) for mode in modes if mode not in _ACCESS]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def claim_spec_errors(spec: JSONObject, path: str) -> Errors:
    """What is wrong with a claim's spec."""
    errors = access_modes(spec.get("accessModes") or [], f"{path}.accessModes", "at least 1 access mode is required")
    storage = (spec["resources"].get("requests") or {}).get("storage")
    place = f"{path}.resources[storage]"
    if storage is None:
        errors.append(required(place))
    elif quantity_of(storage).unscaled <= 0:
        errors.append(invalid(place, storage, "must be greater than zero"))
    if spec.get("storageClassName"):
        errors += dns_subdomain(f"{path}.storageClassName", spec["storageClassName"])
    errors += one_of(f"{path}.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))
    for field in ("dataSource", "dataSourceRef"):
        if spec.get(field) is not None:
            errors += _data_source(spec[field], f"{path}.{field}")
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and ref is not None:
        if ref.get("namespace"):
            text = "may not be specified when dataSourceRef.namespace is specified"
            errors.append(invalid(path, {}, text))
        elif any(source.get(key) != ref.get(key) for key in _SAME):
            errors.append(invalid(path, {}, "must match dataSourceRef"))
    if spec.get("volumeAttributesClassName"):
        errors += dns_subdomain(f"{path}.volumeAttributesClassName", spec["volumeAttributesClassName"])
    return errors + selector(f"{path}.selector", spec.get("selector"))


def _data_source(source: JSONObject, path: str) -> Errors:
    errors = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if source.get("namespace"):
        errors += dns_label(f"{path}.namespace", source["namespace"])
    if group:
        return errors + dns_subdomain(f"{path}.apiGroup", group)
    if kind != "PersistentVolumeClaim":
        errors.append(invalid(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
    return errors
