"""Spellings for which Karmada has another field mean that field, and never two things at once."""

from typing import Any

import pytest

from karmada.api.codec import from_tree
from karmada.api.policy.v1alpha1 import PropagationSpec
from karmada.policies.legacy_fields import canonical, contradictions


def spec(**fields: Any) -> PropagationSpec:
    return from_tree({"resourceSelectors": []} | fields, PropagationSpec)


def scheduling(**fields: Any) -> dict[str, Any]:
    return {"placement": {"replicaScheduling": fields}}


def migration(**fields: Any) -> dict[str, Any]:
    return {"failover": {"applicationMigrationPolicy": fields}}


@pytest.mark.parametrize(
    "given",
    [
        spec(),
        spec(**scheduling(replicaSchedulingType="Divided", replicaDivisionPreference="Weighted")),
        spec(failover={"application": {"purgeMode": "Directly"}}),
        spec(failover={"cluster": {"purgeMode": "Directly"}}),
    ],
)
def test_what_is_canonical_stays_the_very_same(given: PropagationSpec) -> None:
    assert canonical(given) is given


@pytest.mark.parametrize(
    ("fields", "type_", "weight"),
    [
        ({"replicaDivisionPreference": "Dynamic"}, "Divided", "AvailableReplicas"),
        ({"dynamicWeight": "AvailableReplicas"}, "Divided", "AvailableReplicas"),
        ({"replicaSchedulingType": "Duplicated", "dynamicWeight": "Other"}, "Duplicated", "Other"),
    ],
)
def test_dynamic_division_is_weighted_division_by_a_dynamic_weight(
    fields: dict[str, str], type_: str, weight: str
) -> None:
    made = canonical(spec(**scheduling(**fields), propagateDeps=False)).placement.replica_scheduling

    assert made is not None
    assert (made.replica_scheduling_type, made.replica_division_preference) == (type_, "Weighted")
    assert made.weight_preference is not None
    assert made.weight_preference.dynamic_weight == weight
    assert canonical(spec(**scheduling(**fields))).propagate_deps is False


@pytest.mark.parametrize(
    ("purge", "mode", "grace"),
    [
        ("Immediately", "Directly", None),
        ("Gracefully", "Gracefully", 600),
        ("", "Gracefully", 600),
        ("Never", "Never", None),
    ],
)
def test_a_migration_policy_is_application_failover_with_dependencies(purge: str, mode: str, grace: int | None) -> None:
    given = spec(**migration(purgePolicy=purge, decisionConditions={"tolerationSeconds": 7}))
    made = canonical(given)

    assert made.propagate_deps is True
    assert made.failover is not None
    assert made.failover.application is not None
    assert made.failover.application.purge_mode == mode
    assert made.failover.application.grace_period_seconds == grace
    assert made.failover.application.decision_conditions.toleration_seconds == 7
    assert given.failover is not None
    assert given.failover.application is None, "the object keeps what the user wrote"


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        (spec(), []),
        (spec(**scheduling(dynamicWeight="AvailableReplicas")), []),
        (spec(**scheduling(dynamicWeight="AvailableReplicas", weightPreference={})), []),
        (spec(**scheduling(weightPreference={"staticWeightList": [{"targetCluster": {}, "weight": 1}]})), []),
        (
            spec(
                **scheduling(
                    dynamicWeight="AvailableReplicas",
                    weightPreference={"staticWeightList": [{"targetCluster": {}, "weight": 1}]},
                )
            ),
            ["spec.placement.replicaScheduling.dynamicWeight"],
        ),
        (spec(**scheduling(replicaDivisionPreference="Aggregated")), []),
        (
            spec(**scheduling(dynamicWeight="AvailableReplicas", replicaDivisionPreference="Aggregated")),
            ["spec.placement.replicaScheduling.dynamicWeight"],
        ),
        (spec(**migration()), []),
        (spec(failover={"application": {}}), []),
        (
            spec(failover={"application": {}, "applicationMigrationPolicy": {}}),
            ["spec.failover.applicationMigrationPolicy"],
        ),
    ],
)
def test_what_is_said_twice_and_differently_is_named_by_its_field(given: PropagationSpec, fields: list[str]) -> None:
    assert [error.field for error in contradictions(given)] == fields


@pytest.mark.parametrize(
    ("given", "field", "groups"),
    [
        ({}, "cluster", 1),
        ({"minGroups": 3}, "cluster", 3),
        ({"spreadByField": "zone", "minGroups": 2}, "zone", 2),
        ({"spreadByLabel": "rack"}, "", 1),
    ],
)
def test_a_spread_without_a_field_is_over_clusters_and_over_one_at_least(
    given: dict[str, Any], field: str, groups: int
) -> None:
    [made] = canonical(spec(placement={"spreadConstraints": [given]})).placement.spread_constraints
    assert (made.spread_by_field, made.min_groups) == (field, groups)
