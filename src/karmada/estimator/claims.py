"""Which nodes a replica can run on: labels, affinity, taints."""

from collections.abc import Mapping, Sequence

from karmada.api import taints
from karmada.api.label_selector import FIELD_OPERATORS, holds
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
    if not all(holds(test, labels, FIELD_OPERATORS) for test in term.match_expressions):
        return False
    return all(_names(test, name) for test in term.match_fields)


def _names(test: NodeSelectorRequirement, name: str) -> bool:
    """Fields of nodes can be compared with one value; `metadata.name` is the only one."""
    if len(test.values) != 1 or test.operator not in ("In", "NotIn"):
        return False
    is_equal = test.key == "metadata.name" and test.values[0] == name
    return is_equal == (test.operator == "In")
