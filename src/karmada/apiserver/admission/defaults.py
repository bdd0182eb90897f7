"""What the cluster fills into new objects: priorities, tolerations, default classes, protection finalizers."""

from collections.abc import Callable
from typing import Any

import orjson

from karmada.apiserver.admission.lifecycle import refusal
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, WatchCache
from karmada.machinery.clock import rfc3339

_PODS: Kind = ("", "pods")
_CLAIMS: Kind = ("", "persistentvolumeclaims")
_VOLUMES: Kind = ("", "persistentvolumes")
_INGRESSES: Kind = ("networking.k8s.io", "ingresses")
_PRIORITY_CLASSES: Kind = ("scheduling.k8s.io", "priorityclasses")
_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300
_SINCE = "lastPhaseTransitionTime"


class _OnCreate:
    """A plugin that only changes new objects of one kind."""

    kind: Kind
    operations: tuple[Operation, ...] = (Operation.CREATE,)

    def __init__(self, store: WatchCache) -> None:
        self._store = store
        self.kinds = (self.kind,)

    def applies(self, request: AdmissionRequest) -> bool:
        """New objects of the kind."""
        return not request.subresource

    async def validate(self, request: AdmissionRequest) -> None:
        """Nothing to validate."""

    def _objects(self, kind: Kind) -> list[JSONObject]:
        return [orjson.loads(item.body) for item in self._store.list(kind).items]


class PodPriority(_OnCreate):
    """Resolves a pod's priority class to its number; an update that leaves them out keeps what was resolved."""

    kind = _PODS
    operations = (Operation.CREATE, Operation.UPDATE)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Set priority and preemption policy."""
        assert request.object is not None
        spec: JSONObject = request.object.setdefault("spec", {})
        if request.old is not None:
            before = request.old["spec"]
            for field in ("priority", "preemptionPolicy"):
                if spec.get(field) is None and field in before:
                    spec[field] = before[field]
            return
        name = spec.get("priorityClassName") or ""
        value, policy = 0, "PreemptLowerPriority"
        if name:
            item = self._store.get(_PRIORITY_CLASSES, "", name)
            if item is None:
                raise refusal(request, f"no PriorityClass with name {name} was found")
            value, policy = _priority(orjson.loads(item.body))
        else:
            default = _default_class(self._objects(_PRIORITY_CLASSES))
            if default is not None:
                spec["priorityClassName"] = default["metadata"]["name"]
                value, policy = _priority(default)
        given = spec.get("priority")
        if given is not None and given != value:
            why = f"the integer value of priority ({given}) must not be provided in pod spec"
            raise refusal(
                request, f"{why}; priority admission controller computed {value} from the given PriorityClass name"
            )
        spec["priority"] = value
        given_policy = spec.get("preemptionPolicy")
        if given_policy is not None and given_policy != policy:
            why = f"the string value of PreemptionPolicy ({given_policy}) must not be provided in pod spec"
            raise refusal(
                request, f"{why}; priority admission controller computed {policy} from the given PriorityClass name"
            )
        spec["preemptionPolicy"] = policy


def _priority(obj: JSONObject) -> tuple[int, str]:
    return int(obj.get("value") or 0), obj.get("preemptionPolicy") or "PreemptLowerPriority"


def _default_class(classes: list[JSONObject]) -> JSONObject | None:
    defaults = [obj for obj in classes if obj.get("globalDefault")]
    return min(defaults, key=lambda obj: int(obj.get("value") or 0)) if defaults else None


class OneDefaultPriority(_OnCreate):
    """Refuses a second priority class for pods that name none."""

    kind = _PRIORITY_CLASSES
    operations = (Operation.CREATE, Operation.UPDATE)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Look for another one."""
        if not (request.object or {}).get("globalDefault"):
            return
        default = _default_class(self._objects(_PRIORITY_CLASSES))
        if default is not None and (request.old is None or default["metadata"]["name"] != request.name):
            name = default["metadata"]["name"]
            raise refusal(request, f"PriorityClass {name} is already marked as default. Only one default can exist")


class PodTolerations(_OnCreate):
    """Lets pods stay a while on nodes that are not ready or unreachable."""

    kind = _PODS
    operations = (Operation.CREATE, Operation.UPDATE)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Add the two tolerations where the pod has none for them."""
        assert request.object is not None
        spec: JSONObject = request.object.setdefault("spec", {})
        tolerations: list[JSONObject] = spec.get("tolerations") or []
        for key in _TOLERATED:
            if not any(_tolerates(toleration, key) for toleration in tolerations):
                toleration = {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _TOLERATION_SECONDS,
                }
                tolerations = [*tolerations, toleration]
        spec["tolerations"] = tolerations


def _tolerates(toleration: JSONObject, key: str) -> bool:
    return toleration.get("key") in (None, "", key) and toleration.get("effect") in (None, "", "NoExecute")


class NodeTaint(_OnCreate):
    """New nodes are not ready until their kubelet says so."""

    kind = ("", "nodes")

    async def mutate(self, request: AdmissionRequest) -> None:
        """Add the taint."""
        assert request.object is not None
        spec: JSONObject = request.object.setdefault("spec", {})
        taints: list[JSONObject] = spec.get("taints") or []
        if not any(taint.get("key") == _TOLERATED[0] and taint.get("effect") == "NoSchedule" for taint in taints):
            spec["taints"] = [*taints, {"key": _TOLERATED[0], "effect": "NoSchedule"}]


class VolumePhase(_OnCreate):
    """Notes since when a volume is in its phase."""

    kind = _VOLUMES
    operations = (Operation.CREATE, Operation.UPDATE)

    def __init__(self, store: WatchCache, now: Callable[[], float]) -> None:
        super().__init__(store)
        self._now = now

    def applies(self, request: AdmissionRequest) -> bool:
        """New volumes, and changes of the status."""
        return request.subresource == ("status" if request.operation is Operation.UPDATE else "")

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change before the strategy has set the phase."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Set the time of the phase."""
        assert request.object is not None
        status = request.object.setdefault("status", {})
        before = (request.old or {}).get("status") or {}
        time = before.get(_SINCE)
        if request.old is None or (status.get("phase") != before.get("phase") and status.get(_SINCE) in (None, time)):
            status[_SINCE] = rfc3339(self._now())
        elif time and not status.get(_SINCE):
            status[_SINCE] = time


class DefaultStorageClass(_OnCreate):
    """Gives claims without a class the default one."""

    kind = _CLAIMS

    async def mutate(self, request: AdmissionRequest) -> None:
        """Set storageClassName."""
        assert request.object is not None
        spec: JSONObject = request.object.setdefault("spec", {})
        annotations = request.object["metadata"].get("annotations") or {}
        if spec.get("storageClassName") is not None or "volume.beta.kubernetes.io/storage-class" in annotations:
            return
        name = _default_by_annotation(
            self._objects(("storage.k8s.io", "storageclasses")), "storageclass.kubernetes.io/is-default-class"
        )
        if name:
            spec["storageClassName"] = name


class DefaultIngressClass(_OnCreate):
    """Gives ingresses without a class the default one."""

    kind = _INGRESSES

    async def mutate(self, request: AdmissionRequest) -> None:
        """Set ingressClassName."""
        assert request.object is not None
        spec: JSONObject = request.object.setdefault("spec", {})
        annotations = request.object["metadata"].get("annotations") or {}
        if spec.get("ingressClassName") or "kubernetes.io/ingress.class" in annotations:
            return
        name = _default_by_annotation(
            self._objects(("networking.k8s.io", "ingressclasses")), "ingressclass.kubernetes.io/is-default-class"
        )
        if name:
            spec["ingressClassName"] = name


def _default_by_annotation(objects: list[JSONObject], annotation: str) -> str:
    """The newest of the defaults, by name where they are of the same age."""
    defaults = [obj for obj in objects if (obj["metadata"].get("annotations") or {}).get(annotation) == "true"]
    if not defaults:
        return ""

    def age(obj: JSONObject) -> tuple[Any, str]:
        return obj["metadata"]["creationTimestamp"], obj["metadata"]["name"]

    newest = max(age(obj)[0] for obj in defaults)
    return min(str(obj["metadata"]["name"]) for obj in defaults if age(obj)[0] == newest)


_PROTECTION = {
    _CLAIMS: "kubernetes.io/pvc-protection",
    _VOLUMES: "kubernetes.io/pv-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


class StorageInUse:
    """Protects claims, volumes and their classes from being deleted while they are in use."""

    kinds = _PROTECTION
    operations = (Operation.CREATE,)

    def applies(self, request: AdmissionRequest) -> bool:
        """New objects of these kinds."""
        return not request.subresource

    async def mutate(self, request: AdmissionRequest) -> None:
        """Add the protection finalizer."""
        assert request.object is not None
        finalizer = _PROTECTION[request.type.stored_as]
        metadata = request.object["metadata"]
        finalizers = metadata.get("finalizers") or []
        if finalizer not in finalizers:
            metadata["finalizers"] = [*finalizers, finalizer]

    async def validate(self, request: AdmissionRequest) -> None:
        """Nothing to validate."""
