"""Workloads that members' autoscalers scale: their targets are labelled, and templates follow the members."""

import pytest
from tests.controllers.plane import on_a_plane

from karmada.controllers.replicas_syncer import DEPLOYMENTS, ReplicasSyncer
from karmada.controllers.scale_target_marker import AUTOSCALERS, ScaleTargetMarker
from karmada.controllers.templates import Templates
from karmada.machinery.transport import GroupVersionResource, Verb

BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
RETAIN = "resourcetemplate.karmada.io/retain-replicas"
CLAIM = "propagationpolicy.karmada.io/permanent-id"


async def deployment(plane, name="web", replicas=4, **labels):
    marks = {"app": name}
    template = {"metadata": {"labels": marks}, "spec": {"containers": [{"name": "app", "image": "web:1"}]}}
    tree = {"metadata": {"name": name, "namespace": "default", "labels": labels}}
    tree["spec"] = {"replicas": replicas, "selector": {"matchLabels": marks}, "template": template}
    return await plane.client.resource(DEPLOYMENTS).create(tree)


async def autoscaler(plane, target="web", kind=("apps/v1", "Deployment"), **labels):
    reference = {"apiVersion": kind[0], "kind": kind[1], "name": target}
    spec = {"scaleTargetRef": reference, "maxReplicas": 9}
    metadata = {"name": "hpa", "namespace": "default", "labels": labels}
    await plane.client.resource(AUTOSCALERS).create({"metadata": metadata, "spec": spec})
    await plane.clock.sleep(1)


async def change(plane, patch):
    await plane.client.resource(AUTOSCALERS).patch("hpa", patch, "default")
    await plane.clock.sleep(1)


async def label(plane, name="web"):
    metadata = (await plane.client.resource(DEPLOYMENTS).get(name, "default"))["metadata"]
    return (metadata.get("labels") or {}).get(RETAIN)


async def marking(plane):
    templates = Templates(plane.context)
    plane.supervisor.start("templates", templates.run)
    plane.start(ScaleTargetMarker(plane.context, templates).controller)
    await plane.clock.sleep(1)


def test_the_target_of_a_propagated_autoscaler_is_labelled_until_it_is_deleted():
    async def scenario(plane):
        await marking(plane)
        await deployment(plane)
        await autoscaler(plane, **{CLAIM: "id"})
        assert await label(plane) == "true"
        await plane.client.resource(AUTOSCALERS).delete("hpa", "default")
        await plane.clock.sleep(1)
        assert await label(plane) is None

    on_a_plane(scenario)


def test_claiming_and_losing_an_autoscaler_moves_the_label():
    async def scenario(plane):
        await marking(plane)
        await deployment(plane)
        await deployment(plane, "other")
        await autoscaler(plane)
        assert await label(plane) is None
        await change(plane, {"metadata": {"labels": {CLAIM: "id"}}})
        assert await label(plane) == "true"
        await change(plane, {"spec": {"scaleTargetRef": {"name": "other"}}})
        assert (await label(plane), await label(plane, "other")) == (None, "true")
        await change(plane, {"metadata": {"labels": {CLAIM: None}}})
        assert await label(plane, "other") is None

    on_a_plane(scenario)


def test_a_target_that_comes_after_its_autoscaler_is_labelled():
    async def scenario(plane):
        await marking(plane)
        await autoscaler(plane, **{CLAIM: "id"})
        await deployment(plane)
        await plane.clock.sleep(1)
        assert await label(plane) == "true"

    on_a_plane(scenario)


def test_what_nothing_scales_is_not_labelled_for_an_autoscaler_that_names_it():
    async def scenario(plane):
        await marking(plane)
        slices = plane.client.resource(GroupVersionResource("discovery.k8s.io", "v1", "endpointslices"))
        about = {"name": "web", "namespace": "default"}
        await slices.create({"metadata": about, "addressType": "IPv4", "endpoints": [], "ports": []})
        await autoscaler(plane, kind=("discovery.k8s.io/v1", "EndpointSlice"), **{CLAIM: "forged"})
        assert "labels" not in (await slices.get("web", "default"))["metadata"]

    on_a_plane(scenario)


def test_a_label_of_the_users_stays_beside_an_autoscaler_that_is_not_propagated():
    async def scenario(plane):
        await marking(plane)
        await deployment(plane, **{RETAIN: "true"})
        await autoscaler(plane)
        await plane.client.resource(AUTOSCALERS).delete("hpa", "default")
        await plane.clock.sleep(1)
        assert await label(plane) == "true"

    on_a_plane(scenario)


class World:
    """A retained Deployment of four replicas that two members run, in a state the template may follow."""

    def __init__(self, plane):
        self.plane = plane

    async def begin(self, scheduling="Divided", binding=None, counts=(2, 3), total=None, observed=None):
        plane = self.plane
        plane.start(ReplicasSyncer(plane.context).controller)
        made = await deployment(plane, **{RETAIN: "true"})
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
        spec = {
            "resource": resource | {"uid": made["metadata"]["uid"]},
            "replicas": 4,
            "clusters": [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 2}],
            "placement": {"replicaScheduling": {"replicaSchedulingType": scheduling}},
        }
        tree = {"metadata": {"name": "web-deployment", "namespace": "default"}, "spec": spec | (binding or {})}
        bound = await plane.client.resource(BINDINGS).create(tree)
        items = [{"clusterName": f"m{n}", "status": {"replicas": c}} for n, c in enumerate(counts, 1)]
        generation = bound["metadata"]["generation"]
        status = {"schedulerObservedGeneration": generation if observed is None else observed}
        status["aggregatedStatus"] = items
        await plane.client.resource(BINDINGS).patch(
            "web-deployment", {"status": status}, "default", subresource="status"
        )
        await self.report(made["metadata"]["generation"], sum(counts) if total is None else total)

    async def report(self, generation, replicas):
        status = {"observedGeneration": generation, "replicas": replicas}
        await self.plane.client.resource(DEPLOYMENTS).patch("web", {"status": status}, "default", subresource="status")
        await self.plane.clock.sleep(2)

    async def replicas(self):
        return (await self.plane.client.resource(DEPLOYMENTS).get("web", "default"))["spec"]["replicas"]


def test_the_template_follows_what_members_run():
    async def scenario(plane):
        world = World(plane)
        await world.begin()
        assert await world.replicas() == 5

    on_a_plane(scenario)


@pytest.mark.parametrize(
    "state",
    [
        {"scheduling": "Duplicated"},
        {"binding": {"replicas": 7}},
        {"observed": 0},
        {"counts": (5,)},
        {"counts": (0, 5)},
        {"total": 3},
        {"binding": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "another"}}},
    ],
)
def test_the_template_waits_while_the_answer_is_not_certain(state):
    async def scenario(plane):
        world = World(plane)
        await world.begin(**state)
        assert await world.replicas() == 4

    on_a_plane(scenario)


def test_the_template_follows_once_its_last_change_was_observed():
    async def scenario(plane):
        world = World(plane)
        await world.begin(total=4)
        await world.report(0, 5)
        assert await world.replicas() == 4
        await world.report(1, 5)
        assert await world.replicas() == 5

    on_a_plane(scenario)


def test_a_change_of_the_users_meanwhile_is_not_undone():
    async def scenario(plane):
        world = World(plane)

        async def before(request):
            if request.resource == DEPLOYMENTS and request.verb is Verb.PATCH:
                plane.transport.before = None
                await plane.client.resource(DEPLOYMENTS).set_scale("web", 8, "default")

        plane.transport.before = before
        await world.begin()
        assert plane.transport.before is None
        assert await world.replicas() == 8

    on_a_plane(scenario)
