"""Which quotas count which namespaces."""

import pytest

from karmada.api.annotations import QUOTA_NAMESPACES
from karmada.policies.quota_tree import objection, selector_of

SYSTEM = "karmada-system"


@pytest.mark.parametrize(
    ("selector", "labels", "counts"),
    [
        ("org=a", {"org": "a", "team": "b"}, True),
        ("org=a,team=b", {"org": "a", "team": "b"}, True),
        ("org=a,team=c", {"org": "a", "team": "b"}, False),
        ("org in (a,b),!free", {"org": "b"}, True),
        ("org in (a,b),!free", {"org": "b", "free": ""}, False),
        ("org=a", {}, False),
        ("org=(", {"org": "("}, False),
    ],
)
def test_the_labels_of_namespaces_make_the_tree(selector: str, labels: dict[str, str], counts: bool) -> None:
    found = selector_of(SYSTEM, {QUOTA_NAMESPACES: selector})
    assert found is not None
    assert found.matches(labels) is counts


@pytest.mark.parametrize(
    ("namespace", "annotations"), [("shop", {QUOTA_NAMESPACES: "org=a"}), (SYSTEM, {}), (SYSTEM, None)]
)
def test_other_quotas_count_their_own_namespace(namespace: str, annotations: dict[str, str] | None) -> None:
    assert selector_of(namespace, annotations) is None


@pytest.mark.parametrize(
    ("namespace", "selector", "assigned", "why"),
    [
        (SYSTEM, "org=a", False, ""),
        (SYSTEM, None, True, ""),
        ("shop", None, False, ""),
        ("shop", "org=a", False, "only quotas in namespace karmada-system select namespaces"),
        (SYSTEM, " ", False, "an empty selector would count every namespace"),
        (SYSTEM, "org=(", False, "found '('"),
        (SYSTEM, "org=a", True, "no spec.staticAssignments"),
    ],
)
def test_a_selection_that_cannot_work_is_refused(
    namespace: str, selector: str | None, assigned: bool, why: str
) -> None:
    found = objection(namespace, {QUOTA_NAMESPACES: selector} if selector is not None else {}, assigned)
    assert why in found
    assert bool(found) is bool(why)
