"""Quotas as a tree (gate `FederatedQuotaTree`): quotas that count the namespaces of a label selector.

The labels of namespaces make the tree: a quota for `org=a` is the parent of one for `org=a,team=b`, and both of the
quotas in such a namespace. No quota names another, so there are no loops and nothing to keep in order: what a namespace
uses counts in every quota that selects it, and must fit all of them. Limits of children may add up to more than their
parent's. Only quotas in `karmada-system` select, so that nobody can limit the namespaces of others.
"""

from collections.abc import Mapping

from karmada.api import label_selector
from karmada.api.annotations import QUOTA_NAMESPACES
from karmada.api.label_selector import LabelSelectorError, Selector
from karmada.api.names import SYSTEM_NAMESPACE

GATE = "FederatedQuotaTree"


def selector_of(namespace: str, annotations: Mapping[str, str] | None) -> Selector | None:
    """Which namespaces a quota counts; None for its own alone. A selector that cannot be read selects nothing."""
    text = (annotations or {}).get(QUOTA_NAMESPACES)
    if text is None or namespace != SYSTEM_NAMESPACE:
        return None
    try:
        return label_selector.parse(text)
    except LabelSelectorError:
        return label_selector.NOTHING


def objection(namespace: str, annotations: Mapping[str, str], has_assignments: bool) -> str:
    """Why a quota cannot select namespaces as its annotation says; empty when it can or does not want to."""
    text = annotations.get(QUOTA_NAMESPACES)
    if text is None:
        return ""
    if namespace != SYSTEM_NAMESPACE:
        return f"only quotas in namespace {SYSTEM_NAMESPACE} select namespaces"
    if not text.strip():
        return "an empty selector would count every namespace: name a label"
    try:
        label_selector.parse(text)
    except LabelSelectorError as error:
        return str(error)
    return "a quota that selects namespaces has no spec.staticAssignments" if has_assignments else ""
