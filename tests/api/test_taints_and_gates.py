"""Taints and tolerations, and feature gates."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.api import feature_gates, taints
from karmada.api.feature_gates import FEATURES, FeatureGateError
from karmada.api.meta import Toleration
from karmada.api.taints import NO_EXECUTE, NO_SCHEDULE, ToleratedForever, ToleratedUntil, Untolerated


@dataclass(frozen=True)
class Taint:
    key: str
    value: str = ""
    effect: str = NO_SCHEDULE


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(operator="Exists"), True),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(key="gpu", operator="Equal", value="yes"), True),
        (Toleration(key="gpu", value="yes"), True),
        (Toleration(key="gpu", value="no"), False),
        (Toleration(key="gpu", operator="Exists", effect=NO_EXECUTE), False),
        (Toleration(key="gpu", operator="Exists", effect=NO_SCHEDULE), True),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="gpu", operator="Lt", value="9"), False),
        (Toleration(), False),
    ],
    ids=repr,
)
def test_toleration(toleration: Toleration, tolerated: bool) -> None:
    assert taints.tolerates(toleration, Taint("gpu", "yes")) is tolerated


def test_first_untolerated_looks_only_at_the_given_effects() -> None:
    found = [Taint("soft", effect="PreferNoSchedule"), Taint("a"), Taint("b", effect=NO_EXECUTE)]
    assert (
        taints.first_untolerated(found, [Toleration(key="a", operator="Exists")], (NO_SCHEDULE, NO_EXECUTE)) == found[2]
    )
    assert taints.first_untolerated(found, [], (NO_SCHEDULE,)) == found[1]
    assert taints.first_untolerated(found, [Toleration(operator="Exists")], (NO_SCHEDULE, NO_EXECUTE)) is None


NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        ([], Untolerated()),
        ([Toleration(operator="Exists")], ToleratedForever()),
        ([Toleration(operator="Exists", toleration_seconds=60)], ToleratedUntil(NOW + timedelta(seconds=60))),
        ([Toleration(operator="Exists", toleration_seconds=-5)], ToleratedUntil(NOW - timedelta(seconds=5))),
        (
            [Toleration(key="a", operator="Exists", toleration_seconds=5), Toleration(operator="Exists")],
            ToleratedUntil(NOW + timedelta(seconds=5)),
        ),
        ([Toleration(key="a", operator="Exists")], Untolerated()),
    ],
    ids=repr,
)
def test_endurance(tolerations: list[Toleration], expected: taints.Endurance) -> None:
    present = [(Taint("a", effect=NO_EXECUTE), NOW), (Taint("b", effect=NO_EXECUTE), NOW), (Taint("c"), NOW)]
    assert taints.endurance(present, tolerations) == expected


def test_taints_are_spelled_as_kubectl_does() -> None:
    assert taints.spell(Taint("a", "b")) == "a=b:NoSchedule"
    assert taints.spell(Taint("a")) == "a:NoSchedule"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {"Failover": False, "GracefulEviction": True, "KeepLastCopy": False}),
        ("Failover=true, GracefulEviction=F", {"Failover": True, "GracefulEviction": False}),
        ("AllAlpha=true", {"KeepLastCopy": False, "MultiClusterService": True, "Failover": False}),
        ("AllBeta=true,Failover=false", {"Failover": False, "PropagateDeps": True}),
        ("AllAlpha=true,WorkloadAffinity=false", {"WorkloadAffinity": False, "ResourceQuotaEstimate": True}),
        ("AllBeta=false", {"PropagateDeps": False}),
    ],
)
def test_gates(text: str, expected: dict[str, bool]) -> None:
    gates = feature_gates.parse(text)
    assert {name: gates.enabled(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Failovr=true", "unrecognized feature gate: Failovr; did you mean Failover?"),
        ("zzz=true", "unrecognized feature gate: zzz"),
        ("Failover", "missing bool value for Failover: write Failover=true or Failover=false"),
        ("Failover=yes", "invalid value of Failover=yes: write true or false"),
    ],
)
def test_bad_gates_are_named_with_a_remedy(text: str, message: str) -> None:
    with pytest.raises(FeatureGateError) as raised:
        feature_gates.parse(text)
    assert str(raised.value) == message


@given(st.dictionaries(st.sampled_from(sorted(FEATURES)), st.booleans()))
def test_explicit_gates_win_over_their_stage(overrides: dict[str, bool]) -> None:
    gates = feature_gates.DEFAULTS.with_overrides({"AllAlpha": True, "AllBeta": True, **overrides})
    own = {name: feature.default for name, feature in FEATURES.items() if feature.stage is feature_gates.Stage.OWN}
    assert dict(gates.items()) == {**dict.fromkeys(FEATURES, True), **own, **overrides}


def test_help_names_every_gate_and_marks_those_that_are_on() -> None:
    text = feature_gates.choices()
    listed = text.removesuffix(".").rpartition(": ")[2].split(", ")
    marked = {name.removesuffix("*"): name.endswith("*") for name in listed}
    assert marked == {"AllAlpha": False, "AllBeta": False} | dict(feature_gates.DEFAULTS.items())
