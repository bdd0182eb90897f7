"""Limits of moves that cannot be kept are refused, and the field is named."""

import pytest

from karmada.api.codec import from_tree
from karmada.api.feature_gates import DEFAULTS
from karmada.api.policy.v1alpha1 import PropagationSpec
from karmada.policies.gated_fields import gated_fields
from karmada.webhook.moves import move_errors

CASES = [
    (
        {"failback": {"windowSeconds": 0}},
        "failback.windowSeconds: Invalid value: 0: must be greater than or equal",
    ),
    ({"failback": {"hysteresisSeconds": -1}}, "failback.hysteresisSeconds: Invalid value: -1: must be"),
    ({"failback": {"maxMoves": 0}}, "failback.maxMoves: Invalid value: 0: must be greater than or equal to 1"),
    ({"fencing": {"timeoutSeconds": 0}}, "fencing.timeoutSeconds: Invalid value: 0: must be greater"),
    ({"disruptionBudget": {"maxUnavailable": -1}}, "disruptionBudget.maxUnavailable: Invalid value: -1: must be"),
    ({"disruptionBudget": {"maxUnavailable": "half"}}, 'disruptionBudget.maxUnavailable: Invalid value: "half": must'),
    ({"disruptionBudget": {"maxUnavailable": "101%"}}, 'disruptionBudget.maxUnavailable: Invalid value: "101%": must'),
    (
        {"disruptionBudget": {"maxUnavailable": 1}, "fencing": {}},
        "disruptionBudget: Invalid value: 1: cannot co-exist with fencing",
    ),
    (
        {"disruptionBudget": {"maxUnavailable": 1}, "cluster": {"purgeMode": "Directly"}},
        'cluster.purgeMode: Invalid value: "Directly": cannot co-exist with disruptionBudget',
    ),
    (
        {"disruptionBudget": {"maxUnavailable": 1}, "applicationMigrationPolicy": {"purgePolicy": "Immediately"}},
        'applicationMigrationPolicy.purgePolicy: Invalid value: "Immediately": cannot',
    ),
    ({"fencing": {}, "application": {"purgeMode": "Never"}}, 'application.purgeMode: Invalid value: "Never": cannot'),
    (
        {"rescheduleTriggers": ["Mood"]},
        'rescheduleTriggers[0]: Unsupported value: "Mood": supported values: "Cap',
    ),
    ({"rescheduleTriggers": ["Capacity", "Capacity"]}, 'rescheduleTriggers[1]: Invalid value: "Capacity": is named'),
]
GOOD = {
    "failback": {"windowSeconds": 1, "hysteresisSeconds": 0, "maxMoves": 3},
    "disruptionBudget": {"maxUnavailable": "25%"},
    "rescheduleTriggers": [],
}


def spec_of(failover, **more):
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    return from_tree({"resourceSelectors": selectors, "failover": failover, **more}, PropagationSpec)


@pytest.mark.parametrize(("failover", "message"), CASES, ids=[case[1].partition(":")[0] for case in CASES])
def test_a_limit_that_cannot_be_kept_is_refused(failover, message):
    (error,) = move_errors(spec_of(failover))
    assert str(error).startswith(f"spec.failover.{message}")


def test_a_fence_does_not_leave_copies_behind():
    (error,) = move_errors(spec_of({"fencing": {}}, preserveResourcesOnDeletion=True))
    assert error.field == "spec.preserveResourcesOnDeletion"


def test_limits_that_can_be_kept_are_accepted():
    assert move_errors(spec_of(GOOD)) == []


def test_fields_without_effect_are_reported():
    off = DEFAULTS.with_overrides({"ControlledMoves": False})
    assert gated_fields(spec_of(GOOD), off) == [
        f"spec.failover.{name} has no effect: the feature gate ControlledMoves is off"
        for name in ("failback", "disruptionBudget", "rescheduleTriggers")
    ]
    assert gated_fields(spec_of(GOOD), DEFAULTS) == []
