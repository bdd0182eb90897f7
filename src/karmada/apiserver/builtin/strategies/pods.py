"""Defaults of pods and pod templates."""

from typing import Any

from karmada.api.quantity import Quantity
from karmada.apiserver.builtin.strategies.common import JSONObject

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_MODE = 0o644


def default_template(template: JSONObject) -> None:
    """Fill in a pod template."""
    default_spec(template["spec"])


def default_spec(spec: JSONObject) -> None:
    """Fill in what pods and templates have in common."""
    _without_disabled(spec)
    for volume in spec.get("volumes") or ():
        _volume(volume)
    host_network = spec.get("hostNetwork")
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            _container(container)
            if host_network:
                for port in container.get("ports") or ():
                    port.setdefault("hostPort", port["containerPort"])
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    if "overhead" in spec:
        _round(spec["overhead"])


def _without_disabled(spec: JSONObject) -> None:
    """Fields of features that are off are dropped: nothing that is stored has them."""
    spec.pop("schedulingGroup", None)
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            lifecycle = container.get("lifecycle") or {}
            if lifecycle.pop("stopSignal", None) is not None and not lifecycle:
                del container["lifecycle"]
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            source.pop("clusterTrustBundle", None)
            source.pop("podCertificate", None)


def default_pod(pod: JSONObject) -> None:
    """Fill in a pod: what limits are set is requested too."""
    spec = pod["spec"]
    default_spec(spec)
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or ():
            resources = container["resources"]
            limits = resources.get("limits")
            if limits:
                resources["requests"] = {**limits, **(resources.get("requests") or {})}
    spec.setdefault("enableServiceLinks", True)


def _container(container: JSONObject) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image"))
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        _field_ref((variable.get("valueFrom") or {}).get("fieldRef"))
    for name in _PROBES:
        if name in container:
            _probe(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _http_get(handler.get("httpGet"))
    resources = container["resources"]
    for amounts in (resources.get("limits"), resources.get("requests")):
        if amounts:
            _round(amounts)


def _pull_policy(image: str | None) -> str:
    return "Always" if image and _is_latest(image) else "IfNotPresent"


def _is_latest(image: str) -> bool:
    if "@" in image or image != image.strip():
        return False
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return not colon or tag == "latest"


def _round(amounts: dict[str, str]) -> None:
    """Amounts finer than a thousandth are rounded up."""
    for name, text in amounts.items():
        if text[-1] in "nu":
            amounts[name] = f"{Quantity.parse(text).milli_value()}m"


def _probe(probe: JSONObject) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    _http_get(probe.get("httpGet"))
    if "grpc" in probe:
        probe["grpc"]["service"] = probe["grpc"].get("service") or ""


def _http_get(action: JSONObject | None) -> None:
    if action is not None:
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")


def _field_ref(ref: JSONObject | None) -> None:
    if ref is not None:
        ref.setdefault("apiVersion", "v1")


def _items(source: JSONObject) -> None:
    for item in source.get("items") or ():
        _field_ref(item.get("fieldRef"))


def _volume(volume: JSONObject) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    for kind in ("configMap", "secret", "downwardAPI", "projected"):
        if kind in volume:
            volume[kind].setdefault("defaultMode", _MODE)
    if "downwardAPI" in volume:
        _items(volume["downwardAPI"])
    for source in (volume.get("projected") or {}).get("sources") or ():
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        if "downwardAPI" in source:
            _items(source["downwardAPI"])
    if "image" in volume and not volume["image"].get("pullPolicy"):
        volume["image"]["pullPolicy"] = _pull_policy(volume["image"].get("reference"))
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if "ephemeral" in volume:
        template: Any = volume["ephemeral"].get("volumeClaimTemplate")
        if template:
            template["spec"].setdefault("volumeMode", "Filesystem")
    default_volume_source(volume)


def default_volume_source(source: JSONObject) -> None:
    """Defaults that volumes of pods and persistent volumes share."""
    if "iscsi" in source:
        source["iscsi"].setdefault("iscsiInterface", "default")
    if "rbd" in source:
        rbd = source["rbd"]
        rbd.setdefault("pool", "rbd")
        rbd.setdefault("user", "admin")
        rbd.setdefault("keyring", "/etc/ceph/keyring")
    if "azureDisk" in source:
        disk = source["azureDisk"]
        disk.setdefault("cachingMode", "ReadWrite")
        disk.setdefault("fsType", "ext4")
        disk.setdefault("readOnly", False)
        disk.setdefault("kind", "Shared")
    if "scaleIO" in source:
        source["scaleIO"].setdefault("storageMode", "ThinProvisioned")
        source["scaleIO"].setdefault("fsType", "xfs")
