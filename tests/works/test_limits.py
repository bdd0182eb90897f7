"""How far moves may go at once: disruption budgets count what is ready, fences wait for the copy that stops."""

import msgspec
import orjson
import pytest

from karmada.api import names
from karmada.api.meta import Condition, ObjectMeta
from karmada.api.policy.v1alpha1 import DisruptionBudget, FailbackBehavior, FailoverBehavior, Fencing
from karmada.api.work.v1alpha1 import ManifestStatus, ResourceIdentifier, Work, WorkloadTemplate, WorkSpec, WorkStatus
from karmada.api.work.v1alpha2 import GracefulEvictionTask, ObjectReference, ResourceBindingSpec, TargetCluster
from karmada.works.copies import Facts
from karmada.works.limits import unavailable_of
from karmada.works.plan import plan

NAME = "web-1"
RESOURCE = ObjectReference(api_version="apps/v1", kind="Deployment", namespace="default", name="web")
NOW = 1_700_000_000.0
DELETED = "2023-11-14T22:13:20Z"  # NOW


def work(cluster, replicas, ready=None, deleted=None, kind="Deployment", applied="True"):
    """A Work whose member reports so many replicas ready; None reports nothing yet."""
    manifest = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": {"replicas": replicas}}
    metadata = ObjectMeta(name=NAME, namespace=names.execution_space(cluster), uid=cluster, deletion_timestamp=deleted)
    status = WorkStatus()
    if ready is not None:
        condition = Condition(type="Applied", status=applied)
        names_ = {"kind": kind, "resource": "deployments", "namespace": "default", "name": "web"}
        which = ResourceIdentifier(ordinal=0, group="apps", version="v1", **names_)
        counts = msgspec.Raw(orjson.dumps({"replicas": replicas, "readyReplicas": ready}))
        report = ManifestStatus(identifier=which, status=counts, health="Healthy")
        status = WorkStatus(conditions=(condition,), manifest_statuses=(report,))
    manifests = (msgspec.Raw(orjson.dumps(manifest)),)
    return Work(metadata=metadata, spec=WorkSpec(workload=WorkloadTemplate(manifests=manifests)), status=status)


def spec(clusters, limit=None, tasks=(), **failover):
    if limit is not None:
        failover["disruption_budget"] = DisruptionBudget(max_unavailable=limit)
    return ResourceBindingSpec(
        resource=RESOURCE,
        replicas=sum(clusters.values()) or 4,
        clusters=tuple(TargetCluster(name=name, replicas=count) for name, count in clusters.items()),
        graceful_eviction_tasks=tasks,
        failover=FailoverBehavior(**failover),
    )


def planned(wanted, *works, down=(), left=(), now=NOW, overridden=None):
    facts = Facts(lambda name: name not in down if name not in left else None, now, overridden=overridden or {})
    made = plan(wanted, works, NAME, facts)
    deleted = sorted(names.cluster_of_execution_space(one.metadata.namespace) for one in made.delete)
    return deleted, {one.target.name: one.target.replicas for one in made.write}, made.waiting


def test_a_copy_that_is_left_stays_until_its_replacement_is_ready():
    deleted, written, waiting = planned(spec({"b": 4}, 0), work("a", 4, 4))
    assert (deleted, written) == ([], {"b": 4})
    assert waiting.reason == "DisruptionBudget"
    assert "replicas stay in a until others are ready: at most 0 of 4" in waiting.message
    deleted, written, waiting = planned(spec({"b": 4}, 0), work("a", 4, 4), work("b", 4, 4))
    assert (deleted, written, waiting) == (["a"], {"b": 4}, None)


def test_a_budget_lets_so_many_replicas_go_first():
    assert planned(spec({"b": 4}, 1), work("a", 4, 4))[:2] == ([], {"b": 4, "a": 3})
    assert planned(spec({"b": 4}, "50%"), work("a", 4, 4))[:2] == ([], {"b": 4, "a": 2})


def test_what_was_given_up_already_counts_though_the_member_still_reports_it():
    deleted, written, _ = planned(spec({"b": 4}, 1), work("a", 3, 4), work("b", 4, 0))
    assert (deleted, written) == ([], {"b": 4})


def test_every_replacement_that_is_ready_lets_one_go():
    assert planned(spec({"b": 4}, 1), work("a", 3, 3), work("b", 4, 2))[1] == {"b": 4, "a": 1}


def test_a_cluster_that_keeps_some_shrinks_by_the_same_budget():
    deleted, written, waiting = planned(spec({"a": 1, "b": 3}, 1), work("a", 4, 4))
    assert (deleted, written) == ([], {"a": 3, "b": 3})
    assert waiting is not None


def test_replicas_that_are_not_ready_cost_nothing():
    assert planned(spec({"b": 4}, 0), work("a", 4, 0))[0] == ["a"]
    assert planned(spec({"b": 4}, 0), work("a", 4, 1))[1] == {"b": 4, "a": 1}


def test_replicas_in_a_cluster_that_does_not_answer_may_come_back_with_it():
    deleted, written, waiting = planned(spec({"b": 4}, 0), work("a", 4, 4), down=["a"])
    assert (deleted, written) == ([], {"b": 4})
    assert waiting is not None
    assert planned(spec({"b": 4}, 0), work("a", 4, 4), work("b", 4, 4), down=["a"])[0] == ["a"]
    both = planned(spec({"b": 4}, 0), work("a", 4, 4), work("b", 4, 4), down=["a", "b"])
    assert both[0] == [], "neither is known to run, and neither goes"


def test_a_cluster_that_has_left_has_no_replicas():
    assert planned(spec({"b": 4}, 0), work("a", 4, 4), left=["a"])[0] == ["a"]


def test_replicas_of_a_manifest_that_could_not_be_applied_lately_may_still_run():
    deleted, written, waiting = planned(spec({"b": 4}, 0), work("a", 4, 4, applied="False"))
    assert (deleted, written) == ([], {"b": 4})
    assert waiting is not None
    assert planned(spec({"b": 4}, 0), work("a", 4, 4, applied="False"), work("b", 4, 4))[0] == ["a"]
    unsure = planned(spec({"b": 4}, 0), work("a", 4, 4), work("b", 4, 4, applied="False"))
    assert unsure[0] == [], "whether the replacement runs is not known"


def test_scaling_down_is_no_disruption():
    deleted, written, waiting = planned(spec({"a": 1}, 0), work("a", 4, 4), work("b", 4, 4))
    assert (deleted, written, waiting) == (["b"], {"a": 1}, None)


def test_a_result_without_clusters_keeps_what_the_budget_keeps():
    deleted, written, waiting = planned(spec({}, 0), work("a", 4, 4))
    assert (deleted, written) == ([], {})
    assert waiting is not None


def test_several_clusters_share_one_budget():
    deleted, written, _ = planned(spec({"c": 4}, 1), work("a", 2, 2), work("b", 2, 2))
    assert (deleted, written) == ([], {"c": 4, "a": 1})


def test_replicas_that_an_override_sets_go_all_at_once_or_stay():
    assert planned(spec({"b": 4}, 1), work("a", 4, 4), overridden={"a": 4})[1] == {"b": 4}
    assert planned(spec({"b": 4}, 0), work("a", 4, 4), work("b", 4, 4), overridden={"a": 4})[0] == ["a"]


def test_a_budget_holds_against_a_direct_purge():
    task = GracefulEvictionTask(from_cluster="a", purge_mode="Directly", reason="r", producer="p")
    deleted, written, _ = planned(spec({"b": 4}, 0, (task,)), work("a", 4, 4))
    assert (deleted, written) == ([], {"b": 4})


def test_failback_alone_replaces_before_it_removes():
    deleted, written, waiting = planned(spec({"b": 4}, failback=FailbackBehavior()), work("a", 4, 4))
    assert (deleted, written) == ([], {"b": 4})
    assert "failover.failback" in waiting.message


def test_failback_alone_obeys_a_direct_purge():
    task = GracefulEvictionTask(from_cluster="a", purge_mode="Directly", reason="r", producer="p")
    assert planned(spec({"b": 4}, None, (task,), failback=FailbackBehavior()), work("a", 4, 4))[0] == ["a"]


@pytest.mark.parametrize(("limit", "wanted", "count"), [(2, 10, 2), ("25%", 10, 2), ("100%", 3, 3), ("150%", 100, 100)])
def test_shares_are_rounded_down_and_never_more_than_all(limit, wanted, count):
    assert unavailable_of(limit, wanted) == count


@pytest.mark.parametrize("limit", [-1, "x", "x%", "25", "-5%", ""])
def test_a_limit_that_makes_no_sense_allows_nothing(limit):
    assert unavailable_of(limit, 10) == 0


def test_a_fence_stops_the_old_copy_and_starts_none():
    task = GracefulEvictionTask(from_cluster="a", purge_mode="Gracefully", reason="r", producer="p")
    deleted, written, waiting = planned(spec({"b": 1}, None, (task,), fencing=Fencing()), work("a", 1, 1))
    assert (deleted, written) == (["a"], {})
    assert waiting.reason == "Fenced"
    assert waiting.message.startswith("b waits until a confirms that the copy there has stopped")


def test_a_fence_falls_when_the_copy_is_gone():
    assert planned(spec({"b": 1}, fencing=Fencing()))[1:] == ({"b": 1}, None)


def test_a_fence_without_a_timeout_waits_for_ever():
    gone = work("a", 1, 1, DELETED)
    assert planned(spec({"b": 1}, fencing=Fencing()), gone, now=NOW + 1e6)[1] == {}


def test_a_fence_falls_after_its_timeout():
    gone, wanted = work("a", 1, 1, DELETED), spec({"b": 1}, fencing=Fencing(timeout_seconds=60))
    assert planned(wanted, gone, now=NOW + 59)[1] == {}
    assert planned(wanted, gone, now=NOW + 60)[1] == {"b": 1}


def test_what_runs_behind_a_fence_is_written_and_does_not_grow():
    deleted, written, _ = planned(spec({"b": 5}, fencing=Fencing()), work("a", 3, 3), work("b", 2, 2))
    assert (deleted, written) == (["a"], {"b": 2})


def test_a_fence_holds_nothing_that_has_what_it_shall_have():
    found = planned(spec({"b": 2}, fencing=Fencing()), work("a", 3, 3), work("b", 2, 2))
    assert found == (["a"], {"b": 2}, None)


def test_a_copy_that_loses_nothing_leaves_the_budget_to_the_others():
    works = [work(name, 2, 2) for name in "abc"]
    assert planned(spec({"a": 2, "c": 2}, 0), *works) == (["b"], {"a": 2, "c": 2}, None)


def test_a_copy_whose_manifest_names_no_replicas_stays_as_it_is_or_goes():
    deleted, written, waiting = planned(spec({"b": 1}, 0), work("a", None, 1))
    assert (deleted, written) == ([], {"b": 1})
    assert waiting is not None
    assert planned(spec({"b": 1}, 0), work("a", None, 1), work("b", 1, 1))[0] == ["a"]


def test_a_fence_keeps_the_copy_while_there_is_nowhere_to_go():
    task = GracefulEvictionTask(from_cluster="a", purge_mode="Gracefully", reason="r", producer="p")
    assert planned(spec({}, None, (task,), fencing=Fencing()), work("a", 1, 1))[0] == []


def test_without_limits_nothing_waits():
    assert planned(spec({"b": 4}), work("a", 4, 4)) == (["a"], {"b": 4}, None)
