"""From a binding to the Work of a cluster: what it holds, what marks it, and what of an existing one stays."""

from typing import Any

import msgspec
import orjson
import pytest

from karmada.api import annotations, labels
from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.api.meta import ObjectMeta
from karmada.api.policy.v1alpha1 import (
    ClusterOverridePolicy,
    FailoverBehavior,
    Fencing,
    OverridePolicy,
    Placement,
    ReplicaSchedulingStrategy,
    SuspendClusters,
)
from karmada.api.work.v1alpha1 import Work, WorkloadTemplate, WorkSpec, WorkStatus
from karmada.api.work.v1alpha2 import (
    BindingSnapshot,
    BindingSuspension,
    ClusterResourceBinding,
    Component,
    GracefulEvictionTask,
    ObjectReference,
    ReplicaRequirements,
    ResourceBinding,
    ResourceBindingSpec,
    TargetCluster,
)
from karmada.overrides.identity import IdentityChanged
from karmada.works.build import (
    Draft,
    Overrides,
    WorkBuilder,
    WorkTerminating,
    conflict_resolution,
    is_workload,
    job_completions,
    keep_set,
    manifest_of,
    targets,
)
from karmada.works.owner import WorkOfAnother

CLUSTER = Cluster(metadata=ObjectMeta(name="m1"), spec=ClusterSpec(sync_mode="Push"))
DIVIDED = Placement(replica_scheduling=ReplicaSchedulingStrategy(replica_scheduling_type="Divided"))
M1 = TargetCluster(name="m1", replicas=2)
GATES = DEFAULTS.with_overrides({"ControlledMoves": True, "StatefulFailoverInjection": True})
OFF = DEFAULTS.with_overrides({"ControlledMoves": False})

NONE = Overrides()


def template(kind: str = "Deployment", generation: int = 3, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "generation": generation, "labels": {"a": "b"}},
        "spec": spec or {"replicas": 2},
    }


def spec_of(**fields: Any) -> ResourceBindingSpec:
    reference = ObjectReference(api_version="apps/v1", kind="Deployment", namespace="shop", name="web", uid="u-1")
    return ResourceBindingSpec(resource=reference, **{"replicas": 2, "clusters": (M1,), **fields})


def binding_of(spec: ResourceBindingSpec, **noted: str) -> ResourceBinding:
    marks = {labels.RESOURCE_BINDING_PERMANENT_ID: "id-1"}
    metadata = ObjectMeta(name="web-deployment", namespace="shop", labels=marks, annotations=noted)
    return ResourceBinding(metadata=metadata, spec=spec)


def draft(
    spec: ResourceBindingSpec,
    tree: dict[str, Any] | None = None,
    overrides: Overrides = NONE,
    gates: FeatureGates = GATES,
) -> Draft:
    tree = tree or template()
    builder = WorkBuilder(binding_of(spec), tree, overrides, gates)
    return builder.build(orjson.loads(orjson.dumps(tree)), M1, CLUSTER)


def built(spec: ResourceBindingSpec, *more: Any) -> Work:
    return draft(spec, *more).merged(None)


def task(**fields: Any) -> GracefulEvictionTask:
    return GracefulEvictionTask(**{"from_cluster": "m0", "reason": "r", "producer": "p", **fields})


def test_works_stay_in_chosen_clusters_in_those_of_requirers_and_where_eviction_is_graceful() -> None:
    requirer = BindingSnapshot(name="app", clusters=(TargetCluster(name="m2"), TargetCluster(name="m1", replicas=9)))
    tasks = (task(purge_mode="Gracefully"), task(from_cluster="gone", purge_mode="Directly"))
    spec = spec_of(required_by=(requirer,), graceful_eviction_tasks=tasks)
    assert keep_set(spec) == {"m1", "m2", "m0"}
    assert [(target.name, target.replicas) for target in targets(spec)] == [("m1", 2), ("m2", 0)]


@pytest.mark.parametrize(
    ("fields", "workload"),
    [
        ({"replicas": 0}, False),
        ({"replicas": 1}, True),
        ({"replicas": 0, "replica_requirements": ReplicaRequirements()}, True),
        ({"replicas": 0, "components": (Component(name="c", replicas=1),)}, True),
    ],
)
def test_replicas_mean_something_where_the_binding_counts_or_describes_them(fields, workload) -> None:
    assert is_workload(spec_of(**fields)) is workload


@pytest.mark.parametrize(
    ("own", "of_binding", "found"),
    [
        (None, "", "abort"),
        (None, "Overwrite", "overwrite"),
        ("abort", "Overwrite", "abort"),
        ("overwrite", "Abort", "overwrite"),
        ("nonsense", "Overwrite", "overwrite"),
    ],
)
def test_the_templates_own_word_on_conflicts_comes_first(own, of_binding, found) -> None:
    tree = template()
    if own:
        tree["metadata"]["annotations"] = {annotations.CONFLICT_RESOLUTION: own}
    spec = spec_of(conflict_resolution=of_binding)
    assert conflict_resolution(tree, spec) == found
    work = built(spec, tree)
    assert work.metadata.annotations[annotations.CONFLICT_RESOLUTION] == found
    assert manifest_of(work)["metadata"]["annotations"][annotations.CONFLICT_RESOLUTION] == found


def test_a_template_without_metadata_leaves_conflicts_to_the_binding() -> None:
    assert conflict_resolution({}, spec_of()) == "abort"


@pytest.mark.parametrize(
    ("tree", "fields", "shares"),
    [
        (template("Job", completions=5), {"placement": DIVIDED}, {"m1": 3, "m2": 2}),
        (template("Job", completions=5), {"placement": None}, {}),
        (template("Job", completions=5), {"placement": Placement()}, {}),
        (
            template("Job", completions=5),
            {
                "placement": Placement(
                    replica_scheduling=ReplicaSchedulingStrategy(replica_scheduling_type="Duplicated")
                )
            },
            {},
        ),
        (template("Job", completions=5), {"placement": DIVIDED, "replicas": 0}, {}),
        (template("Job", completions=5), {"placement": DIVIDED, "replicas": 1}, {"m1": 3, "m2": 2}),
        (template("Job", completions=0), {"placement": DIVIDED}, {}),
        (template("Deployment", completions=5), {"placement": DIVIDED}, {}),
        ({"kind": "Job"}, {"placement": DIVIDED}, {}),
    ],
)
def test_the_completions_of_a_divided_job_are_shared_like_its_replicas(tree, fields, shares) -> None:
    chosen = [TargetCluster(name="m1", replicas=3), TargetCluster(name="m2", replicas=2)]
    assert job_completions(tree, spec_of(**fields), chosen) == shares


def test_a_copy_of_a_divided_job_has_its_share_of_the_completions() -> None:
    chosen = (M1, TargetCluster(name="m2", replicas=1))
    work = built(spec_of(placement=DIVIDED, clusters=chosen), template("Job", completions=6))
    assert manifest_of(work)["spec"]["completions"] == 4


def test_a_work_leads_back_to_its_binding_and_its_object_to_both() -> None:
    work = built(spec_of())
    back = {annotations.RESOURCE_BINDING_NAMESPACE: "shop", annotations.RESOURCE_BINDING_NAME: "web-deployment"}
    assert work.metadata.name.startswith("web-")
    assert work.metadata.namespace == "karmada-es-m1"
    assert work.metadata.finalizers == ("karmada.io/execution-controller",)
    assert work.metadata.labels == {labels.RESOURCE_BINDING_PERMANENT_ID: "id-1"}
    assert work.metadata.annotations == {annotations.CONFLICT_RESOLUTION: "abort", **back}
    metadata = manifest_of(work)["metadata"]
    assert metadata["labels"] == {"a": "b", labels.RESOURCE_BINDING_PERMANENT_ID: "id-1", labels.MANAGED: "true"}
    assert set(metadata) == {"name", "namespace", "labels", "annotations"}
    noted = metadata["annotations"]
    assert noted.items() >= back.items()
    assert noted[annotations.TEMPLATE_UID] == "u-1"
    assert noted[annotations.TEMPLATE_GENERATION] == "3"
    assert (noted[annotations.WORK_NAMESPACE], noted[annotations.WORK_NAME]) == (
        "karmada-es-m1",
        work.metadata.name,
    )
    assert noted[annotations.MANAGED_ANNOTATIONS].split(",") == sorted(noted)
    assert noted[annotations.MANAGED_LABELS].split(",") == sorted(metadata["labels"])


@pytest.mark.parametrize(("generation", "noted"), [(0, None), (1, "1")])
def test_a_generation_is_noted_once_there_is_one(generation: int, noted: str | None) -> None:
    found = manifest_of(built(spec_of(), template(generation=generation)))["metadata"]["annotations"]
    assert found.get(annotations.TEMPLATE_GENERATION) == noted


def test_the_work_of_a_cluster_scoped_binding_names_it_alone() -> None:
    tree = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web", "uid": "u-1"}}
    metadata = ObjectMeta(name="web-namespace", labels={labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID: "id-2"})
    builder = WorkBuilder(ClusterResourceBinding(metadata=metadata, spec=spec_of()), tree, Overrides(), GATES)
    work = builder.build(orjson.loads(orjson.dumps(tree)), M1, CLUSTER).merged(None)
    assert work.metadata.labels == {labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID: "id-2"}
    assert work.metadata.annotations[annotations.CLUSTER_RESOURCE_BINDING_NAME] == "web-namespace"
    assert builder.owns(msgspec.json.encode(work))
    assert not builder.owns(msgspec.json.encode(built(spec_of())))
    assert not builder.owns(b"{")


def test_a_trace_goes_on_to_the_work() -> None:
    builder = WorkBuilder(binding_of(spec_of(), **{annotations.TRACEPARENT: "00-1"}), template(), Overrides(), GATES)
    assert builder.build(template(), M1, CLUSTER).metadata.annotations[annotations.TRACEPARENT] == "00-1"
    assert annotations.TRACEPARENT not in built(spec_of()).metadata.annotations


def overriding(path: str, value: Any) -> dict[str, Any]:
    change = {"path": path, "operator": "replace", "value": value}
    return {"overrideRules": [{"overriders": {"plaintext": [change]}}]}


def policies(path: str, value: Any) -> Overrides:
    one = {"metadata": {"name": "p", "namespace": "shop"}, "spec": overriding(path, value)}
    other = {"metadata": {"name": "c"}, "spec": overriding(path, value)}
    cluster_policy = msgspec.json.decode(orjson.dumps(other), type=ClusterOverridePolicy)
    return Overrides([cluster_policy], [msgspec.json.decode(orjson.dumps(one), type=OverridePolicy)])


def test_overrides_that_took_effect_are_recorded_and_named_for_events() -> None:
    made = draft(spec_of(), template(paused=False), policies("/spec/paused", True))
    assert made.applied == [("cluster override policy", "c"), ("override policy", "shop/p")]
    work = made.merged(None)
    assert manifest_of(work)["spec"]["paused"] is True
    recorded = (annotations.APPLIED_CLUSTER_OVERRIDES, annotations.APPLIED_OVERRIDES)
    assert [orjson.loads(work.metadata.annotations[key])[0]["policyName"] for key in recorded] == ["c", "p"]
    assert not draft(spec_of()).applied


@pytest.mark.parametrize(("said", "found"), [("overwrite", "overwrite"), ("nonsense", "abort")])
def test_an_override_policy_may_resolve_the_conflicts_of_its_clusters_otherwise(said, found) -> None:
    change = {"operator": "add", "value": {annotations.CONFLICT_RESOLUTION: said}}
    spec = {"overrideRules": [{"overriders": {"annotationsOverrider": [change]}}]}
    policy = msgspec.convert({"metadata": {"name": "p", "namespace": "shop"}, "spec": spec}, OverridePolicy)
    work = built(spec_of(conflict_resolution="Abort"), template(), Overrides(policies=[policy]))
    assert work.metadata.annotations[annotations.CONFLICT_RESOLUTION] == found
    assert manifest_of(work)["metadata"]["annotations"][annotations.CONFLICT_RESOLUTION] == found


REVISED = Overrides(
    [
        msgspec.json.decode(
            b'{"metadata": {"name": "c"}, "spec": {"overrideRules":'
            b' [{"overriders": {"replicasOverrider": [{"operator": "overwrite", "value": 7}]}}]}}',
            type=ClusterOverridePolicy,
        )
    ]
)


@pytest.mark.parametrize(
    ("fields", "overrides", "wanted"),
    [
        ({}, Overrides(), 2),
        ({"replicas": 0}, Overrides(), None),
        ({"components": (Component(name="c", replicas=1),)}, Overrides(), None),
        ({}, REVISED, 7),
    ],
)
def test_a_copy_is_revised_to_the_clusters_share_unless_an_override_says_more(fields, overrides, wanted) -> None:
    builder = WorkBuilder(binding_of(spec_of(**fields)), template(), overrides, GATES)
    assert builder.replicas(M1, CLUSTER) == wanted


def test_an_interpreter_may_not_hand_back_another_object() -> None:
    other = template()
    other["metadata"]["name"] = "other"
    with pytest.raises(IdentityChanged, match="replica revision"):
        WorkBuilder(binding_of(spec_of()), template(), Overrides(), GATES).build(other, M1, CLUSTER)


@pytest.mark.parametrize(
    ("failover", "gates", "fenced"),
    [
        (FailoverBehavior(fencing=Fencing()), GATES, True),
        (FailoverBehavior(), GATES, False),
        (None, GATES, False),
        (FailoverBehavior(fencing=Fencing()), OFF, False),
    ],
)
def test_a_work_behind_a_fence_says_so(failover, gates, fenced) -> None:
    work = built(spec_of(failover=failover), None, Overrides(), gates)
    assert work.metadata.annotations.get(annotations.FENCED) == ("true" if fenced else None)


@pytest.mark.parametrize("given_up", ["policy", "gate"])
def test_a_fence_that_was_given_up_is_taken_off_the_work(given_up) -> None:
    fenced = spec_of(failover=FailoverBehavior(fencing=Fencing()))
    before = built(fenced, None, Overrides(), GATES)
    spec, gates = (spec_of(), GATES) if given_up == "policy" else (fenced, OFF)
    after = draft(spec, None, Overrides(), gates).merged(before)
    assert annotations.FENCED in before.metadata.annotations
    assert after.metadata.annotations == {
        key: value for key, value in before.metadata.annotations.items() if key != annotations.FENCED
    }


STATE = {"state.example.com/cursor": "7"}


@pytest.mark.parametrize(
    ("tasks", "clusters", "gates", "injected"),
    [
        ((task(purge_mode="Directly", preserved_label_state=STATE),), (M1,), GATES, True),
        ((task(), task(purge_mode="Directly", preserved_label_state=STATE)), (M1,), GATES, True),
        ((task(purge_mode="Directly", preserved_label_state=STATE), task()), (M1,), GATES, False),
        ((task(purge_mode="Gracefully", preserved_label_state=STATE),), (M1,), GATES, False),
        (
            (task(purge_mode="Directly", preserved_label_state=STATE, clusters_before_failover=("m1",)),),
            (M1,),
            GATES,
            False,
        ),
        (
            (task(purge_mode="Directly", preserved_label_state=STATE),),
            (M1, TargetCluster(name="m2")),
            GATES,
            False,
        ),
        (
            (task(purge_mode="Directly", preserved_label_state=STATE),),
            (M1,),
            DEFAULTS.with_overrides({"StatefulFailoverInjection": False}),
            False,
        ),
        ((), (M1,), GATES, False),
    ],
)
def test_the_state_of_a_failed_copy_goes_to_the_one_that_replaces_it(tasks, clusters, gates, injected) -> None:
    spec = spec_of(graceful_eviction_tasks=tasks, clusters=clusters)
    found = manifest_of(built(spec, None, Overrides(), gates))["metadata"]["labels"]
    assert ("state.example.com/cursor" in found) is injected


def test_the_state_of_a_failed_copy_goes_to_no_copy_that_another_resource_requires() -> None:
    tasks = (task(purge_mode="Directly", preserved_label_state=STATE),)
    requirer = BindingSnapshot(name="app", clusters=(M1,))
    spec = spec_of(graceful_eviction_tasks=tasks, clusters=(TargetCluster(name="m2"),), required_by=(requirer,))
    assert "state.example.com/cursor" not in manifest_of(built(spec, None, NONE, GATES))["metadata"]["labels"]


@pytest.mark.parametrize(
    ("suspension", "suspended"),
    [
        (None, False),
        (BindingSuspension(), False),
        (BindingSuspension(dispatching=True), True),
        (BindingSuspension(dispatching_on_clusters=SuspendClusters(cluster_names=("m1",))), True),
        (BindingSuspension(dispatching_on_clusters=SuspendClusters(cluster_names=("m2",))), False),
    ],
)
def test_dispatching_is_suspended_everywhere_or_in_named_clusters(suspension, suspended) -> None:
    assert built(spec_of(suspension=suspension)).spec.suspend_dispatching is suspended


@pytest.mark.parametrize(("expected", "kept"), [(None, False), (False, False), (True, True)])
def test_a_work_says_whether_its_objects_stay_when_it_goes(expected, kept) -> None:
    assert built(spec_of(preserve_resources_on_deletion=expected)).spec.preserve_resources_on_deletion is kept


def existing(**metadata: Any) -> Work:
    own = built(spec_of())
    return Work(
        metadata=msgspec.structs.replace(own.metadata, **metadata),
        spec=WorkSpec(workload=WorkloadTemplate(manifests=own.spec.workload.manifests)),
        status=WorkStatus(),
    )


def test_what_others_wrote_into_a_work_stays_and_its_spec_is_replaced() -> None:
    own = built(spec_of())
    there = existing(
        labels={"x": "1", labels.RESOURCE_BINDING_PERMANENT_ID: "old"},
        annotations={**own.metadata.annotations, "y": "2"},
        finalizers=("z", *own.metadata.finalizers),
        uid="w",
    )
    merged = draft(spec_of(preserve_resources_on_deletion=True)).merged(there)
    assert merged.metadata.labels == {"x": "1", labels.RESOURCE_BINDING_PERMANENT_ID: "id-1"}
    assert merged.metadata.annotations == {**own.metadata.annotations, "y": "2"}
    assert merged.metadata.finalizers == ("z", "karmada.io/execution-controller")
    assert merged.metadata.uid == "w"
    assert merged.spec.preserve_resources_on_deletion is True
    assert labels.WORK_PERMANENT_ID not in manifest_of(merged)["metadata"]["labels"]


def test_the_object_of_a_work_with_an_id_carries_it() -> None:
    made = draft(spec_of())
    there = existing(labels={labels.WORK_PERMANENT_ID: "w-1"})
    found = manifest_of(made.merged(there))["metadata"]
    assert found["labels"][labels.WORK_PERMANENT_ID] == "w-1"
    assert labels.WORK_PERMANENT_ID in found["annotations"][annotations.MANAGED_LABELS].split(",")
    assert labels.WORK_PERMANENT_ID not in manifest_of(made.merged(None))["metadata"]["labels"]


def test_a_work_that_is_being_deleted_is_not_written() -> None:
    with pytest.raises(WorkTerminating, match=r"work karmada-es-m1/web-\w+ is being deleted"):
        draft(spec_of()).merged(existing(deletion_timestamp="2026-01-01T00:00:00Z"))


def test_a_work_of_another_binding_is_not_written() -> None:
    theirs = existing(annotations={annotations.RESOURCE_BINDING_NAMESPACE: "x", annotations.RESOURCE_BINDING_NAME: "y"})
    with pytest.raises(WorkOfAnother, match="belongs to ResourceBinding x/y"):
        draft(spec_of()).merged(theirs)


def test_the_state_of_a_failed_copy_cannot_forge_the_marks_of_management() -> None:
    state = STATE | {labels.WORK_PERMANENT_ID: "forged"}
    tasks = (task(purge_mode="Directly", preserved_label_state=state),)
    found = manifest_of(built(spec_of(graceful_eviction_tasks=tasks)))["metadata"]["labels"]
    assert found.items() >= STATE.items()
    assert labels.WORK_PERMANENT_ID not in found
