"""Copies that stay unhealthy for longer than the policy tolerates are evicted, and nothing else is."""

from typing import Any

import msgspec
import orjson
import pytest

from karmada.api.feature_gates import DEFAULTS
from karmada.api.policy.v1alpha1 import FailoverBehavior
from karmada.api.work.v1alpha2 import (
    AggregatedStatusItem,
    GracefulEvictionTask,
    ObjectReference,
    ResourceBindingSpec,
    ResourceBindingStatus,
    TargetCluster,
)
from karmada.policies.failover.application import PurgeModeRefused, Verdict, judge

NOW = 1000.0
GATES = DEFAULTS.with_overrides({"StatefulFailoverInjection": True, "GracefulEviction": True})


def spec_of(mode: str = "Directly", toleration: int | None = 60, tasks: tuple[Any, ...] = (), **more: Any) -> Any:
    decision = {} if toleration is None else {"tolerationSeconds": toleration}
    behaviour = {"application": {"purgeMode": mode, "decisionConditions": decision, **more}}
    return ResourceBindingSpec(
        resource=ObjectReference(api_version="apps/v1", kind="Deployment", namespace="shop", name="web"),
        replicas=4,
        clusters=(TargetCluster(name="m1", replicas=2), TargetCluster(name="m2", replicas=2)),
        failover=msgspec.convert(behaviour, FailoverBehavior),
        graceful_eviction_tasks=tasks,
    )


def status_of(**health: str) -> ResourceBindingStatus:
    report = msgspec.Raw(orjson.dumps({"cursor": 7}))
    items = (AggregatedStatusItem(cluster_name=name, health=state, status=report) for name, state in health.items())
    return ResourceBindingStatus(aggregated_status=tuple(items))


def judged(spec: Any = None, since: dict[str, float] | None = None, gates: Any = GATES, **more: Any) -> Verdict:
    health = more.pop("health", {"m1": "Unhealthy", "m2": "Healthy"})
    return judge(spec or spec_of(), status_of(**health), since or {}, NOW, "test", gates, **more)


def outcome(verdict: Verdict) -> tuple[Any, ...]:
    return verdict.evicted, verdict.unhealthy_since, verdict.requeue_after


def test_a_copy_that_is_seen_unhealthy_for_the_first_time_is_waited_for() -> None:
    assert outcome(judged()) == ((), {"m1": NOW}, 60)
    assert outcome(judged(spec_of(toleration=None))) == ((), {"m1": NOW}, 300)
    assert outcome(judged(spec_of(toleration=0))) == ((), {"m1": NOW}, 0)


@pytest.mark.parametrize(("ago", "found"), [(59.5, ((), 1)), (60.0, ((), 0)), (60.5, (("m1",), None))])
def test_a_toleration_ends_after_its_last_second(ago: float, found: tuple[Any, ...]) -> None:
    verdict = judged(since={"m1": NOW - ago})
    assert (verdict.evicted, verdict.requeue_after) == found
    assert [target.name for target in verdict.spec.clusters] == (["m2"] if ago > 60 else ["m1", "m2"])
    assert verdict.unhealthy_since == ({} if ago > 60 else {"m1": NOW - ago})


def test_the_first_toleration_to_end_is_waited_for() -> None:
    verdict = judged(since={"m1": NOW - 50}, health={"m1": "Unhealthy", "m2": "Unhealthy"})
    assert outcome(verdict) == ((), {"m1": NOW - 50, "m2": NOW}, 10)


def test_a_pause_defers_what_is_due() -> None:
    assert outcome(judged(since={"m1": 0.0}, pause=7.0)) == ((), {"m1": 0.0}, 7.0)


def test_copies_in_unavailable_clusters_count_as_unhealthy() -> None:
    verdict = judged(health={"m1": "Healthy", "m2": "Healthy"}, unavailable=["m2"])
    assert outcome(verdict) == ((), {"m2": NOW}, 60)


@pytest.mark.parametrize("state", ["Healthy", "Unknown"])
def test_a_copy_that_recovered_or_left_is_forgotten(state: str) -> None:
    verdict = judged(since={"m1": 0.0, "m2": 0.0, "gone": 0.0}, health={"m1": state})
    assert outcome(verdict) == ((), {"m2": 0.0}, None)


def test_a_copy_that_is_being_evicted_is_not_judged_again() -> None:
    task = GracefulEvictionTask(from_cluster="m1", reason="r", producer="p")
    assert outcome(judged(spec_of(tasks=(task,)))) == ((), {}, None)


@pytest.mark.parametrize(
    ("mode", "grace", "suppressed"),
    [("Gracefully", 30, None), ("Directly", None, None), ("Never", None, True)],
)
def test_the_purge_mode_decides_how_the_copy_goes(mode: str, grace: int | None, suppressed: bool | None) -> None:
    verdict = judged(spec_of(mode, gracePeriodSeconds=30), since={"m1": 0.0})
    [task] = verdict.spec.graceful_eviction_tasks
    assert (task.from_cluster, task.purge_mode, task.producer) == ("m1", mode, "test")
    assert (task.reason, task.replicas) == ("ApplicationFailure", 2)
    assert (task.grace_period_seconds, task.suppress_deletion) == (grace, suppressed)
    assert (task.preserved_label_state, task.clusters_before_failover) == ({}, ())


def test_a_graceful_purge_needs_its_feature_gate() -> None:
    off = GATES.with_overrides({"GracefulEviction": False})
    with pytest.raises(PurgeModeRefused, match="purgeMode Gracefully needs the feature gate GracefulEviction"):
        judged(spec_of("Gracefully", gracePeriodSeconds=30), {"m1": 0.0}, off)
    assert judged(spec_of("Directly"), {"m1": 0.0}, off).evicted == ("m1",)


@pytest.mark.parametrize("enabled", [True, False])
def test_state_that_the_policy_preserves_goes_with_the_task(enabled: bool) -> None:
    kept = {"rules": [{"aliasLabelName": "state/cursor", "jsonPath": "{ .cursor }"}]}
    gates = GATES.with_overrides({"StatefulFailoverInjection": enabled})
    verdict = judged(spec_of(statePreservation=kept), {"m1": 0.0}, gates)
    [task] = verdict.spec.graceful_eviction_tasks
    assert task.preserved_label_state == ({"state/cursor": "7"} if enabled else {})
    assert task.clusters_before_failover == (("m1", "m2") if enabled else ())
