"""The scheduler on a control plane: what clients see of its decisions."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from tests.scheduler.plane import BINDINGS, CLUSTERS, DYNAMIC, WIDE_BINDINGS, Plane, on_a_plane

from karmada.api.feature_gates import FeatureGates
from karmada.machinery.errors import Forbidden, Unavailable
from karmada.machinery.transport import Request, Verb
from karmada.scheduler.core.facts import Estimates
from karmada.scheduler.core.request import Binding, Settings
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.keys import BindingKey
from karmada.scheduler.plugins.registry import choose
from karmada.scheduler.service import SchedulerOptions

SUCCESS = "Binding has been scheduled successfully."


def test_a_binding_is_scheduled_and_says_so() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.join("member2")
        await plane.bind("web")
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}
        binding = await plane.binding("web")
        assert binding["status"]["schedulerObservedGeneration"] == binding["metadata"]["generation"] == 2
        assert "lastScheduledTime" in binding["status"]
        assert binding["metadata"]["annotations"]["policy.karmada.io/applied-placement"] == "{}"
        condition = await plane.condition("web")
        assert (condition["status"], condition["reason"], condition["message"]) == ("True", "Success", SUCCESS)
        for kind in ("ResourceBinding", "Deployment"):
            text = f"{SUCCESS} Result: {{member1:2, member2:2}}"
            assert await plane.events(kind, "web") == [("Normal", "ScheduleBindingSucceed", text)]

    on_a_plane(scenario)


def test_a_cluster_scoped_binding_is_scheduled_too() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "wide"}
        await plane.client.resource(WIDE_BINDINGS).create(
            {
                "apiVersion": "work.karmada.io/v1alpha2",
                "kind": "ClusterResourceBinding",
                "metadata": {"name": "wide", "labels": {"clusterpropagationpolicy.karmada.io/permanent-id": "p"}},
                "spec": {"resource": resource, "placement": {}},
            }
        )
        await plane.settle()
        binding = await plane.client.resource(WIDE_BINDINGS).get("wide")
        assert binding["spec"]["clusters"] == [{"name": "member1"}]
        (event,) = await plane.events("ClusterResourceBinding", "wide")
        assert event[2] == f"{SUCCESS} Result {{member1:0}}"

    on_a_plane(scenario)


def test_when_no_cluster_fits_the_old_result_goes_and_the_reason_is_reported() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web")
        await plane.settle()
        placement = {"clusterAffinity": {"clusterNames": ["nowhere"]}}
        await plane.client.resource(BINDINGS).patch("web", {"spec": {"placement": placement}}, "default")
        await plane.settle()
        assert await plane.result("web") == {}
        condition = await plane.condition("web")
        assert (condition["status"], condition["reason"]) == ("False", "NoClusterFit")
        assert condition["message"] == (
            "0/1 clusters are available: 1 cluster(s) did not match the placement cluster affinity constraint. "
            '(spec.placement.clusterAffinity.clusterNames: Not found: "nowhere": there is no such cluster)'
        )

    on_a_plane(scenario)


@pytest.mark.parametrize("replicas", [2, 0], ids=["placed", "nowhere"])
def test_a_change_about_which_nothing_is_to_decide_is_observed_and_no_more(replicas: int) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        chosen = {"clusterNames": ["member1" if replicas else "nowhere"]}
        placement = {"replicaScheduling": DYNAMIC, "clusterAffinity": chosen}
        await plane.bind("web", replicas, placement, replicaRequirements={})
        await plane.settle()
        before = (await plane.binding("web"))["status"]
        assert (await plane.condition("web"))["reason"] == ("Success" if replicas else "NoClusterFit")
        patch = {"spec": {"conflictResolution": "Overwrite"}}
        await plane.client.resource(BINDINGS).patch("web", patch, "default")
        await plane.settle()
        binding = await plane.binding("web")
        assert binding["status"] == before | {"schedulerObservedGeneration": binding["metadata"]["generation"]}

    on_a_plane(scenario)


@pytest.mark.parametrize("strategy", [{"replicaSchedulingType": "Duplicated"}, DYNAMIC], ids=["duplicated", "divided"])
def test_a_binding_that_no_cluster_fits_is_placed_once_a_cluster_knows_its_kind(strategy: dict[str, Any]) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.client.resource(CLUSTERS).patch("member1", {"status": {"apiEnablements": []}}, subresource="status")
        await plane.settle()
        await plane.bind("web", placement={"replicaScheduling": strategy})
        await plane.settle()
        assert (await plane.condition("web"))["reason"] == "NoClusterFit"
        await plane.report("member1", 100)
        await plane.settle()
        assert await plane.result("web") == {"member1": 2}

    on_a_plane(scenario)


def test_the_last_copy_stays_when_the_operator_wants_it_to() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web")
        await plane.settle()
        placement = {"clusterAffinity": {"clusterNames": ["nowhere"]}}
        await plane.client.resource(BINDINGS).patch("web", {"spec": {"placement": placement}}, "default")
        await plane.settle()
        assert await plane.result("web") == {"member1": 2}
        assert (await plane.condition("web"))["reason"] == "NoClusterFit"

    on_a_plane(scenario, SchedulerOptions(settings=Settings(FeatureGates({"KeepLastCopy": True}))))


def test_a_binding_without_room_waits_and_is_placed_once_there_is_some() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", pods=3)
        await plane.bind("web", 5, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        condition = await plane.condition("web")
        assert (condition["reason"], await plane.result("web")) == ("Unschedulable", {})
        assert condition["message"].endswith("Clusters available replicas 3 are not enough to schedule.")
        await plane.report("member1", 10)
        await plane.settle()
        assert await plane.result("web") == {"member1": 5}
        assert (await plane.condition("web"))["status"] == "True"

    on_a_plane(scenario)


def test_the_scheduler_writes_a_result_and_a_status_and_nothing_else() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web")
        await plane.settle()
        written = [r for r in plane.requests if r.verb is Verb.PATCH and r.resource == BINDINGS]
        assert [request.subresource for request in written] == ["", "status"]

    on_a_plane(scenario)


@pytest.mark.parametrize(
    "change",
    [{"suspension": {"scheduling": True}}, {"schedulerName": "other"}],
    ids=["suspended", "of another scheduler"],
)
def test_bindings_that_are_not_ours_are_left_alone(change: dict[str, object]) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web", **change)
        await plane.settle()
        assert await plane.result("web") == {}

    on_a_plane(scenario)


def test_a_refusal_by_quota_is_the_reported_reason() -> None:
    message = 'admission webhook "x" denied the request: FederatedResourceQuota(default/q) exceeded'

    async def scenario(plane: Plane) -> None:
        await plane.join("member1")

        def refuse(request: Request) -> None:
            if request.verb is Verb.PATCH and request.resource == BINDINGS and not request.subresource:
                raise Forbidden(message)

        plane.before_request = refuse
        await plane.bind("web")
        await plane.settle()
        condition = await plane.condition("web")
        assert (condition["reason"], condition["message"]) == ("QuotaExceeded", message)
        plane.before_request = None
        await plane.settle(2)
        assert await plane.result("web") == {"member1": 2}

    on_a_plane(scenario)


def test_impossible_constraints_name_the_reason_and_disturb_nobody() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        spread = [{"spreadByField": "cluster", "minGroups": 7, "maxGroups": 9}]
        await plane.bind("bad", placement={"spreadConstraints": spread})
        await plane.bind("nonsense", replicaRequirements={"resourceRequest": {"cpu": "1"}}, replicas=2**31 - 1)
        await plane.bind("good")
        await plane.settle()
        condition = await plane.condition("bad")
        assert condition["reason"] == "SchedulerError"
        assert "spreadConstraint.MinGroups" in condition["message"]
        assert await plane.result("good") == {"member1": 2}

    on_a_plane(scenario)


class Broken:
    """A filter of somebody else with a defect."""

    name = "Broken"
    spares_targets = False

    def aspect(self, request: Any) -> str:
        return str(request.spec.resource.name)

    def reject(self, cluster: object, request: Any) -> str | None:
        if request.spec.resource.name == "bad":
            raise ZeroDivisionError("somebody else's defect" + "!" * 40_000)
        return None


def test_a_plugin_that_fails_at_length_concerns_only_its_binding(failures: list[str]) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("bad")
        await plane.bind("good")
        await plane.settle()
        condition = await plane.condition("bad")
        assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
        assert "somebody else's defect" in condition["message"]
        assert await plane.result("good") == {"member1": 2}

    on_a_plane(scenario, SchedulerOptions(framework=choose("*", [Broken()])))
    assert failures
    assert all(failure.startswith("scheduling") and "default/bad" in failure for failure in failures)


def test_what_was_just_placed_counts_before_clusters_report_it() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", pods=10)
        for name in ("a", "b"):
            await plane.bind(name, 6, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        placed = [await plane.result(name) for name in ("a", "b")]
        assert sorted(placed, key=len) == [{}, {"member1": 6}]

    gates = FeatureGates({"SchedulingOvercommitProtection": True})
    on_a_plane(scenario, SchedulerOptions(settings=Settings(gates)))


class Noting:
    """An estimator without an opinion that notes for whom it is asked, and how many others count in its member."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []

    async def estimate(self, snapshot: Snapshot, binding: Binding, clusters: Sequence[str], sets: bool) -> Estimates:
        self.asked.append((binding.metadata.name, len(snapshot.assumed.get("member1", ()))))
        return {}

    def forget(self, cluster: str) -> None:
        """Nothing is remembered."""


def test_an_estimator_is_told_of_what_was_just_placed_for_others() -> None:
    estimator = Noting()

    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        for name in ("a", "b", "a"):
            if name in dict(estimator.asked):
                await plane.client.resource(BINDINGS).patch(name, {"spec": {"replicas": 2}}, "default")
            else:
                await plane.bind(name, 1, {"replicaScheduling": DYNAMIC})
            await plane.settle()
        assert estimator.asked == [("a", 0), ("b", 1), ("a", 1)]

    gates = FeatureGates({"SchedulingOvercommitProtection": True})
    on_a_plane(scenario, SchedulerOptions(settings=Settings(gates)), estimator)


def test_decisions_are_remembered_with_their_reasons() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.join("member2", taints=[{"key": "k", "effect": "NoSchedule"}])
        await plane.bind("web")
        await plane.settle()
        (noted,) = plane.scheduler.decisions.of(BindingKey("default", "web"))
        attempt = noted.decision.decisive
        assert noted.cause == "placementChanged"
        assert attempt.rejections["member2"][0].plugin == "TaintToleration"
        assert attempt.selected == ("member1",)

    on_a_plane(scenario)


def test_a_move_that_could_not_be_written_is_tried_again() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.join("member2", finalizers=["test/hold"])
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()

        def refuse(request: Request) -> None:
            if request.verb is Verb.PATCH and request.resource == BINDINGS and not request.subresource:
                raise Unavailable("storage is busy")

        plane.before_request = refuse
        await plane.client.resource(CLUSTERS).delete("member2")
        await plane.settle()
        plane.before_request = None
        await plane.settle(20)
        assert await plane.result("web") == {"member1": 4}

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("strategy", "renewed"),
    [({"replicaSchedulingType": "Duplicated"}, True), (DYNAMIC, False)],
    ids=["duplicated: decided at every change", "divided: nothing to decide"],
)
def test_an_attempt_that_changes_nothing_renews_the_time_and_reports_nothing(
    strategy: dict[str, Any], renewed: bool
) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.bind("web", placement={"replicaScheduling": strategy})
        await plane.settle()
        before = await plane.binding("web")
        await plane.settle(10)
        for color in ("blue", "red"):
            labels = {"metadata": {"labels": {"color": color}}}
            await plane.client.resource(CLUSTERS).patch("member1", labels)
        await plane.settle()
        after = await plane.binding("web")
        assert (after["status"].pop("lastScheduledTime") > before["status"].pop("lastScheduledTime")) is renewed
        assert (after["spec"], after["status"]) == (before["spec"], before["status"])
        assert len(await plane.events("ResourceBinding", "web")) == 1
        writes = [r for r in plane.requests if r.verb is Verb.PATCH and r.resource == BINDINGS]
        assert len(writes) == (3 if renewed else 2)

    on_a_plane(scenario)


def test_a_result_whose_status_could_not_be_written_is_reported_later() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", pods=3)
        await plane.bind("web", 5, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        assert (await plane.condition("web"))["reason"] == "Unschedulable"

        def refuse(request: Request) -> None:
            if request.verb is Verb.PATCH and request.resource == BINDINGS and request.subresource:
                raise Unavailable("storage is busy")

        plane.before_request = refuse
        await plane.report("member1", 10)
        await plane.settle()
        plane.before_request = None
        await plane.settle(20)
        assert await plane.result("web") == {"member1": 5}
        assert (await plane.condition("web"))["reason"] == "Success"
        binding = await plane.binding("web")
        assert binding["status"]["schedulerObservedGeneration"] == binding["metadata"]["generation"]
        assert "lastScheduledTime" in binding["status"]
        assert (await plane.events("ResourceBinding", "web"))[-1][1] == "ScheduleBindingSucceed"

    on_a_plane(scenario)


FAILED = {"type": "Scheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}


@pytest.mark.parametrize("said", [[], [FAILED | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]], ids=["", "failed"])
def test_what_an_attempt_that_was_cut_short_had_to_say_is_said(said: list[dict[str, str]]) -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        suspended = {"suspension": {"scheduling": True}}
        await plane.bind("web", 2, {"replicaScheduling": DYNAMIC}, **suspended)
        bindings = plane.client.resource(BINDINGS)
        await bindings.patch("web", {"status": {"conditions": said}}, "default", subresource="status")
        placement = (await plane.binding("web"))["spec"]["placement"]
        applied = {"policy.karmada.io/applied-placement": orjson.dumps(placement).decode()}
        result = {"clusters": [{"name": "member1", "replicas": 2}], "suspension": None}
        await bindings.patch("web", {"metadata": {"annotations": applied}, "spec": result}, "default")
        await plane.settle()
        binding = await plane.binding("web")
        assert binding["status"]["schedulerObservedGeneration"] == binding["metadata"]["generation"]
        assert "lastScheduledTime" in binding["status"]
        assert (await plane.condition("web"))["reason"] == "Success"

    on_a_plane(scenario)


def test_a_failure_is_over_when_the_clusters_are_enough_again() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", 3)
        await plane.bind("web", 2, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        scheduled = (await plane.binding("web"))["status"]["lastScheduledTime"]
        for replicas, reason in ((9, "Unschedulable"), (2, "Success")):
            await plane.client.resource(BINDINGS).patch("web", {"spec": {"replicas": replicas}}, "default")
            await plane.settle(2)
            assert (await plane.condition("web"))["reason"] == reason
        assert await plane.result("web") == {"member1": 2}
        assert (await plane.binding("web"))["status"]["lastScheduledTime"] == scheduled

    on_a_plane(scenario)


def test_a_change_that_comes_between_result_and_status_and_shows_only_with_them_is_not_overlooked() -> None:
    async def scenario(plane: Plane) -> None:
        for name in ("member1", "member2"):
            await plane.join(name)
        changed: list[Request] = []

        async def change(request: Request) -> None:
            if request.subresource == "status" and request.resource == BINDINGS and not changed:
                changed.append(request)
                plane.lose_events()
                placement = {"clusterAffinity": {"clusterNames": ["member2"]}}
                await plane.client.resource(BINDINGS).patch("web", {"spec": {"placement": placement}}, "default")

        plane.before_request = change
        await plane.bind("web")
        await plane.settle(10)
        assert changed
        assert await plane.result("web") == {"member2": 2}

    on_a_plane(scenario)


@pytest.mark.parametrize("gate", [True, False])
def test_with_its_gate_no_copy_goes_where_a_toleration_that_ends_lets_it_be_evicted(gate: bool) -> None:
    async def scenario(plane: Plane) -> None:
        taint = {"key": "maintenance", "effect": "NoExecute", "timeAdded": "2020-01-01T00:00:00Z"}
        await plane.join("member1", taints=[taint])
        await plane.join("member2")
        brief = {"key": "maintenance", "operator": "Exists", "tolerationSeconds": 60}
        await plane.bind("web", placement={"clusterTolerations": [brief]})
        await plane.bind("always", placement={"clusterTolerations": [{"key": "maintenance", "operator": "Exists"}]})
        await plane.settle()
        both = {"member1": 2, "member2": 2}
        assert await plane.result("web") == ({"member2": 2} if gate else both)
        assert await plane.result("always") == both

    on_a_plane(scenario, SchedulerOptions(settings=Settings(FeatureGates({"AvoidEvictionLoops": gate}))))
