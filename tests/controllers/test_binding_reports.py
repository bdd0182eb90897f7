"""What the Works of a binding report together: for the binding, for its template, and in events."""

import dataclasses

import pytest
from tests.controllers.plane import WORKS, on_a_plane
from tests.controllers.recorded import recorded

from karmada.api import names
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.binding_status import BindingStatusController
from karmada.controllers.templates import Templates
from karmada.interpreter.model import InterpretError
from karmada.machinery.client import type_of
from karmada.machinery.clock import rfc3339
from karmada.machinery.transport import GroupVersionResource, Verb

BINDINGS, WIDE = type_of(ResourceBinding), type_of(ClusterResourceBinding)
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
CLUSTER_ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
ID = "resourcebinding.karmada.io/permanent-id"
POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
NAME = names.work_name("Deployment", "web", "default")
DONE = "All works have been successfully applied"
LEFT = "Failed to apply all works, see status.aggregatedStatus for details"


class World:
    """A Deployment that is bound to two clusters."""

    def __init__(self, plane):
        self.plane = plane
        self.bindings = plane.client.resource(BINDINGS)
        self.works = plane.client.resource(WORKS)
        self.deployments = plane.client.resource(DEPLOYMENTS)

    async def begin(self, has_template=True, finalizers=(), interpreter=None):
        if interpreter is not None:
            self.plane.context = dataclasses.replace(self.plane.context, interpreter=interpreter)
        for name in ("m1", "m2"):
            await self.plane.cluster(name)
        if has_template:
            await self.make_template()
        templates = Templates(self.plane.context)
        self.plane.supervisor.start("templates", templates.run)
        self.controller = BindingStatusController(self.plane.context, templates).controller
        self.plane.start(self.controller)
        await self.plane.clock.sleep(1)
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
        marks = {
            "name": "web-deployment",
            "namespace": "default",
            "labels": {ID: "one"},
            "finalizers": list(finalizers),
        }
        clusters = [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 1}]
        await self.bindings.create({"metadata": marks, "spec": {"resource": resource, "clusters": clusters}})
        await self.plane.clock.sleep(1)

    async def make_template(self):
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": POD}
        await self.deployments.create({"metadata": {"name": "web", "namespace": "default"}, "spec": spec})

    async def work(self, cluster, applied="True", ready=1):
        """Create a Work, and have its member report; without `applied` it has not."""
        manifest = {"apiVersion": "apps/v1", "kind": "Deployment"}
        manifest |= {"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": 1}}
        noted = {"resourcebinding.karmada.io/name": "web-deployment", "resourcebinding.karmada.io/namespace": "default"}
        marks = {"name": NAME, "namespace": f"karmada-es-{cluster}", "labels": {ID: "one"}, "annotations": noted}
        await self.works.create({"metadata": marks, "spec": {"workload": {"manifests": [manifest]}}})
        if applied:
            await self.report(cluster, applied, ready)

    async def report(self, cluster, applied="True", ready=1):
        condition = {"type": "Applied", "status": applied, "reason": "R", "message": "m"}
        condition["lastTransitionTime"] = "2023-11-14T22:13:20Z"
        identifier = {"ordinal": 0, "group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments"}
        identifier |= {"namespace": "default", "name": "web"}
        amounts = {"replicas": 1, "readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": 1}
        reported = {"identifier": identifier, "status": amounts, "health": "Healthy"}
        change = {"status": {"conditions": [condition], "manifestStatuses": [reported]}}
        await self.works.patch(NAME, change, f"karmada-es-{cluster}", subresource="status")

    async def scheduled(self, at=None):
        change = {"status": {"lastScheduledTime": at or rfc3339(self.plane.clock.now())}}
        await self.bindings.patch("web-deployment", change, "default", subresource="status")

    async def status(self):
        return (await self.bindings.get("web-deployment", "default")).get("status") or {}

    async def applied(self):
        """Clusters that reported, and the condition that sums them up."""
        status = await self.status()
        found = [(c["status"], c["reason"], c["message"]) for c in status.get("conditions", ())]
        return [item["clusterName"] for item in status.get("aggregatedStatus", ())], found

    async def template_status(self):
        return (await self.deployments.get("web", "default")).get("status") or {}


def run(test):
    on_a_plane(lambda plane: test(World(plane)))


def test_reports_are_put_together_for_the_binding_and_its_template_and_said_once():
    async def scenario(world):
        await world.begin()
        await world.work("m1")
        await world.plane.clock.sleep(1)
        assert await world.applied() == (["m1"], [("False", "FullyAppliedFailed", LEFT)])
        await world.work("m2")
        await world.plane.clock.sleep(1)
        assert await world.applied() == (["m1", "m2"], [("True", "FullyAppliedSuccess", DONE)])
        status = await world.template_status()
        assert (status["replicas"], status["readyReplicas"]) == (2, 2)
        available = {c["type"]: c["status"] for c in status["conditions"]}
        assert available["Available"] == "True"
        succeeded = ("Normal", "AggregateStatusSucceed")
        text = "Update ResourceBinding(default/web-deployment) with AggregatedStatus successfully."
        assert await recorded(world.plane, "AggregateStatusSucceed") == [
            (*succeeded, "Deployment", "Update Resource with AggregatedStatus successfully."),
            (*succeeded, "ResourceBinding", text),
        ]

    run(scenario)


def test_a_report_that_changes_and_a_work_that_goes_are_noticed_and_nothing_else_is():
    async def scenario(world):
        await world.begin()
        for cluster in ("m1", "m2"):
            await world.work(cluster)
        await world.plane.clock.sleep(1)
        looked = dict(world.controller.results)
        await world.works.patch(NAME, {"metadata": {"labels": {"a": "b"}}}, "karmada-es-m1")
        await world.plane.clock.sleep(1)
        assert world.controller.results == looked
        await world.report("m2", ready=0)
        await world.plane.clock.sleep(1)
        assert (await world.template_status())["readyReplicas"] == 1
        await world.works.patch(NAME, {"metadata": {"finalizers": ["test/hold"]}}, "karmada-es-m2")
        await world.works.delete(NAME, "karmada-es-m2")
        await world.plane.clock.sleep(1)
        assert (await world.applied())[0] == ["m1"]
        looked = world.controller.results["success"]
        await world.works.patch(NAME, {"metadata": {"finalizers": None}}, "karmada-es-m2")
        await world.plane.clock.sleep(1)
        assert world.controller.results["success"] == looked + 1

    run(scenario)


def test_several_reports_are_one_write():
    async def scenario(world):
        await world.begin()
        written = []

        async def before(request):
            if request.verb is Verb.PATCH and request.resource == BINDINGS:
                written.append(request)

        world.plane.transport.before = before
        for cluster in ("m1", "m2"):
            await world.work(cluster)
        await world.plane.clock.sleep(5)
        assert (len(written), (await world.applied())[0]) == (1, ["m1", "m2"])

    run(scenario)


@pytest.mark.parametrize(
    ("ready", "suspended", "waits"),
    [("True", None, True), ("False", None, False), ("True", True, False)],
    ids=["on its way", "its member is away", "suspended"],
)
def test_of_what_was_just_scheduled_nothing_is_said_before_the_first_reports_can_be_there(ready, suspended, waits):
    async def scenario(world):
        await world.begin()
        await world.plane.condition("m2", "Ready", ready)
        await world.work("m2", applied=None)
        if suspended:
            await world.works.patch(NAME, {"spec": {"suspendDispatching": True}}, "karmada-es-m2")
        await world.scheduled()
        await world.work("m1")
        await world.plane.clock.sleep(8)
        assert ((await world.applied())[0] == []) == waits
        await world.plane.clock.sleep(8)
        assert (await world.applied())[0] == ["m1", "m2"]

    run(scenario)


def test_a_binding_that_was_scheduled_is_reported_and_again_when_its_template_changed():
    async def scenario(world):
        await world.begin()
        await world.plane.clock.sleep(5)
        assert await world.status() == {}, "it was not scheduled"
        await world.scheduled("2023-11-14T22:13:20Z")
        await world.plane.clock.sleep(5)
        assert await world.applied() == ([], [("False", "FullyAppliedFailed", LEFT)])
        looked = dict(world.controller.results)
        await world.bindings.patch("web-deployment", {"metadata": {"labels": {"a": "b"}}}, "default")
        await world.scheduled("2023-11-14T22:13:21Z")
        await world.plane.clock.sleep(5)
        assert world.controller.results == looked
        change = {"spec": {"resource": {"resourceVersion": "1"}}}
        await world.bindings.patch("web-deployment", change, "default")
        await world.plane.clock.sleep(5)
        assert world.controller.results["success"] == looked["success"] + 1

    run(scenario)


def test_a_binding_that_goes_is_not_written():
    async def scenario(world):
        await world.begin(finalizers=["test/hold"])
        await world.bindings.delete("web-deployment", "default")
        await world.work("m1")
        await world.plane.clock.sleep(5)
        assert await world.status() == {}
        await world.bindings.patch("web-deployment", {"metadata": {"finalizers": None}}, "default")
        await world.report("m1", ready=0)
        await world.plane.clock.sleep(5)
        assert world.controller.errors == 0

    run(scenario)


def test_a_template_that_comes_late_gets_the_status():
    async def scenario(world):
        await world.begin(has_template=False)
        await world.work("m1")
        await world.plane.clock.sleep(5)
        await world.make_template()
        await world.plane.clock.sleep(5)
        assert (await world.template_status())["replicas"] == 1

    run(scenario)


class Aggregating:
    """An interpreter that fails, says nothing, or has no rule."""

    def __init__(self, answer, enabled=True):
        self._answer = answer
        self._enabled = enabled

    def enabled(self, kind, operation):
        return self._enabled

    async def aggregate(self, resource, items):
        if isinstance(self._answer, Exception):
            raise self._answer
        return {key: value for key, value in resource.items() if key != "status"}


@pytest.mark.parametrize("answer", [InterpretError("broken"), "no status", None], ids=["fails", "silent", "no rule"])
def test_without_an_aggregated_status_the_template_keeps_its_own(answer, failures):
    async def scenario(world):
        await world.begin(interpreter=Aggregating(answer, answer is not None))
        await world.deployments.patch("web", {"status": {"replicas": 7}}, "default", subresource="status")
        await world.work("m1")
        await world.plane.clock.sleep(5)
        assert (await world.template_status())["replicas"] == 7
        assert (await world.applied())[0] == ["m1"]
        found = [(type_, kind, text) for type_, _, kind, text in await recorded(world.plane, "AggregateStatusFailed")]
        assert found == [("Warning", "Deployment", "broken")] * isinstance(answer, Exception)
        assert all("broken" in failure for failure in failures)

    run(scenario)


def test_bindings_of_cluster_scoped_resources_are_reported_too():
    async def scenario(plane):
        await plane.cluster("m1")
        await plane.client.resource(CLUSTER_ROLES).create({"metadata": {"name": "role"}, "rules": []})
        resource = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "role"}
        marks = {"name": "role-clusterrole", "labels": {f"cluster{ID}": "one"}}
        wide = plane.client.resource(WIDE)
        await wide.create({"metadata": marks, "spec": {"resource": resource, "clusters": [{"name": "m1"}]}})
        change = {"status": {"lastScheduledTime": "2023-11-14T22:13:20Z"}}
        await wide.patch("role-clusterrole", change, subresource="status")
        templates = Templates(plane.context)
        plane.supervisor.start("templates", templates.run)
        plane.start(BindingStatusController(plane.context, templates).controller)
        await plane.clock.sleep(5)
        (condition,) = (await wide.get("role-clusterrole"))["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("FullyApplied", "False")
        ((_, _, kind, text),) = await recorded(plane, "AggregateStatusSucceed")
        assert kind == "ClusterResourceBinding"
        assert text == "Update ClusterResourceBinding(role-clusterrole) with AggregatedStatus successfully."

    on_a_plane(scenario)
