"""Growth of PersistentVolumeClaims: of bound ones, if their storage class allows it."""

from typing import Any

import orjson

from karmada.api.quantity import Quantity
from karmada.apiserver.admission.lifecycle import refusal
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, WatchCache

_CLAIMS: Kind = ("", "persistentvolumeclaims")
_CLASSES: Kind = ("storage.k8s.io", "storageclasses")
_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_NOT_RESIZABLE = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


class ClaimSizes:
    """The admission plugin that lets claims grow only where their volumes can."""

    kinds = (_CLAIMS,)
    operations = (Operation.UPDATE,)

    def __init__(self, store: WatchCache) -> None:
        self._store = store

    def applies(self, request: AdmissionRequest) -> bool:
        """Changes of the claim itself."""
        return not request.subresource

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Refuse growth that nobody would carry out."""
        if request.object is None or request.old is None or _size(request.object) <= _size(request.old):
            return
        if (request.old.get("status") or {}).get("phase") != "Bound":
            raise refusal(request, "Only bound persistent volume claims can be expanded")
        name = _class(request.object)
        if not name or name != _class(request.old) or not self._expands(name):
            raise refusal(request, _NOT_RESIZABLE)

    def _expands(self, name: str) -> bool:
        item = self._store.get(_CLASSES, "", name)
        return item is not None and orjson.loads(item.body).get("allowVolumeExpansion") is True


def _size(claim: JSONObject) -> Quantity:
    requests: dict[str, Any] = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return Quantity.parse(str(requests.get("storage") or "0"))


def _class(claim: JSONObject) -> str:
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(_ANNOTATION) or (claim.get("spec") or {}).get("storageClassName") or "")
