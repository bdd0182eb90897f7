"""Which nodes a replica can run on: labels, affinity, taints."""

from collections.abc import Mapping, Sequence

from karmada.api import taints
from karmada.api.work.v1alpha2 import NodeClaim, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

_EFFECTS = (taints.NO_SCHEDULE, taints.NO_EXECUTE)
_NOBODY = NodeClaim()


def admits(claim: NodeClaim | None, name: str, labels: Mapping[str, str], tainted: Sequence[taints.TaintLike]) -> bool:
    """Whether a node with these labels and taints takes the replica."""
    claim = claim or _NOBODY
    if any(labels.get(key) != value for key, value in claim.node_selector.items()):
        return False
    if claim.hard_node_affinity is not None and not _selects(claim.hard_node_affinity, name, labels):
        return False
    return taints.first_untolerated(tainted, claim.tolerations, _EFFECTS) is None


def _selects(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    terms = selector.node_selector_terms
    return not terms or any(_holds(term, name, labels) for term in terms)


def _holds(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    if not all(_passes(test, labels.get(test.key)) for test in term.match_expressions):
        return False
    return all(_passes(test, name if test.key == "metadata.name" else None) for test in term.match_fields)


def _passes(test: NodeSelectorRequirement, value: str | None) -> bool:
    match test.operator:
        case "In":
            return value in test.values
        case "NotIn":
            return value not in test.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(test, value)
    return False


def _compares(test: NodeSelectorRequirement, value: str | None) -> bool:
    if value is None or len(test.values) != 1:
        return False
    try:
        have, want = int(value), int(test.values[0])
    except ValueError:
        return False
    return have > want if test.operator == "Gt" else have < want
