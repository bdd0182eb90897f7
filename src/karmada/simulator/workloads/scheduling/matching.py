"""Whether a node suits a pod regardless of what runs there: selectors, affinity, taints, cordons."""

from collections.abc import Mapping
from typing import Any

from karmada.simulator.workloads.views import Node, Pod, Taint, Toleration

AFFINITY = "node(s) didn't match Pod's node affinity/selector"
CORDONED = "node(s) were unschedulable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def mismatch(pod: Pod, node: Node, tolerations: list[Toleration]) -> str | None:
    """Why a node does not suit a pod with these tolerations; None when it does."""
    spec = pod.spec
    if node.spec.unschedulable and not _tolerated(Taint(UNSCHEDULABLE, effect="NoSchedule"), tolerations):
        return CORDONED
    for taint in node.spec.taints or ():
        if taint.effect in ("NoSchedule", "NoExecute") and not _tolerated(taint, tolerations):
            return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
    labels = node.metadata.labels or {}
    if spec.node_selector and not spec.node_selector.items() <= labels.items():
        return AFFINITY
    if spec.affinity and not _affine(spec.affinity, labels, node.metadata.name):
        return AFFINITY
    return None


def tolerates_execution(pod: Pod, taint: Taint) -> Toleration | None:
    """The toleration that lets a running pod stay in spite of a taint."""
    return next((t for t in pod.spec.tolerations or () if _covers(t, taint)), None)


def pinned(pod: Pod) -> str | None:
    """The only node a pod may run on, where its affinity names one, as for the pods of DaemonSets."""
    terms = (((pod.spec.affinity or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    fields = (terms[0].get("matchFields") or []) if len(terms) == 1 else []
    if len(fields) != 1 or fields[0].get("operator") != "In" or len(fields[0].get("values") or ()) != 1:
        return None
    return str(fields[0]["values"][0])


def _tolerated(taint: Taint, tolerations: list[Toleration]) -> bool:
    return any(_covers(toleration, taint) for toleration in tolerations)


def _covers(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def _affine(affinity: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    required = (affinity.get("nodeAffinity") or {}).get(REQUIRED)
    if required is None:
        return True
    return any(_term(term, labels, name) for term in required.get("nodeSelectorTerms") or ())


def preference(pod: Pod, node: Node) -> int:
    """The weight of the preferred terms of node affinity that a node matches."""
    preferred = ((pod.spec.affinity or {}).get("nodeAffinity") or {}).get(
        "preferredDuringSchedulingIgnoredDuringExecution"
    )
    labels, name = node.metadata.labels or {}, node.metadata.name
    return sum(
        int(term.get("weight") or 0) for term in preferred or () if _term(term.get("preference") or {}, labels, name)
    )


def _term(term: Mapping[str, Any], labels: Mapping[str, str], name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_holds(one, labels) for one in expressions) and all(
        _holds(one, {"metadata.name": name}) for one in fields
    )


def _holds(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement["key"])
    values: list[str] = requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as order if value is not None and value.lstrip("-").isdecimal():
            return int(value) > int(values[0]) if order == "Gt" else int(value) < int(values[0])
    return False
