"""LimitRanges: default requests and limits of containers, and the bounds that pods and claims must keep."""

from collections.abc import Iterator
from typing import Any

import orjson

from karmada.api.quantity import ZERO, Quantity
from karmada.apiserver.admission.lifecycle import refusal
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.admission.pod_totals import pod_total
from karmada.apiserver.admission.presence import Presence
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, WatchCache

_RANGES: Kind = ("", "limitranges")
_PODS: Kind = ("", "pods")
_CLAIMS: Kind = ("", "persistentvolumeclaims")
_MOST_IN_MILLI = (2**63 - 1) // 1000
"""Amounts above are compared in whole units."""
_ANNOTATION = "kubernetes.io/limit-ranger"


class LimitRanger:
    """The admission plugin of limit ranges."""

    kinds = (_PODS, _CLAIMS)

    def __init__(self, store: WatchCache) -> None:
        self._store = store
        self._present = Presence(store, _RANGES)

    def applies(self, request: AdmissionRequest) -> bool:
        """New and resized pods, new and changed claims; nothing that is being deleted."""
        if request.namespace not in self._present or request.operation is Operation.DELETE:
            return False
        if request.old is not None and (request.old.get("metadata") or {}).get("deletionTimestamp"):
            return False
        if request.type.stored_as == _PODS and request.operation is Operation.UPDATE:
            return request.subresource == "resize"
        return not request.subresource

    async def mutate(self, request: AdmissionRequest) -> None:
        """Fill in defaults."""
        if request.type.stored_as != _PODS or request.object is None:
            return
        for limit_range in self._ranges(request.namespace):
            notes = [note for limit in _limits(limit_range, "Container") for note in _fill(request.object, limit)]
            if notes:
                metadata = request.object["metadata"]
                text = "LimitRanger plugin set: " + "; ".join(notes)
                metadata["annotations"] = {**(metadata.get("annotations") or {}), _ANNOTATION: text}

    async def validate(self, request: AdmissionRequest) -> None:
        """Check the bounds; the first range that is not kept refuses."""
        if request.object is None:
            return
        judge = _pod_problems if request.type.stored_as == _PODS else _claim_problems
        for limit_range in self._ranges(request.namespace):
            problems = list(dict.fromkeys(judge(request.object, limit_range)))
            if problems:
                raise refusal(request, problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def _ranges(self, namespace: str) -> Iterator[JSONObject]:
        for item in self._store.list(_RANGES, namespace).items:
            yield orjson.loads(item.body)


def _limits(limit_range: JSONObject, kind: str) -> Iterator[JSONObject]:
    for limit in (limit_range.get("spec") or {}).get("limits") or ():
        if limit.get("type") == kind:
            yield limit


def _fill(pod: JSONObject, limit: JSONObject) -> list[str]:
    notes = []
    for group, word in (("containers", "container"), ("initContainers", "init container")):
        for container in (pod.get("spec") or {}).get(group) or ():
            resources = container.setdefault("resources", {})
            added = {}
            for field, defaults in (("limits", "default"), ("requests", "defaultRequest")):
                current = resources.get(field) or {}
                wanted = {key: value for key, value in (limit.get(defaults) or {}).items() if key not in current}
                if wanted:
                    resources[field] = {**current, **wanted}
                    added[field] = sorted(wanted)
            for field, name in (("requests", "request"), ("limits", "limit")):
                if field in added:
                    notes.append(f"{', '.join(added[field])} {name} for {word} {container['name']}")
    return notes


def _pod_problems(pod: JSONObject, limit_range: JSONObject) -> Iterator[str]:
    spec = pod.get("spec") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for limit in _limits(limit_range, "Container"):
        for container in containers:
            resources = container.get("resources") or {}
            yield from _bounds(limit, "Container", resources.get("requests") or {}, resources.get("limits") or {})
    for limit in _limits(limit_range, "Pod"):
        yield from _bounds(limit, "Pod", _total(spec, "requests"), _total(spec, "limits"))


def _total(spec: JSONObject, field: str) -> JSONObject:
    total = pod_total(spec, field, lambda name: name in ("cpu", "memory"))
    return {name: str(amount) for name, amount in total.items()}


def _claim_problems(claim: JSONObject, limit_range: JSONObject) -> Iterator[str]:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    for limit in _limits(limit_range, "PersistentVolumeClaim"):
        for name, bound in sorted((limit.get("min") or {}).items()):
            yield from _at_least(name, "PersistentVolumeClaim", bound, requests.get(name), None)
        for name, bound in sorted((limit.get("max") or {}).items()):
            given = requests.get(name)
            head = f"maximum {name} usage per PersistentVolumeClaim is {bound}"
            if given is None:
                yield f"{head}.  No request is specified"
            elif _amount(given) > _amount(bound):
                yield f"{head}, but request is {given}"


def _bounds(limit: JSONObject, kind: str, requests: JSONObject, limits: JSONObject) -> Iterator[str]:
    for name, bound in sorted((limit.get("min") or {}).items()):
        yield from _at_least(name, kind, bound, requests.get(name), limits.get(name))
    for name, bound in sorted((limit.get("max") or {}).items()):
        yield from _at_most(name, kind, bound, requests.get(name), limits.get(name))
    for name, ratio in sorted((limit.get("maxLimitRequestRatio") or {}).items()):
        yield from _ratio(name, kind, ratio, requests.get(name), limits.get(name))


def _at_least(name: str, kind: str, bound: str, request: Any, limit: Any) -> Iterator[str]:
    head = f"minimum {name} usage per {kind} is {bound}"
    if request is None:
        yield f"{head}.  No request is specified"
    elif _amount(request) < _amount(bound):
        yield f"{head}, but request is {request}"
    elif limit is not None and _amount(limit) < _amount(bound):
        yield f"{head}, but limit is {limit}"


def _at_most(name: str, kind: str, bound: str, request: Any, limit: Any) -> Iterator[str]:
    head = f"maximum {name} usage per {kind} is {bound}"
    if limit is None:
        yield f"{head}.  No limit is specified"
    elif _amount(limit) > _amount(bound):
        yield f"{head}, but limit is {limit}"
    elif request is not None and _amount(request) > _amount(bound):
        yield f"{head}, but request is {request}"


def _ratio(name: str, kind: str, bound: str, request: Any, limit: Any) -> Iterator[str]:
    head = f"{name} max limit to request ratio per {kind} is {bound}"
    most = _amount(bound)
    amounts = [_amount(value) if value is not None else ZERO for value in (request, limit)]
    precise = all(amount.value() <= _MOST_IN_MILLI for amount in (*amounts, most))
    requested, limited = (amount.milli_value() if precise else amount.value() for amount in amounts)
    if not requested:
        yield f"{head}, but no request is specified or request is 0"
    elif not limited:
        yield f"{head}, but no limit is specified or limit is 0"
    elif limited / requested * 1000 > most.milli_value():
        yield f"{head}, but provided ratio is {limited / requested:f}"


def _amount(value: Any) -> Quantity:
    return Quantity.parse(str(value))
