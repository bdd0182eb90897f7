"""Which changes have scale targets and retained Deployments looked at, in virtual time."""

from tests.controllers.observing import does, once
from tests.controllers.plane import on_a_plane
from tests.controllers.test_retained_replicas import (
    AUTOSCALERS,
    BINDINGS,
    CLAIM,
    DEPLOYMENTS,
    RETAIN,
    World,
    autoscaler,
    change,
    deployment,
    label,
)

from karmada.controllers.replicas_syncer import ReplicasSyncer
from karmada.controllers.scale_target_marker import ScaleTargetMarker
from karmada.controllers.templates import Templates
from karmada.machinery.transport import Verb

BLUE = {"metadata": {"labels": {"color": "blue"}}}
WIDE_CLAIM = "clusterpropagationpolicy.karmada.io/permanent-id"


def bound(name, kind="Deployment"):
    resource = {"apiVersion": "apps/v1", "kind": kind, "namespace": "default", "name": name}
    metadata = {"name": f"{name}-{kind.lower()}", "namespace": "default"}
    return {"metadata": metadata, "spec": {"resource": resource}}


def test_what_has_a_template_follow_its_members():
    async def test(plane):
        controller = ReplicasSyncer(plane.context).controller
        plane.start(controller)
        await plane.clock.sleep(1)
        deployments, bindings = plane.client.resource(DEPLOYMENTS), plane.client.resource(BINDINGS)
        steps = {
            deployment(plane, "plain"): 0,
            deployments.patch("plain", BLUE, "default"): 0,
            bindings.create(bound("plain")): 0,
            deployment(plane, **{RETAIN: "true"}): 1,
            bindings.create(bound("web", "StatefulSet")): 0,
            bindings.create(bound("web")): 1,
            bindings.create(bound("missing")): 0,
            bindings.delete("web-deployment", "default"): 0,
            deployments.delete("web", "default"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())
        assert controller.errors == 0

    on_a_plane(test)


def test_a_template_follows_when_its_binding_says_what_the_template_said_before():
    async def test(plane):
        world = World(plane)
        await world.begin(counts=(2, 2), total=5)
        assert await world.replicas() == 4
        items = [{"clusterName": f"m{n}", "status": {"replicas": count}} for n, count in ((1, 2), (2, 3))]
        status = {"status": {"aggregatedStatus": items}}
        await plane.client.resource(BINDINGS).patch("web-deployment", status, "default", subresource="status")
        await plane.clock.sleep(2)
        assert await world.replicas() == 5

    on_a_plane(test)


async def marking(plane):
    templates = Templates(plane.context)
    plane.supervisor.start("templates", templates.run)
    controller = ScaleTargetMarker(plane.context, templates).controller
    plane.start(controller)
    await plane.clock.sleep(1)
    return controller


def test_what_has_a_target_labelled():
    async def test(plane):
        controller = await marking(plane)
        autoscalers = plane.client.resource(AUTOSCALERS)
        steps = {
            deployment(plane): 0,
            autoscaler(plane): 0,
            change(plane, {"metadata": {"labels": {WIDE_CLAIM: "id"}}}): 1,
            change(plane, BLUE): 0,
            change(plane, {"spec": {"maxReplicas": 12}}): 0,
            change(plane, {"spec": {"scaleTargetRef": {"name": "other"}}}): 2,
            deployment(plane, "other"): 1,
            deployment(plane, "third"): 0,
            plane.client.resource(DEPLOYMENTS).patch("other", BLUE, "default"): 0,
            plane.client.resource(DEPLOYMENTS).delete("other", "default"): 0,
            change(plane, {"spec": {"scaleTargetRef": {"apiVersion": "nowhere.example/v1", "kind": "Thing"}}}): 2,
            change(
                plane,
                {"spec": {"scaleTargetRef": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}}},
            ): 2,
            autoscalers.delete("hpa", "default"): 1,
        }
        assert await does(plane, controller, *steps) == list(steps.values())
        assert (await label(plane), controller.errors) == (None, 0)

    on_a_plane(test)


def test_a_target_that_goes_before_it_is_labelled_is_no_failure():
    async def test(plane):
        controller = await marking(plane)
        await deployment(plane)
        once(plane, Verb.PATCH, DEPLOYMENTS, lambda: plane.client.resource(DEPLOYMENTS).delete("web", "default"))
        await autoscaler(plane, **{CLAIM: "id"})
        await plane.clock.sleep(5)
        assert controller.errors == 0

    on_a_plane(test)


def test_a_target_is_one_in_all_versions_of_its_kind():
    async def test(plane):
        await marking(plane)
        await deployment(plane, **{RETAIN: "true"})
        await autoscaler(plane, **{CLAIM: "id"})
        second = {
            "scaleTargetRef": {"apiVersion": "apps/v1beta1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 9,
        }
        metadata = {"name": "second", "namespace": "default", "labels": {CLAIM: "id"}}
        await plane.client.resource(AUTOSCALERS).create({"metadata": metadata, "spec": second})
        await plane.clock.sleep(1)
        await plane.client.resource(AUTOSCALERS).delete("hpa", "default")
        await plane.clock.sleep(1)
        assert await label(plane) == "true", "another autoscaler scales it"

    on_a_plane(test)
