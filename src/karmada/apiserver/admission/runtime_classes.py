"""Pods of a runtime class: the class exists, its overhead is theirs, and they go where it can run."""

import orjson

from karmada.apiserver.admission.lifecycle import refusal
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, WatchCache

_PODS: Kind = ("", "pods")
_CLASSES: Kind = ("node.k8s.io", "runtimeclasses")


class RuntimeClasses:
    """The admission plugin of runtime classes."""

    kinds = (_PODS,)
    operations = (Operation.CREATE,)

    def __init__(self, store: WatchCache) -> None:
        self._store = store

    def applies(self, request: AdmissionRequest) -> bool:
        """New pods that name a class or an overhead."""
        if request.subresource or request.operation is not Operation.CREATE:
            return False
        spec = (request.object or {}).get("spec") or {}
        return spec.get("runtimeClassName") is not None or spec.get("overhead") is not None

    async def mutate(self, request: AdmissionRequest) -> None:
        """Take overhead, node selector and tolerations over from the class."""
        assert request.object is not None
        spec = request.object["spec"]
        found = self._class_of(request, spec)
        fixed = ((found or {}).get("overhead") or {}).get("podFixed")
        if fixed is not None:
            if spec.get("overhead") is not None and spec["overhead"] != fixed:
                raise refusal(request, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
            spec["overhead"] = {**fixed}
        scheduling = (found or {}).get("scheduling") or {}
        chosen = spec.get("nodeSelector") or {}
        for key, value in (scheduling.get("nodeSelector") or {}).items():
            if chosen.get(key, value) != value:
                why = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                raise refusal(request, f"{why}pod.spec.nodeSelector[{key}] = {chosen[key]}")
        if scheduling.get("nodeSelector"):
            spec["nodeSelector"] = {**chosen, **scheduling["nodeSelector"]}
        tolerated = spec.get("tolerations") or []
        added = [one for one in scheduling.get("tolerations") or () if one not in tolerated]
        if added:
            spec["tolerations"] = [*tolerated, *added]

    async def validate(self, request: AdmissionRequest) -> None:
        """An overhead is that of a class."""
        assert request.object is not None
        spec = request.object["spec"]
        found = self._class_of(request, spec)
        if spec.get("overhead") is not None and (found or {}).get("overhead") is None:
            why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            raise refusal(request, why)

    def _class_of(self, request: AdmissionRequest, spec: JSONObject) -> JSONObject | None:
        name = spec.get("runtimeClassName")
        if name is None:
            return None
        item = self._store.get(_CLASSES, "", name)
        if item is None:
            raise refusal(request, f'pod rejected: RuntimeClass "{name}" not found')
        found: JSONObject = orjson.loads(item.body)
        return found
