"""Which namespaces get Works in which clusters, and when they are written again."""

from dataclasses import replace

import pytest
from tests.controllers.observing import does, reconciles, refused
from tests.controllers.plane import CLUSTERS, NAMESPACES, WORKS, on_a_plane

from karmada.api import names
from karmada.controllers.detector.scope import ScopeOptions
from karmada.controllers.namespace import NamespaceController
from karmada.machinery.errors import ServerError
from karmada.machinery.transport import GroupVersionResource

OVERRIDES = GroupVersionResource("policy.karmada.io", "v1alpha1", "clusteroverridepolicies")
SKIP = "namespace.karmada.io/skip-auto-propagation"
BLUE = {"metadata": {"labels": {"color": "blue"}}}
SHOP = names.work_name("Namespace", "shop", "")


async def started(plane, *spaces, **clusters):
    for name in spaces:
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": name}})
    scope = ScopeOptions(skipped_namespaces=("kube-.*", "private-.*", "karmada-.*")).scope()
    controller = NamespaceController(replace(plane.context, scope=scope)).controller
    plane.start(controller)
    await plane.clock.sleep(2)
    return controller


async def works(plane):
    """The Works of namespaces, by cluster."""
    await plane.clock.sleep(2)
    found = {}
    for work in (await plane.client.resource(WORKS).list()).items:
        name = work["spec"]["workload"]["manifests"][0]["metadata"]["name"]
        found.setdefault(work["metadata"]["namespace"].removeprefix("karmada-es-"), []).append(name)
    return {cluster: sorted(every) for cluster, every in found.items()}


async def shop(plane, cluster="m1"):
    work = await plane.client.resource(WORKS).get(SHOP, f"karmada-es-{cluster}")
    return work, work["spec"]["workload"]["manifests"][0]


def override(
    name="o", selectors=({"apiVersion": "v1", "kind": "Namespace", "name": "shop"},), path="/metadata/labels/color"
):
    rule = {"overriders": {"plaintext": [{"path": path, "operator": "add", "value": "red"}]}}
    return {"metadata": {"name": name}, "spec": {"resourceSelectors": list(selectors), "overrideRules": [rule]}}


def test_every_namespace_of_users_is_in_every_cluster_that_stays():
    async def test(plane):
        for name in ("m1", "leaving"):
            await plane.cluster(name)
        await plane.client.resource(CLUSTERS).delete("leaving")
        skipped = {"metadata": {"name": "skipped", "labels": {SKIP: "True"}}}
        await plane.client.resource(NAMESPACES).create(skipped)
        wanted = {"metadata": {"name": "wanted", "labels": {SKIP: "false"}}}
        await plane.client.resource(NAMESPACES).create(wanted)
        controller = await started(plane, "shop", "private-a", "kube-a", "karmada-system")
        assert await works(plane) == {"m1": ["shop", "wanted"]}
        await plane.cluster("m2")
        assert await works(plane) == {"m1": ["shop", "wanted"], "m2": ["shop", "wanted"]}
        space = await plane.client.resource(NAMESPACES).get("shop")
        owner = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "name": "shop",
            "uid": space["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        await plane.client.resource(NAMESPACES).patch("shop", BLUE)
        await plane.clock.sleep(2)
        work, manifest = await shop(plane)
        assert (work["metadata"]["ownerReferences"], manifest["metadata"]["labels"]["color"]) == ([owner], "blue")
        assert controller.errors == 0

    on_a_plane(test)


def test_a_work_keeps_its_other_owners():
    async def test(plane):
        await plane.cluster("m1")
        space = await plane.client.resource(NAMESPACES).get("default")
        other = {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": space["metadata"]["uid"]}
        metadata = {"name": SHOP, "namespace": "karmada-es-m1", "ownerReferences": [other]}
        await plane.client.resource(WORKS).create({"metadata": metadata, "spec": {}})
        await started(plane, "shop")
        assert await works(plane) == {"m1": ["shop"]}
        work, _ = await shop(plane)
        assert [owner["name"] for owner in work["metadata"]["ownerReferences"]] == ["default", "shop"]

    on_a_plane(test)


def test_a_namespace_that_is_going_is_not_written():
    async def test(plane):
        tree = {"metadata": {"name": "going", "finalizers": ["example.com/held"]}}
        await plane.client.resource(NAMESPACES).create(tree)
        await plane.client.resource(NAMESPACES).delete("going")
        await plane.cluster("m1")
        await started(plane, "shop")
        assert await works(plane) == {"m1": ["shop"]}

    on_a_plane(test)


def test_overrides_count_and_a_bad_one_is_tried_again():
    async def test(plane):
        await plane.cluster("m1")
        controller = await started(plane, "shop")
        await plane.client.resource(NAMESPACES).patch("shop", BLUE)
        await plane.client.resource(OVERRIDES).create(override())
        await plane.clock.sleep(2)
        work, manifest = await shop(plane)
        assert manifest["metadata"]["labels"]["color"] == "red"
        assert '"o"' in work["metadata"]["annotations"]["policy.karmada.io/applied-cluster-overrides"]
        assert controller.errors == 0
        await plane.client.resource(OVERRIDES).create(override("bad", path="/spec/none/where"))
        await plane.clock.sleep(2)
        assert controller.errors > 0
        await plane.client.resource(OVERRIDES).delete("bad")
        await plane.clock.sleep(600)
        before = reconciles(controller)
        await plane.clock.sleep(600)
        assert reconciles(controller) == before

    on_a_plane(test)


def test_a_work_that_cannot_be_written_is_tried_again():
    async def test(plane):
        await plane.cluster("m1")
        refused(plane, ServerError("no room"), WORKS)
        controller = await started(plane, "shop")
        assert (await works(plane), controller.errors > 0) == ({}, True)
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert await works(plane) == {"m1": ["shop"]}

    on_a_plane(test)


def test_a_work_that_holds_another_object_is_left_and_its_end_is_enough():
    async def test(plane):
        await plane.cluster("m1")
        held = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
        metadata = {"name": SHOP, "namespace": "karmada-es-m1"}
        spec = {"workload": {"manifests": [held]}}
        await plane.client.resource(WORKS).create({"metadata": metadata, "spec": spec})
        controller = await started(plane, "shop")
        assert controller.errors > 0
        await plane.clock.sleep(4000)
        await plane.client.resource(WORKS).delete(SHOP, "karmada-es-m1")
        assert await works(plane) == {"m1": ["shop"]}

    on_a_plane(test)


def chosen(name="", kind="Namespace", version="v1"):
    return {"apiVersion": version, "kind": kind} | ({"name": name} if name else {})


@pytest.mark.parametrize(
    ("selectors", "count"),
    [
        ([chosen("shop")], 1),
        ([chosen("shop"), chosen("other")], 2),
        ([chosen()], 3),
        ([], 3),
        ([chosen("shop", "ConfigMap")], 0),
        ([chosen("shop", version="v2")], 0),
        ([chosen(kind="ConfigMap")], 0),
    ],
    ids=["one", "two", "all", "everything", "another kind", "another version", "all of another kind"],
)
def test_an_override_policy_concerns_the_namespaces_that_it_selects(selectors, count):
    async def test(plane):
        controller = await started(plane, "shop", "other")
        total = len((await plane.client.resource(NAMESPACES).list()).items)
        expected = total if count == 3 else count
        overrides = plane.client.resource(OVERRIDES)
        steps = [overrides.create(override(selectors=selectors)), overrides.delete("o")]
        assert await does(plane, controller, *steps) == [expected, expected]

    on_a_plane(test)


def test_what_else_has_namespaces_looked_at():
    async def test(plane):
        await plane.cluster("m1")
        await plane.client.resource(OVERRIDES).create(override(selectors=[chosen()]))
        controller = await started(plane, "shop")
        total = len((await plane.client.resource(NAMESPACES).list()).items)
        assert reconciles(controller) == total, "each once"
        clusters, works_ = plane.client.resource(CLUSTERS), plane.client.resource(WORKS)
        tree = {
            "metadata": {"name": "m2", "finalizers": ["karmada.io/cluster-controller"]},
            "spec": {"syncMode": "Push"},
        }
        steps = {
            clusters.patch("m1", BLUE): 0,
            works_.patch(SHOP, BLUE, "karmada-es-m1"): 0,
            plane.client.resource(NAMESPACES).create({"metadata": {"name": "karmada-es-m2"}}): 1,
            clusters.create(tree): total + 1,
            clusters.patch("m2", {"metadata": {"finalizers": []}}): 0,
            clusters.delete("m2"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    on_a_plane(test)
