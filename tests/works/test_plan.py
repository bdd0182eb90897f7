"""Which Works of a binding are deleted, written, or waited for."""

from karmada.api import names
from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha1 import Work, WorkSpec
from karmada.api.work.v1alpha2 import (
    BindingSnapshot,
    GracefulEvictionTask,
    ObjectReference,
    ResourceBindingSpec,
    TargetCluster,
)
from karmada.works.plan import plan

NAME = "web-1"


def work(cluster: str, name: str = NAME) -> Work:
    return Work(metadata=ObjectMeta(name=name, namespace=names.execution_space(cluster)), spec=WorkSpec())


def spec(
    *clusters: str, tasks: tuple[GracefulEvictionTask, ...] = (), required: tuple[str, ...] = ()
) -> ResourceBindingSpec:
    return ResourceBindingSpec(
        resource=ObjectReference(api_version="apps/v1", kind="Deployment", name="web"),
        clusters=tuple(TargetCluster(name=cluster) for cluster in clusters),
        graceful_eviction_tasks=tasks,
        required_by=(BindingSnapshot(name="app", clusters=tuple(TargetCluster(name=cluster) for cluster in required)),),
    )


def evicted(cluster: str, mode: str) -> GracefulEvictionTask:
    return GracefulEvictionTask(from_cluster=cluster, purge_mode=mode, reason="r", producer="p")


def test_a_cluster_that_is_no_longer_chosen_loses_its_work() -> None:
    left = work("b")
    assert plan(spec("a"), [work("a"), left], NAME).delete == [left]


def test_every_target_is_written_onto_the_work_it_has() -> None:
    present = work("a")
    written = plan(spec("a", "b"), [present], NAME).write
    assert [(write.target.name, write.existing) for write in written] == [("a", present), ("b", None)]


def test_a_work_of_todays_name_is_preferred_to_one_of_an_older_name() -> None:
    present = work("a")
    for works in ([present, work("a", "web-old")], [work("a", "web-old"), present]):
        assert plan(spec("a"), works, NAME).write[0].existing is present


def test_clusters_of_requirers_are_kept_and_written() -> None:
    planned = plan(spec("a", required=("b",)), [work("b")], NAME)
    assert planned.delete == []
    assert [write.target.name for write in planned.write] == ["a", "b"]


def test_a_copy_that_is_evicted_gracefully_stays_and_is_not_written() -> None:
    planned = plan(spec("a", tasks=(evicted("b", "Gracefully"),)), [work("b")], NAME)
    assert planned.delete == []
    assert [write.target.name for write in planned.write] == ["a"]
    assert not planned.purging


def test_a_copy_that_is_purged_directly_goes_first_and_holds_up_the_others() -> None:
    gone = work("b")
    planned = plan(spec("a", tasks=(evicted("b", "Directly"),)), [gone], NAME)
    assert planned.delete == [gone]
    assert planned.purging == {"b"}
    assert not plan(spec("a", tasks=(evicted("b", "Directly"),)), [], NAME).purging
