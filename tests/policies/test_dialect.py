"""Spellings of the source documents mean the canonical fields."""

from typing import Any

import pytest

from karmada.api.codec import from_tree, to_tree
from karmada.api.policy.v1alpha1 import PropagationSpec
from karmada.policies.legacy_fields import canonical, contradictions

SELECTORS = [{"apiVersion": "apps/v1", "kind": "Deployment"}]


def spec(**fields: Any) -> PropagationSpec:
    return from_tree({"resourceSelectors": SELECTORS, "placement": {}} | fields, PropagationSpec)


def scheduling(**fields: Any) -> PropagationSpec:
    return spec(placement={"replicaScheduling": fields})


def test_dynamic_division_is_weighted_by_available_replicas() -> None:
    given = scheduling(replicaSchedulingType="Divided", replicaDivisionPreference="Dynamic")
    found = to_tree(canonical(given).placement)["replicaScheduling"]
    assert found["replicaDivisionPreference"] == "Weighted"
    assert found["weightPreference"]["dynamicWeight"] == "AvailableReplicas"


@pytest.mark.parametrize(
    ("written", "mode", "grace"),
    [("Gracefully", "Gracefully", 600), ("Immediately", "Directly", None), ("Never", "Never", None)],
    ids=["gracefully", "immediately", "never"],
)
def test_a_migration_policy_is_application_failover(written: str, mode: str, grace: int | None) -> None:
    policy = {"decisionConditions": {"tolerationSeconds": 60}, "purgePolicy": written}
    found = canonical(spec(failover={"applicationMigrationPolicy": policy}))
    assert found.failover is not None
    application = found.failover.application
    assert application is not None
    assert (application.purge_mode, application.grace_period_seconds) == (mode, grace)
    assert found.propagate_deps is True


def test_a_policy_in_canonical_words_is_the_same_object() -> None:
    given = scheduling(replicaSchedulingType="Duplicated")
    assert canonical(given) is given
    assert contradictions(given) == []


@pytest.mark.parametrize(
    "given",
    [
        scheduling(dynamicWeight="AvailableReplicas", replicaDivisionPreference="Aggregated"),
        scheduling(
            dynamicWeight="AvailableReplicas",
            weightPreference={"staticWeightList": [{"targetCluster": {"clusterNames": ["m"]}, "weight": 1}]},
        ),
        spec(
            failover={
                "application": {"decisionConditions": {}, "purgeMode": "Never"},
                "applicationMigrationPolicy": {"decisionConditions": {}, "purgePolicy": "Never"},
            }
        ),
    ],
    ids=["dynamic-and-aggregated", "dynamic-and-static", "failover-twice"],
)
def test_what_contradicts_itself_is_refused_with_both_fields(given: PropagationSpec) -> None:
    [error] = contradictions(given)
    assert "cannot co-exist with" in error.message
