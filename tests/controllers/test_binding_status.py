"""A binding's status is put together from its own Works, whatever labels others' Works carry."""

import pytest
from tests.controllers.plane import CONFIG_MAPS, WORKS, on_a_plane
from tests.controllers.recorded import recorded

from karmada.api import names
from karmada.controllers.binding_status import BindingStatusController
from karmada.controllers.templates import Templates
from karmada.machinery.transport import GroupVersionResource

BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
ID = "resourcebinding.karmada.io/permanent-id"
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}
OWN = names.work_name("ConfigMap", "app", "default")


def work(cluster, name, replicas):
    """A Work that claims to be the binding's, as whoever may write Works of a cluster can make it."""
    noted = {"resourcebinding.karmada.io/name": "app-configmap", "resourcebinding.karmada.io/namespace": "default"}
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "app", "namespace": "default"}}
    metadata = {"name": name, "namespace": f"karmada-es-{cluster}", "labels": {ID: "one"}, "annotations": noted}
    reported = {
        "identifier": {"ordinal": 0, "version": "v1", "resource": "configmaps", "kind": "ConfigMap"}
        | {"namespace": "default", "name": "app"},
        "status": {"replicas": replicas},
        "health": "Healthy",
    }
    applied = {
        "type": "Applied",
        "status": "True",
        "reason": "R",
        "message": "",
        "lastTransitionTime": "2023-11-14T22:13:20Z",
    }
    tree = {"metadata": metadata, "spec": {"workload": {"manifests": [manifest]}}}
    return tree, {"status": {"conditions": [applied], "manifestStatuses": [reported]}}


@pytest.mark.parametrize(
    "forged", [("m2", OWN), ("m2", "other"), ("m1", "other")], ids=["another cluster", "another name", "a second one"]
)
def test_a_work_with_the_id_of_a_binding_adds_nothing_to_its_status(forged):
    async def scenario(plane):
        for name in ("m1", "m2"):
            await plane.cluster(name)
        template = {"metadata": {"name": "app", "namespace": "default"}}
        await plane.client.resource(CONFIG_MAPS).create(template, "default")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "app"}
        metadata = {"name": "app-configmap", "namespace": "default", "labels": {ID: "one"}}
        spec = {"resource": reference, "clusters": [{"name": "m1"}]}
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": spec}, "default")
        plane.start(BindingStatusController(plane.context, Templates(plane.context)).controller)
        for cluster, name, replicas in (("m1", OWN, 1), (*forged, 99)):
            tree, status = work(cluster, name, replicas)
            await plane.client.resource(WORKS).create(tree, f"karmada-es-{cluster}")
            await plane.client.resource(WORKS).patch(name, status, f"karmada-es-{cluster}", subresource="status")
        await plane.clock.sleep(30)
        binding = await plane.client.resource(BINDINGS).get("app-configmap", "default")
        (item,) = binding["status"]["aggregatedStatus"]
        assert (item["clusterName"], item["status"]) == ("m1", {"replicas": 1})
        assert binding["status"]["conditions"][0]["status"] == "True"

    on_a_plane(scenario)


def test_a_binding_reports_for_its_resource_if_the_name_it_should_have_is_anothers():
    async def scenario(plane):
        deployments, bindings = plane.client.resource(DEPLOYMENTS), plane.client.resource(BINDINGS)
        await deployments.create(DEPLOYMENT)
        await deployments.patch("web", {"status": {"replicas": 7}}, "default", subresource="status")
        for name, api_version in (("web-deployment", "example.io/v1"), ("mine", "apps/v1")):
            resource = {"apiVersion": api_version, "kind": "Deployment", "namespace": "default", "name": "web"}
            tree = {"metadata": {"name": name, "namespace": "default"}, "spec": {"resource": resource}}
            await bindings.create(tree)
        scheduled = {"status": {"lastScheduledTime": "2023-11-14T22:13:20Z"}}
        await bindings.patch("mine", scheduled, "default", subresource="status")
        plane.start(BindingStatusController(plane.context, Templates(plane.context)).controller)
        await plane.clock.sleep(30)
        assert "replicas" not in (await deployments.get("web", "default"))["status"]

    on_a_plane(scenario)


def test_a_status_of_another_shape_costs_only_the_cluster_that_reports_it():
    def work_of(cluster, status):
        tree, reported = work(cluster, names.work_name("Deployment", "web", "default"), 0)
        tree["spec"]["workload"]["manifests"] = [DEPLOYMENT]
        tree["metadata"]["annotations"]["resourcebinding.karmada.io/name"] = "web-deployment"
        identifier = {"ordinal": 0, "group": "apps", "version": "v1", "resource": "deployments", "kind": "Deployment"}
        reported["status"]["manifestStatuses"] = [
            {"identifier": identifier | {"namespace": "default", "name": "web"}, "status": status, "health": "Healthy"}
        ]
        return tree, reported

    async def scenario(plane):
        deployments, works = plane.client.resource(DEPLOYMENTS), plane.client.resource(WORKS)
        await deployments.create(DEPLOYMENT)
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
        metadata = {"name": "web-deployment", "namespace": "default", "labels": {ID: "one"}}
        spec = {"resource": reference, "clusters": [{"name": "m1", "replicas": 2}, {"name": "m2", "replicas": 2}]}
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": spec}, "default")
        plane.start(BindingStatusController(plane.context, Templates(plane.context)).controller)
        for cluster, status in (("m1", {"replicas": 2, "readyReplicas": 2}), ("m2", {"replicas": ["two"]})):
            await plane.cluster(cluster)
            tree, reported = work_of(cluster, status)
            await works.create(tree, f"karmada-es-{cluster}")
            await works.patch(tree["metadata"]["name"], reported, f"karmada-es-{cluster}", subresource="status")
        await plane.clock.sleep(30)
        assert (await deployments.get("web", "default"))["status"]["readyReplicas"] == 2
        warned = await recorded(plane, "AggregateStatusFailed")
        assert any(message.startswith("Status of cluster m2 is left out: ") for _, _, _, message in warned)

    on_a_plane(scenario)


def test_a_status_that_is_too_large_to_be_copied_costs_only_the_cluster_that_reports_it():
    """No agent may write it, but others may, and what was stored stays."""

    async def scenario(plane):
        works = plane.client.resource(WORKS)
        await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "app", "namespace": "default"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "app"}
        metadata = {"name": "app-configmap", "namespace": "default", "labels": {ID: "one"}}
        spec = {"resource": reference, "clusters": [{"name": "m1"}, {"name": "m2"}]}
        await plane.client.resource(BINDINGS).create({"metadata": metadata, "spec": spec}, "default")
        plane.start(BindingStatusController(plane.context, Templates(plane.context)).controller)
        for cluster, replicas in (("m1", [0] * 500_000), ("m2", 2)):
            await plane.cluster(cluster)
            tree, status = work(cluster, OWN, replicas)
            await works.create(tree, f"karmada-es-{cluster}")
            await works.patch(OWN, status, f"karmada-es-{cluster}", subresource="status")
        await plane.clock.sleep(30)
        binding = await plane.client.resource(BINDINGS).get("app-configmap", "default")
        first, second = binding["status"]["aggregatedStatus"]
        assert (first["applied"], first["health"], "status" in first) == (True, "Healthy", False)
        assert second["status"] == {"replicas": 2}

    on_a_plane(scenario)
