"""Failover: when a copy is evicted, how, and when its eviction ends."""

from typing import Any

import pytest

from karmada.api import evictions
from karmada.api.cluster.v1alpha1 import Taint
from karmada.api.codec import from_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.meta import Toleration
from karmada.api.policy.v1alpha1 import FailoverBehavior
from karmada.api.work.v1alpha2 import GracefulEvictionTask, ResourceBindingSpec, ResourceBindingStatus
from karmada.policies.failover.application import DEFAULT_TOLERATION, PurgeModeRefused, Verdict, judge
from karmada.policies.failover.graceful import assess, is_replacement_healthy
from karmada.policies.failover.last_copy import QUARANTINED, UNREPLACED, hold, is_replaced, returns, taken_back
from karmada.policies.failover.state import StateUnavailable
from karmada.policies.failover.storm import Fleet, fleet_of
from karmada.policies.failover.taints import eviction_task, purge_mode, remaining_toleration
from karmada.policies.failover.tasks import evict, is_evicting, is_target

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def gates(**given: bool) -> FeatureGates:
    return FeatureGates().with_overrides(given)


def spec(clusters: dict[str, int], *evicting: dict[str, Any], replicas: int = 0, **more: Any) -> ResourceBindingSpec:
    tree = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        "replicas": replicas,
        "clusters": [{"name": name, "replicas": count} for name, count in clusters.items()],
        "gracefulEvictionTasks": [{"reason": "R", "producer": "p"} | task for task in evicting],
    }
    return from_tree(tree | more, ResourceBindingSpec)


def status(*items: dict[str, Any], observed: int = 1, **health: str) -> ResourceBindingStatus:
    healths = [{"clusterName": name, "health": state, "applied": True} for name, state in health.items()]
    tree = {"aggregatedStatus": [*items, *healths], "schedulerObservedGeneration": observed}
    return from_tree(tree, ResourceBindingStatus)


def task(cluster: str, **fields: Any) -> GracefulEvictionTask:
    return from_tree({"fromCluster": cluster, "reason": "R", "producer": "p"} | fields, GracefulEvictionTask)


# Tasks.


def test_an_evicted_cluster_leaves_the_result_with_the_replicas_it_had() -> None:
    after = evict(spec({"m1": 2, "m2": 0, "m3": 1}), [task("m1"), task("m2"), task("elsewhere")])

    assert [(target.name, target.replicas) for target in after.clusters] == [("m3", 1)]
    assert [(each.from_cluster, each.replicas) for each in after.graceful_eviction_tasks] == [("m1", 2), ("m2", None)]
    assert is_target(after, "m3")
    assert not is_target(after, "m1")
    assert is_evicting(after, "m1")
    assert not is_evicting(after, "m3")


def test_a_cluster_that_is_being_evicted_keeps_the_task_it_has() -> None:
    after = evict(spec({"m1": 2}, {"fromCluster": "m1", "replicas": 5}), [task("m1")])

    assert after.clusters == ()
    assert [each.replicas for each in after.graceful_eviction_tasks] == [5]


# Application failover.


def application(**fields: Any) -> dict[str, Any]:
    return {"failover": {"application": fields}}


def judged(
    binding: ResourceBindingSpec, seen: ResourceBindingStatus, since: dict[str, float] | None = None, **more: Any
) -> Verdict:
    chosen = more.pop("gates", gates())
    return judge(binding, seen, since or {}, NOW, "producer", chosen, **more)


def test_an_unhealthy_copy_is_first_tolerated() -> None:
    binding = spec({"m1": 1, "m2": 1}, **application(decisionConditions={"tolerationSeconds": 60}))
    verdict = judged(binding, status(m1="Unhealthy", m2="Healthy"))

    assert verdict == Verdict(binding, (), {"m1": NOW}, 60)


@pytest.mark.parametrize(("ago", "due", "wait"), [(59.5, False, 1), (60, False, 0), (60.5, True, None)])
def test_it_is_evicted_when_its_toleration_has_run_out(ago: float, due: bool, wait: float | None) -> None:
    conditions = {"tolerationSeconds": 60}
    binding = spec({"m1": 1, "m2": 1}, **application(decisionConditions=conditions, purgeMode="Directly"))
    verdict = judged(binding, status(m1="Unhealthy"), {"m1": NOW - ago})

    assert verdict.evicted == (("m1",) if due else ())
    assert is_evicting(verdict.spec, "m1") is due
    assert ("m1" in verdict.unhealthy_since) is not due
    assert verdict.requeue_after == wait


def test_without_a_toleration_five_minutes_count_and_none_is_none() -> None:
    patient = judged(spec({"m1": 1}, **application()), status(m1="Unhealthy"))
    prompt = spec({"m1": 1}, **application(decisionConditions={"tolerationSeconds": 0}, purgeMode="Directly"))

    assert patient.requeue_after == DEFAULT_TOLERATION == 300
    assert judged(prompt, status(m1="Unhealthy"), {"m1": NOW - 0.1}).evicted == ("m1",)


@pytest.mark.parametrize(("health", "kept"), [("Healthy", False), ("Unknown", False), ("Unhealthy", True)])
def test_a_copy_that_recovers_begins_anew(health: str, kept: bool) -> None:
    verdict = judged(spec({"m1": 1}, **application()), status(m1=health), {"m1": NOW - 1, "gone": NOW - 1})

    assert verdict.unhealthy_since == ({"m1": NOW - 1} if kept else {})


def test_the_next_look_is_at_the_first_toleration_that_runs_out() -> None:
    binding = spec({"m1": 1, "m2": 1}, **application())
    verdict = judged(binding, status(m1="Unhealthy", m2="Unhealthy"), {"m1": NOW - 100})

    assert verdict.requeue_after == 200


def test_copies_in_unavailable_clusters_count_as_unhealthy() -> None:
    binding = spec({"m1": 1, "m2": 1}, **application())
    verdict = judged(binding, status(m1="Healthy"), unavailable=("m1", "m2"))

    assert verdict.unhealthy_since == {"m1": NOW, "m2": NOW}


def test_during_a_pause_nothing_is_evicted() -> None:
    binding = spec({"m1": 1}, **application(purgeMode="Directly"))
    verdict = judged(binding, status(m1="Unhealthy"), {"m1": NOW - 1000}, pause=17.0)

    assert (verdict.evicted, verdict.requeue_after) == ((), 17.0)
    assert verdict.unhealthy_since == {"m1": NOW - 1000}


def test_what_is_being_evicted_is_not_judged_again() -> None:
    binding = spec({"m1": 1}, {"fromCluster": "m1"}, **application(purgeMode="Directly"))

    assert judged(binding, status(m1="Unhealthy"), {"m1": NOW - 1000}).evicted == ()


@pytest.mark.parametrize(
    ("mode", "grace", "suppress"), [("Directly", None, None), ("Gracefully", 30, None), ("Never", None, True)]
)
def test_the_purge_mode_decides_about_grace_and_deletion(mode: str, grace: int | None, suppress: bool | None) -> None:
    binding = spec({"m1": 1}, **application(purgeMode=mode, gracePeriodSeconds=30))
    (made,) = judged(binding, status(m1="Unhealthy"), {"m1": NOW - 1000}).spec.graceful_eviction_tasks

    assert (made.purge_mode, made.grace_period_seconds, made.suppress_deletion) == (mode, grace, suppress)
    assert (made.reason, made.producer) == (evictions.REASON_APPLICATION_FAILURE, "producer")


def test_graceful_eviction_needs_its_feature() -> None:
    binding = spec({"m1": 1}, **application(purgeMode="Gracefully"))
    with pytest.raises(PurgeModeRefused, match="Gracefully needs the feature gate GracefulEviction"):
        judged(binding, status(m1="Unhealthy"), {"m1": NOW - 1000}, gates=gates(GracefulEviction=False))


KEEP = {"rules": [{"aliasLabelName": "count", "jsonPath": "{ .replicas }"}]}


def test_state_to_keep_is_read_from_the_copy_that_is_evicted() -> None:
    binding = spec({"m1": 1, "m2": 1}, **application(purgeMode="Directly", statePreservation=KEEP))
    seen = status({"clusterName": "m1", "health": "Unhealthy", "status": {"replicas": 3}})
    on, off = gates(StatefulFailoverInjection=True), gates(StatefulFailoverInjection=False)

    (kept,) = judged(binding, seen, {"m1": NOW - 1000}, gates=on).spec.graceful_eviction_tasks
    (lost,) = judged(binding, seen, {"m1": NOW - 1000}, gates=off).spec.graceful_eviction_tasks

    assert (kept.preserved_label_state, kept.clusters_before_failover) == ({"count": "3"}, ("m1", "m2"))
    assert (lost.preserved_label_state, lost.clusters_before_failover) == ({}, ())


@pytest.mark.parametrize(
    ("item", "message"),
    [({}, "not yet been collected from Cluster.m1"), ({"status": {"other": 1}}, "path { .replicas } in cluster m1")],
)
def test_state_that_cannot_be_read_holds_the_eviction_back(item: dict[str, Any], message: str) -> None:
    binding = spec({"m1": 1}, **application(purgeMode="Directly", statePreservation=KEEP))
    seen = status({"clusterName": "m1", "health": "Unhealthy"} | item)
    with pytest.raises(StateUnavailable, match=message):
        judged(binding, seen, {"m1": NOW - 1000}, gates=gates(StatefulFailoverInjection=True))


def test_without_rules_there_is_no_state_to_wait_for() -> None:
    binding = spec({"m1": 1}, **application(purgeMode="Directly", statePreservation={"rules": []}))
    seen = status(m1="Unhealthy")

    assert judged(binding, seen, {"m1": NOW - 1000}, gates=gates(StatefulFailoverInjection=True)).evicted == ("m1",)


# Graceful eviction.


def stamped(cluster: str, ago: float, **fields: Any) -> dict[str, Any]:
    minute, second = divmod(int(3600 - ago), 60)
    return {"fromCluster": cluster, "creationTimestamp": f"2025-12-31T23:{minute:02}:{second:02}Z"} | fields


def test_a_new_task_is_stamped_and_waited_for() -> None:
    found = assess(spec({}, {"fromCluster": "m1"}), status(observed=0), 1, 100, NOW)

    assert [each.creation_timestamp for each in found.kept] == ["2026-01-01T00:00:00Z"]
    assert (found.evicted, found.requeue_after) == ((), 100)


@pytest.mark.parametrize(
    ("fields", "ago", "over", "wait"),
    [
        ({}, 99, False, 1),
        ({}, 100, False, 0),
        ({}, 101, True, None),
        ({"gracePeriodSeconds": 10}, 9, False, 1),
        ({"gracePeriodSeconds": 10}, 11, True, None),
        ({"gracePeriodSeconds": 0}, 1, True, None),
        ({"suppressDeletion": True}, 9999 % 3600, False, None),
        ({"suppressDeletion": False}, 1, True, None),
    ],
)
def test_a_task_ends_when_its_time_is_up_or_the_user_says_so(
    fields: dict[str, Any], ago: float, over: bool, wait: float | None
) -> None:
    found = assess(spec({"m2": 1}, stamped("m1", ago, **fields)), status(m2="Unhealthy"), 1, 100, NOW)

    assert found.evicted == (("m1",) if over else ())
    assert len(found.kept) == (0 if over else 1)
    assert found.requeue_after == wait


def test_a_task_ends_when_its_replacement_is_healthy_and_scheduled() -> None:
    binding = spec({"m2": 1}, stamped("m1", 1))

    assert assess(binding, status(m2="Healthy"), 1, 100, NOW).evicted == ("m1",)
    assert assess(binding, status(m2="Healthy", observed=1), 2, 100, NOW).evicted == ()
    assert assess(binding, status(m2="Unknown"), 1, 100, NOW).evicted == ()


def test_a_task_that_is_held_stays_and_says_why() -> None:
    binding = spec({"m2": 1}, stamped("m1", 1), stamped("m3", 1))
    found = assess(binding, status(m2="Healthy"), 1, 100, NOW, lambda each: "wait" * (each.from_cluster == "m1"))

    assert [(each.from_cluster, each.message) for each in found.kept] == [("m1", "wait")]
    assert (found.evicted, found.requeue_after) == (("m3",), None)


def test_a_replacement_is_healthy_when_every_target_is() -> None:
    binding = spec({"m1": 1, "m2": 1})

    assert is_replacement_healthy(binding, status(m1="Healthy", m2="Healthy"))
    assert not is_replacement_healthy(binding, status(m1="Healthy", m2="Unhealthy"))
    assert not is_replacement_healthy(binding, status(m1="Healthy"))


# The last copy.


def ready(*clusters: str, gone: tuple[str, ...] = ()) -> Any:
    return lambda name: None if name in gone else name in clusters


def running(cluster: str, count: Any, **fields: Any) -> dict[str, Any]:
    reported = {"clusterName": cluster, "applied": True, "health": "Healthy"}
    return reported | {"status": {"replicas": 9, "readyReplicas": count}} | fields


@pytest.mark.parametrize(
    ("items", "up", "expected"),
    [
        ([running("m1", 2), running("m2", 1)], ("m1", "m2"), True),
        ([running("m1", 2), running("m2", 0)], ("m1", "m2"), False),
        ([running("m1", 2)], ("m1", "m2"), False),
        ([running("m1", 2), running("m2", 1)], ("m1",), False),
        ([running("m1", 2), running("m2", 1, applied=False)], ("m1", "m2"), False),
        ([running("m1", 2), running("m2", 1, health="Unknown")], ("m1", "m2"), False),
        ([running("m1", 2), running("m2", "one")], ("m1", "m2"), False),
        ([running("m1", 2), running("m2", 0, status={"numberReady": 1})], ("m1", "m2"), True),
        ([running("m1", 2), running("m2", 0, status={"replicas": 1})], ("m1", "m2"), False),
        ([running("m1", 2), running("m2", 0, status={"phase": "Fine"})], ("m1", "m2"), True),
        ([], ("m1", "m2"), False),
    ],
)
def test_a_copy_is_replaced_when_confirmed_ones_have_all_replicas(
    items: list[dict[str, Any]], up: tuple[str, ...], expected: bool
) -> None:
    binding = spec({"m1": 2, "m2": 1}, replicas=3)

    assert is_replaced(binding, status(*items), ready(*up), True) is expected


def test_of_a_kind_without_health_rules_it_is_enough_that_the_copy_was_applied() -> None:
    binding, seen = spec({"m1": 0}), status(running("m1", 0, health="Unknown"))

    assert is_replaced(binding, seen, ready("m1"), False)
    assert not is_replaced(binding, seen, ready("m1"), True)
    assert not is_replaced(spec({}), seen, ready("m1"), False)


@pytest.mark.parametrize(
    ("fields", "up", "gone", "expected"),
    [
        ({}, ("m1", "old"), (), ""),
        ({}, ("old",), (), UNREPLACED),
        ({}, ("m1",), (), QUARANTINED),
        ({}, ("m1",), ("old",), ""),
        ({"purgeMode": "Directly"}, (), (), ""),
        ({"suppressDeletion": False}, (), (), ""),
        ({"suppressDeletion": True}, (), (), QUARANTINED),
    ],
)
def test_an_eviction_ends_only_when_its_replacement_is_confirmed_or_somebody_asked(
    fields: dict[str, Any], up: tuple[str, ...], gone: tuple[str, ...], expected: str
) -> None:
    binding, seen = spec({"m1": 1}, replicas=1), status(running("m1", 1))

    assert hold(task("old", **fields), binding, seen, ready(*up, gone=gone), True, fences=True) == expected


@pytest.mark.parametrize(
    ("reported", "fences", "expected"),
    [("old", True, UNREPLACED), ("elsewhere", True, ""), ("elsewhere", False, UNREPLACED)],
)
def test_an_eviction_that_outlived_its_fenced_copy_ends_although_nothing_runs_instead(
    reported: str, fences: bool, expected: str
) -> None:
    binding = spec({}, replicas=1, failover={"fencing": {}})

    seen = status(running(reported, 1))
    assert hold(task("old"), binding, seen, ready("old"), True, fences=fences) == expected


@pytest.mark.parametrize(
    ("clusters", "replicas", "fields", "expected"),
    [
        ({}, 2, {"replicas": 2}, True),
        ({"m1": 1}, 2, {"replicas": 2}, False),
        ({"m1": 1}, 3, {"replicas": 2}, True),
        ({}, 2, {"replicas": 3}, True),
        ({}, 0, {}, True),
        ({"m1": 0}, 0, {}, False),
        ({}, 2, {"replicas": 2, "purgeMode": "Directly"}, False),
        ({}, 2, {"replicas": 2, "suppressDeletion": False}, False),
        ({}, 2, {"replicas": 2, "suppressDeletion": True}, False),
        ({}, 9, {"replicas": 4}, False),
    ],
)
def test_a_copy_that_nothing_replaces_and_that_runs_again_comes_back_if_there_is_room(
    clusters: dict[str, int], replicas: int, fields: dict[str, Any], expected: bool
) -> None:
    binding = spec(clusters, replicas=replicas)

    assert returns(task("old", **fields), binding, status(running("old", 3)), ready("old"), True) is expected


def test_what_has_no_replicas_comes_back_without_one_that_is_ready() -> None:
    assert returns(task("old"), spec({}), status(running("old", 0)), ready("old"), True)


def test_a_copy_that_comes_back_has_the_replicas_it_had() -> None:
    binding = spec({"m1": 1}, {"fromCluster": "m2", "replicas": 3}, {"fromCluster": "m3"}, {"fromCluster": "m4"})
    after = taken_back(binding, [task("m2", replicas=3), task("m3")])

    assert [(target.name, target.replicas) for target in after.clusters] == [("m1", 1), ("m2", 3), ("m3", 0)]
    assert [each.from_cluster for each in after.graceful_eviction_tasks] == ["m4"]


def test_a_copy_that_comes_back_alone_has_no_more_replicas_than_are_wanted_now() -> None:
    binding = spec({}, {"fromCluster": "m2", "replicas": 3}, {"fromCluster": "m3", "replicas": 3}, replicas=2)
    after = taken_back(binding, [task("m2", replicas=3)])

    assert [(target.name, target.replicas) for target in after.clusters] == [("m2", 2)]
    assert [each.from_cluster for each in after.graceful_eviction_tasks] == ["m3"]


# Storms and taints.


def test_a_storm_is_a_larger_share_than_the_threshold() -> None:
    fleet = fleet_of([True, False, None, False, True])

    assert fleet == Fleet(4, 2)
    assert fleet_of([True, False, True]) == Fleet(3, 1)
    assert fleet.is_storm(0.49)
    assert not fleet.is_storm(0.5)
    assert not Fleet(4, 4).is_storm(1)
    assert str(fleet) == "2 of 4 clusters are not ready"


def taint(**fields: Any) -> Taint:
    return from_tree({"key": "down", "effect": "NoExecute"} | fields, Taint)


def tolerating(seconds: int | None) -> list[Toleration]:
    limit = {"tolerationSeconds": seconds} if seconds is not None else {}
    return [from_tree({"key": "down", "operator": "Exists", "effect": "NoExecute"} | limit, Toleration)]


@pytest.mark.parametrize(
    ("tolerations", "expected"), [([], 0.0), (tolerating(None), None), (tolerating(100), 40.0), (tolerating(30), 0.0)]
)
def test_a_taint_evicts_when_it_is_tolerated_no_longer(tolerations: list[Toleration], expected: float | None) -> None:
    added = taint(timeAdded="2025-12-31T23:59:00Z")

    assert remaining_toleration([added], tolerations, NOW) == expected
    assert remaining_toleration([], tolerations, NOW) is None


def behaviour(**fields: Any) -> FailoverBehavior:
    return from_tree(fields, FailoverBehavior)


@pytest.mark.parametrize(
    ("failover", "default", "expected"),
    [
        (None, "Directly", "Directly"),
        (None, "Gracefully", "Gracefully"),
        (None, "", "Gracefully"),
        (behaviour(), "Directly", "Directly"),
        (behaviour(cluster={}), "Directly", "Gracefully"),
        (behaviour(cluster={"purgeMode": "Directly"}), "Gracefully", "Directly"),
    ],
)
def test_the_policy_says_how_a_copy_in_a_tainted_cluster_is_removed(
    failover: FailoverBehavior | None, default: str, expected: str
) -> None:
    made = eviction_task("m1", failover, (), default, gates())

    assert purge_mode(failover, default) == made.purge_mode == expected
    assert (made.from_cluster, made.reason, made.producer) == (
        "m1",
        evictions.REASON_TAINT_UNTOLERATED,
        evictions.PRODUCER_TAINT_MANAGER,
    )


def test_a_copy_in_a_tainted_cluster_leaves_its_state_behind() -> None:
    failover = behaviour(cluster={"statePreservation": KEEP})
    seen = status({"clusterName": "m1", "status": {"replicas": 3}}).aggregated_status

    on = eviction_task("m1", failover, seen, "", gates(StatefulFailoverInjection=True))
    off = eviction_task("m1", failover, seen, "", gates(StatefulFailoverInjection=False))
    none = eviction_task("m1", behaviour(), seen, "", gates(StatefulFailoverInjection=True))

    assert on.preserved_label_state == {"count": "3"}
    assert off.preserved_label_state == none.preserved_label_state == {}
