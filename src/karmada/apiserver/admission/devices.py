"""Rules of devices that need more than the object: whose namespace may have admin access, and since when a taint is."""

from collections.abc import Callable
from typing import Any

import orjson

from karmada.api.field_errors import forbidden
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import invalid
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, WatchCache
from karmada.machinery.clock import rfc3339

_GROUP = "resource.k8s.io"
_SLICES: Kind = (_GROUP, "resourceslices")
_CLAIMS: Kind = (_GROUP, "resourceclaims")
_TEMPLATES: Kind = (_GROUP, "resourceclaimtemplates")
_WRITES = (Operation.CREATE, Operation.UPDATE)
_LABEL = "resource.kubernetes.io/admin-access"
_WHY = f"admin access to devices requires the `{_LABEL}: true` label on the containing namespace"


class DeviceAdmins:
    """Admin access to devices is for namespaces that are labelled for it."""

    kinds = (_CLAIMS, _TEMPLATES)
    operations = _WRITES

    def __init__(self, store: WatchCache) -> None:
        self._store = store

    def applies(self, request: AdmissionRequest) -> bool:
        """New claims and templates, and allocations."""
        return request.subresource == ("" if request.operation is Operation.CREATE else "status")

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Refuse admin access that is new where the namespace may not have it."""
        if request.object is None or (request.subresource and _granted(request.old)):
            return
        field = _granted(request.object) if request.subresource else _wanted(request.object)
        if field and not self._may(request.namespace):
            name = request.object["metadata"].get("name") or ""
            raise invalid(request.type.group, request.type.kind, name, [forbidden(field, _WHY)])

    def _may(self, namespace: str) -> bool:
        item = self._store.get(("", "namespaces"), "", namespace)
        labels = (orjson.loads(item.body)["metadata"].get("labels") or {}) if item is not None else {}
        return bool(labels.get(_LABEL) == "true")


def _wanted(obj: JSONObject) -> str:
    """The field of a claim or a template that asks for admin access."""
    spec: JSONObject = obj["spec"].get("spec") or obj["spec"]
    requests = [request.get("exactly") for request in (spec.get("devices") or {}).get("requests") or ()]
    return _first(requests, "spec.devices.requests")


def _granted(obj: JSONObject | None) -> str:
    """The field of an allocation that grants admin access."""
    allocation = ((obj or {}).get("status") or {}).get("allocation") or {}
    return _first((allocation.get("devices") or {}).get("results") or [], "status.allocation.devices.results")


def _first(items: list[Any], path: str) -> str:
    return next((f"{path}[{at}].adminAccess" for at, item in enumerate(items) if (item or {}).get("adminAccess")), "")


class DeviceTaintTimes:
    """Notes since when a device is tainted."""

    kinds = (_SLICES,)
    operations = _WRITES

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now

    def applies(self, request: AdmissionRequest) -> bool:
        """Writes of slices."""
        return True

    async def mutate(self, request: AdmissionRequest) -> None:
        """Set the time of taints without one."""
        for device in ((request.object or {}).get("spec") or {}).get("devices") or ():
            for taint in device.get("taints") or ():
                taint.setdefault("timeAdded", rfc3339(self._now()))

    async def validate(self, request: AdmissionRequest) -> None:
        """Nothing to validate."""
