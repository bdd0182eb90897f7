"""What objects use of a quota: counts, and the requests and limits of pods, claims and services. Pure."""

from collections.abc import Mapping
from typing import Any

from karmada.api.quantity import Quantity
from karmada.apiserver.admission.pod_totals import amounts, pod_total
from karmada.apiserver.resources import JSONObject, ResourceType

Usage = dict[str, Quantity]
ONE = Quantity.parse("1")
_COUNTED = frozenset(
    {"configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services"}
)
_ON_PODS = ("cpu", "memory")
_COMPUTE = frozenset({"cpu", "memory", "ephemeral-storage"})


def usage_of(type_: ResourceType, obj: JSONObject) -> Usage:
    """What one object counts for, by the names quotas use."""
    usage: Usage = {f"count/{type_.plural}.{type_.group}" if type_.group else f"count/{type_.plural}": ONE}
    if type_.group:
        return usage
    if type_.plural in _COUNTED:
        usage[type_.plural] = ONE
    if type_.plural == "pods":
        usage.update(_pod(obj))
    elif type_.plural == "persistentvolumeclaims":
        usage.update(_claim(obj))
    elif type_.plural == "services":
        usage.update(_service(obj))
    return usage


def is_finished(pod: JSONObject) -> bool:
    """Whether a pod uses nothing any more."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _pod(pod: JSONObject) -> Usage:
    if is_finished(pod):
        return {}
    usage: Usage = {"pods": ONE}
    for field in ("requests", "limits"):
        for name, amount in _pod_total(pod.get("spec") or {}, field).items():
            if name in _COMPUTE or name.startswith("hugepages-"):
                usage[f"{field}.{name}"] = amount
                if field == "requests":
                    usage[name] = amount
            elif field == "requests" and "/" in name:
                usage[f"requests.{name}"] = amount
    return usage


def _pod_total(spec: JSONObject, field: str) -> Usage:
    total = pod_total(spec, field, lambda name: name in _ON_PODS or name.startswith("hugepages-"))
    for name, amount in amounts(spec.get("overhead")).items():
        if field == "requests" or total.get(name):
            total[name] = total[name] + amount if name in total else amount
    return total


def _claim(claim: JSONObject) -> Usage:
    spec = claim.get("spec") or {}
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    amount = Quantity.parse(str(storage)) if storage is not None else Quantity.parse("0")
    usage = {"requests.storage": amount}
    if spec.get("storageClassName"):
        prefix = f"{spec['storageClassName']}.storageclass.storage.k8s.io"
        usage[f"{prefix}/requests.storage"] = amount
        usage[f"{prefix}/persistentvolumeclaims"] = ONE
    return usage


def _service(service: JSONObject) -> Usage:
    spec = service.get("spec") or {}
    ports = Quantity.parse(str(sum(1 for port in spec.get("ports") or () if port.get("nodePort"))))
    usage: Usage = {}
    if spec.get("type") == "NodePort":
        usage["services.nodeports"] = ports
    elif spec.get("type") == "LoadBalancer":
        usage["services.loadbalancers"] = ONE
        if spec.get("allocateLoadBalancerNodePorts") is not False:
            usage["services.nodeports"] = ports
    return usage


def missing_constraints(pod: JSONObject, hard: Mapping[str, Any]) -> list[str]:
    """Which requests and limits a quota wants every container to have: `limits.cpu for: a,b` for each."""
    wanted: dict[str, list[str]] = {}
    spec = pod.get("spec") or {}
    for name in sorted(hard):
        field, _, resource = name.partition(".")
        if name in ("cpu", "memory"):
            field, resource = "requests", name
        if field not in ("requests", "limits") or resource not in ("cpu", "memory"):
            continue
        for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
            if resource not in ((container.get("resources") or {}).get(field) or {}):
                wanted.setdefault(name, []).append(container["name"])
    return [f"{name} for: {','.join(sorted(names))}" for name, names in wanted.items()]


def matches_scopes(spec: JSONObject, pod: JSONObject | None) -> bool:
    """Whether a quota's scopes select an object; only pods have scopes."""
    terms = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    terms += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return not terms or (pod is not None and all(_scope(term, pod) for term in terms))


def _scope(term: JSONObject, pod: JSONObject) -> bool:
    spec = pod.get("spec") or {}
    match term["scopeName"]:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return not _has_resources(spec)
        case "NotBestEffort":
            return _has_resources(spec)
        case "PriorityClass":
            name, values = spec.get("priorityClassName") or "", term.get("values") or ()
            return {
                "In": name in values,
                "NotIn": name not in values,
                "Exists": bool(name),
                "DoesNotExist": not name,
            }.get(term.get("operator", ""), False)
        case "CrossNamespacePodAffinity":
            return False
    return False


def _has_resources(spec: JSONObject) -> bool:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    return any(
        (container.get("resources") or {}).get(field) for container in containers for field in ("requests", "limits")
    )
