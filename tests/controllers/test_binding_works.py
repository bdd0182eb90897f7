"""The Works of a binding: written, taken back, built anew, and what is said about it."""

import pytest
from tests.controllers.plane import CLUSTERS, CONFIG_MAPS, WORKS, on_a_plane
from tests.controllers.recorded import EVENTS, recorded

from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.binding import BindingController
from karmada.controllers.bindings import BindingKey
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.transport import GroupVersionResource, Verb

BINDINGS, WIDE = type_of(ResourceBinding), type_of(ClusterResourceBinding)
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
CLUSTER_ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
FINALIZER, WIDE_FINALIZER = "karmada.io/binding-controller", "karmada.io/cluster-resource-binding-controller"
ID = "resourcebinding.karmada.io/permanent-id"
SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
WEB = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "role"}
SUCCEEDED = "Sync work of ResourceBinding(default/b) successful."


async def begin(plane, resource=SETTINGS, clusters=("m1", "m2"), finalizers=(), **spec):
    """A template that is bound to clusters, and the controller."""
    for name in ("m1", "m2"):
        await plane.cluster(name)
    metadata = {"name": resource["name"]} | ({"namespace": "default"} if resource is not ROLE else {})
    if resource is SETTINGS:
        await plane.client.resource(CONFIG_MAPS).create({"metadata": metadata, "data": {"v": "1"}})
    elif resource is WEB:
        pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        deployment = {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
        await plane.client.resource(DEPLOYMENTS).create({"metadata": metadata, "spec": deployment})
    else:
        await plane.client.resource(CLUSTER_ROLES).create({"metadata": metadata, "rules": []})
    templates = Templates(plane.context)
    plane.supervisor.start("templates", templates.run)
    controller = BindingController(plane.context, templates).controller
    plane.start(controller)
    await plane.clock.sleep(1)
    marks = {"name": "b", "finalizers": list(finalizers)}
    marks |= (
        {"labels": {f"cluster{ID}": "one"}} if resource is ROLE else {"namespace": "default", "labels": {ID: "one"}}
    )
    whole = {"resource": resource, "clusters": [{"name": name} for name in clusters], **spec}
    await plane.client.resource(WIDE if resource is ROLE else BINDINGS).create({"metadata": marks, "spec": whole})
    await plane.clock.sleep(5)
    return controller


async def bind(plane, *clusters, **spec):
    change = {"spec": {"clusters": [{"name": name} for name in clusters], **spec}}
    await plane.client.resource(BINDINGS).patch("b", change, "default")
    await plane.clock.sleep(5)


def is_leaving(work):
    return "deletionTimestamp" in work["metadata"]


async def works(plane):
    """Manifests by cluster, of Works that are not being deleted."""
    found = [work for work in (await plane.client.resource(WORKS).list()).items if not is_leaving(work)]
    return {
        work["metadata"]["namespace"].removeprefix("karmada-es-"): work["spec"]["workload"]["manifests"][0]
        for work in found
    }


async def hold_works(plane):
    """Have Works stay while they are being deleted, as their executors do."""
    for work in (await plane.client.resource(WORKS).list()).items:
        metadata = work["metadata"]
        await plane.client.resource(WORKS).patch(
            metadata["name"], {"metadata": {"finalizers": ["test/hold"]}}, metadata["namespace"]
        )


def test_works_follow_the_clusters_and_the_template_and_a_success_is_said_once():
    async def scenario(plane):
        controller = await begin(plane)
        assert set(await works(plane)) == {"m1", "m2"}
        expected = [("Normal", "SyncWorkSucceed", kind, SUCCEEDED) for kind in ("ConfigMap", "ResourceBinding")]
        assert await recorded(plane, "SyncWorkSucceed") == expected
        count = await successes(plane)
        controller.enqueue(BindingKey("default", "b"))
        await plane.clock.sleep(5)
        assert await successes(plane) == count, "nothing was done"
        await bind(plane, "m2")
        assert set(await works(plane)) == {"m2"}
        assert await successes(plane) == count + 2
        await bind(plane)
        assert await works(plane) == {}
        assert await successes(plane) == count + 4

    on_a_plane(scenario)


def test_the_work_of_a_cluster_that_only_the_cache_does_not_show_as_chosen_stays():
    async def scenario(plane):
        await begin(plane, clusters=("m1",))
        [work] = (await plane.client.resource(WORKS).list()).items
        plane.transport.held = frozenset({BINDINGS})
        await bind(plane, "m2")
        metadata = {field: work["metadata"][field] for field in ("name", "labels", "annotations")}
        moved = {"metadata": metadata | {"namespace": "karmada-es-m2"}, "spec": work["spec"]}
        made = await plane.client.resource(WORKS).create(moved)
        await plane.clock.sleep(5)
        plane.transport.held = frozenset()
        await plane.clock.sleep(30)
        left = await plane.client.resource(WORKS).get(made["metadata"]["name"], "karmada-es-m2")
        assert (left["metadata"]["uid"], is_leaving(left)) == (made["metadata"]["uid"], False)
        assert set(await works(plane)) == {"m2"}

    on_a_plane(scenario)


async def successes(plane):
    found = (await plane.client.resource(EVENTS).list()).items
    return sum(event["count"] for event in found if event["reason"] == "SyncWorkSucceed")


@pytest.mark.parametrize(
    ("resource", "finalizer"), [(SETTINGS, FINALIZER), (ROLE, WIDE_FINALIZER)], ids=["namespaced", "cluster-scoped"]
)
def test_a_binding_goes_when_its_works_are_deleted(resource, finalizer):
    async def scenario(plane):
        await begin(plane, resource, finalizers=[finalizer, "test/hold"])
        assert set(await works(plane)) == {"m1", "m2"}
        collection = plane.client.resource(BINDINGS if resource is SETTINGS else WIDE)
        namespace = "default" if resource is SETTINGS else ""
        refused = []

        async def before(request):
            if request.verb is Verb.DELETE and request.resource == WORKS and not refused:
                refused.append(request)
                raise Forbidden("not now")

        plane.transport.before = before
        await collection.delete("b", namespace)
        await plane.clock.sleep(5)
        assert await works(plane) == {}
        assert (await collection.get("b", namespace))["metadata"]["finalizers"] == ["test/hold"]
        kind = "ResourceBinding" if resource is SETTINGS else "ClusterResourceBinding"
        text = "Failed to clean up works: not now"
        assert await recorded(plane, "CleanupWorkFailed") == [("Warning", "CleanupWorkFailed", kind, text)]

    on_a_plane(scenario)


def test_a_cluster_that_comes_back_while_a_binding_names_it_gets_its_work_again():
    async def scenario(plane):
        controller = await begin(plane, clusters=("m1",))
        clusters, held = plane.client.resource(CLUSTERS), {"metadata": {"finalizers": []}}
        await clusters.delete("m1")
        [work] = (await plane.client.resource(WORKS).list()).items
        which = work["metadata"]["name"], work["metadata"]["namespace"]
        await plane.client.resource(WORKS).delete(*which)
        await plane.client.resource(WORKS).patch(which[0], held, which[1])
        await plane.clock.sleep(5)
        assert await works(plane) == {}, "a cluster that leaves gets nothing"
        await clusters.patch("m1", held)
        await plane.clock.sleep(5)
        await clusters.create({"metadata": {"name": "m1"}, "spec": {"syncMode": "Push"}})
        await plane.clock.sleep(5)
        assert set(await works(plane)) == {"m1"}
        assert controller.errors == 0

    on_a_plane(scenario)


def test_works_that_are_being_deleted_already_are_not_deleted_again():
    async def scenario(plane):
        await begin(plane, finalizers=[FINALIZER])
        await hold_works(plane)
        await bind(plane, "m2")
        deleted = []

        async def before(request):
            if request.verb is Verb.DELETE and request.resource == WORKS:
                deleted.append(request.namespace)

        plane.transport.before = before
        await bind(plane, "m2", suspension={"dispatching": True})
        assert deleted == []
        await plane.client.resource(BINDINGS).delete("b", "default")
        await plane.clock.sleep(5)
        assert deleted == ["karmada-es-m2"]
        with pytest.raises(NotFound):
            await plane.client.resource(BINDINGS).get("b", "default")

    on_a_plane(scenario)


def test_a_copy_that_is_purged_is_gone_before_its_replacement_is_written():
    async def scenario(plane):
        await begin(plane, clusters=["m1"])
        await hold_works(plane)
        task = {"fromCluster": "m1", "purgeMode": "Directly", "reason": "R", "producer": "P"}
        await bind(plane, "m2", gracefulEvictionTasks=[task])
        await plane.clock.sleep(60)
        (left,) = (await plane.client.resource(WORKS).list()).items
        assert is_leaving(left)
        metadata = left["metadata"]
        plane.transport.held = frozenset({BINDINGS})
        change = {"metadata": {"finalizers": None}}
        await plane.client.resource(WORKS).patch(metadata["name"], change, metadata["namespace"])
        await plane.clock.sleep(10)
        assert set(await works(plane)) == {"m2"}

    on_a_plane(scenario)


def override(*rules, namespaced=True, name="o"):
    metadata = {"name": name, "namespace": "default"} if namespaced else {"name": name}
    return {"metadata": metadata, "spec": {"overrideRules": list(rules)}}


def patching(cluster, path="/data/v", operator="replace"):
    affinity = {"clusterNames": [cluster]}
    return {
        "targetCluster": affinity,
        "overriders": {"plaintext": [{"path": path, "operator": operator, "value": "2"}]},
    }


def test_override_policies_change_the_copies_of_their_clusters_and_say_so():
    async def scenario(plane):
        await begin(plane)
        wide = override(patching("m2"), namespaced=False, name="w")
        await plane.client.resource(type_of(OverridePolicy)).create(override(patching("m1")))
        await plane.client.resource(type_of(ClusterOverridePolicy)).create(wide)
        await plane.clock.sleep(5)
        assert {name: work["data"]["v"] for name, work in (await works(plane)).items()} == {"m1": "2", "m2": "2"}
        reason = "ApplyOverridePolicySucceed"
        assert await recorded(plane, reason) == [
            ("Normal", reason, "ConfigMap", "Apply cluster override policy(w) for cluster(m2) succeed."),
            ("Normal", reason, "ConfigMap", "Apply override policy(default/o) for cluster(m1) succeed."),
        ]

    on_a_plane(scenario)


def test_an_override_that_cannot_be_applied_holds_up_its_own_cluster_only():
    async def scenario(plane):
        await plane.client.resource(type_of(OverridePolicy)).create(override(patching("m1", "/no/where")))
        controller = await begin(plane)
        assert set(await works(plane)) == {"m2"}
        ((type_, _, kind, text),) = await recorded(plane, "ApplyOverridePolicyFailed")
        assert (type_, kind) == ("Warning", "ConfigMap")
        assert text == "Apply override policy(o) for cluster(m1) failed."
        failed = await recorded(plane, "SyncWorkFailed")
        assert {(type_, kind) for type_, _, kind, _ in failed} == {
            ("Warning", "ConfigMap"),
            ("Warning", "ResourceBinding"),
        }
        assert controller.results["error"] > 1
        await plane.client.resource(type_of(OverridePolicy)).delete("o", "default")
        await plane.clock.sleep(1)
        assert set(await works(plane)) == {"m1", "m2"}

    on_a_plane(scenario)


@pytest.mark.parametrize(
    ("replicas", "set_by_policy", "expected"),
    [(4, None, {"m1": 3, "m2": 1}), (4, 7, {"m1": 7, "m2": 1}), (0, None, {"m1": 4, "m2": 4})],
    ids=["divided", "overridden", "no replicas"],
)
def test_copies_have_the_replicas_of_their_cluster(replicas, set_by_policy, expected):
    async def scenario(plane):
        if set_by_policy is not None:
            rule = {"targetCluster": {"clusterNames": ["m1"]}}
            rule["overriders"] = {"replicasOverrider": [{"value": set_by_policy}]}
            await plane.client.resource(type_of(OverridePolicy)).create(override(rule))
        shares = [{"name": "m1", "replicas": 3}, {"name": "m2", "replicas": 1}]
        more = {"replicas": replicas, "replicaRequirements": {}} if replicas else {}
        await begin(plane, WEB, clusters=(), **more)
        await plane.client.resource(BINDINGS).patch("b", {"spec": {"clusters": shares}}, "default")
        await plane.clock.sleep(5)
        assert {name: work["spec"]["replicas"] for name, work in (await works(plane)).items()} == expected

    on_a_plane(scenario)


def test_nobody_waits_for_the_template_of_a_binding_that_is_gone():
    async def scenario(plane):
        controller = await begin(plane)
        bindings = plane.client.resource(BINDINGS)
        spec = {"resource": {**SETTINGS, "name": "late"}, "clusters": [{"name": "m1"}]}
        await bindings.create({"metadata": {"name": "late", "namespace": "default"}, "spec": spec})
        await plane.clock.sleep(5)
        await bindings.delete("late", "default")
        await plane.clock.sleep(5)
        before = dict(controller.results)
        await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "late", "namespace": "default"}})
        await plane.clock.sleep(5)
        assert controller.results == before

    on_a_plane(scenario)
