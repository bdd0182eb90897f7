"""Bindings that name what is not theirs, and Works that two of them want: nobody gets at another's resources."""

import dataclasses

import pytest
from tests.controllers.plane import CONFIG_MAPS, NAMESPACES, WORKS, OneMember, on_a_plane, server

from karmada.api import names
from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.policy.v1alpha1 import OverridePolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.controllers.binding import BindingController
from karmada.controllers.binding_status import BindingStatusController
from karmada.controllers.dependencies import DependenciesDistributor
from karmada.controllers.execution import ExecutionController
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource

BINDINGS = type_of(ResourceBinding)
SECRETS = GroupVersionResource("", "v1", "secrets")
EVENTS = GroupVersionResource("", "v1", "events")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
CLUSTER_ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
SPACE = "karmada-es-m1"
ID = "resourcebinding.karmada.io/permanent-id"
COLLIDING = ("team-mwplxrcva", "team-vyptkkxqn")
"""Namespaces whose ConfigMaps `settings` have Works of one name: their hashes are equal in 32 bits."""


class Forging:
    """An interpreter whose scripts say what a test wants."""

    def __init__(self, plane, dependencies=(), **metadata):
        self._inner = plane.context.interpreter
        self._dependencies = dependencies
        self._metadata = metadata
        plane.context = dataclasses.replace(plane.context, interpreter=self)

    def enabled(self, kind, operation):
        return True

    async def dependencies(self, resource):
        return self._dependencies

    async def revise(self, resource, replicas):
        return {**resource, "metadata": {**resource["metadata"], **self._metadata}}

    async def retain(self, desired, observed):
        return await self.revise(desired, 0)

    def __getattr__(self, name):
        return getattr(self._inner, name)


async def start(plane, *controllers):
    templates = Templates(plane.context)
    plane.supervisor.start("templates", templates.run)
    for controller in controllers or (BindingController,):
        plane.start(controller(plane.context, templates).controller)
    await plane.clock.sleep(1)


async def space(plane, *names_):
    for name in names_:
        await plane.client.resource(NAMESPACES).create({"metadata": {"name": name}})


async def bind(plane, namespace, name, resource, id_=None, wide=False, **spec):
    collection = plane.client.resource(type_of(ClusterResourceBinding) if wide else BINDINGS)
    metadata = {"name": name, "labels": {"cluster" + ID if wide else ID: id_ or name}}
    if not wide:
        metadata["namespace"] = namespace
    spec = {"resource": {"apiVersion": "v1", **resource}, "clusters": [{"name": "m1"}], **spec}
    await collection.create({"metadata": metadata, "spec": spec})


async def settings(plane, namespace):
    await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "settings", "namespace": namespace}})
    return {"kind": "ConfigMap", "namespace": namespace, "name": "settings"}


async def works(plane):
    found = (await plane.client.resource(WORKS).list()).items
    return {work["metadata"]["annotations"].get("resourcebinding.karmada.io/namespace"): work for work in found}


async def synced(plane, namespace, name):
    """The condition that says whether Works could be written, by status and reason."""
    status = (await plane.client.resource(BINDINGS).get(name, namespace)).get("status") or {}
    return [(c["status"], c["reason"]) for c in status.get("conditions") or () if c["type"] == "WorksSynced"]


async def event_messages(plane, namespace, reason="SyncWorkFailed"):
    events = (await plane.client.resource(EVENTS).list()).items
    return [e["message"] for e in events if e["reason"] == reason and e["metadata"]["namespace"] == namespace]


@pytest.mark.parametrize(
    ("where", "resource"),
    [
        ("team-a", {"kind": "Secret", "namespace": "team-b", "name": "key"}),
        ("team-a", {"kind": "Secret", "namespace": "karmada-cluster", "name": "key"}),
        ("karmada-cluster", {"kind": "Secret", "namespace": "karmada-cluster", "name": "key"}),
        ("kube-system", {"kind": "Secret", "namespace": "kube-system", "name": "key"}),
        ("team-a", {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "key"}),
        (
            "team-a",
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "namespace": "team-a", "name": "key"},
        ),
    ],
    ids=["another's", "reserved", "in a reserved one", "skipped", "cluster-scoped", "as if it were namespaced"],
)
def test_a_binding_for_what_is_not_its_own_delivers_nothing_and_says_why(where, resource):
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a", "team-b", "karmada-cluster")
        for namespace in ("team-b", "karmada-cluster", "kube-system"):
            await plane.client.resource(SECRETS).create({"metadata": {"name": "key", "namespace": namespace}})
        await plane.client.resource(CLUSTER_ROLES).create({"metadata": {"name": "key"}})
        await start(plane, BindingController, BindingStatusController)
        await bind(plane, where, "key-x", resource)
        await plane.clock.sleep(20)
        assert await works(plane) == {}
        assert await synced(plane, where, "key-x") == [("False", "ForeignResource")]
        [message] = await event_messages(plane, where)
        assert "key is not propagated" in message

    on_a_plane(scenario)


def test_a_cluster_wide_binding_is_for_cluster_scoped_kinds_only():
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-b")
        await plane.client.resource(SECRETS).create({"metadata": {"name": "key", "namespace": "team-b"}})
        await plane.client.resource(CLUSTER_ROLES).create({"metadata": {"name": "key"}})
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "key"}
        await start(plane)
        await bind(plane, "", "key-secret", {"kind": "Secret", "namespace": "team-b", "name": "key"}, wide=True)
        await bind(plane, "", "key-clusterrole", role, wide=True)
        await plane.clock.sleep(20)
        [work] = (await plane.client.resource(WORKS).list()).items
        assert work["spec"]["workload"]["manifests"][0]["kind"] == "ClusterRole"

    on_a_plane(scenario)


def test_a_binding_that_is_put_right_gets_its_works():
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a", "team-b")
        resource = await settings(plane, "team-a")
        await start(plane)
        await bind(plane, "team-a", "settings-configmap", {**resource, "namespace": "team-b"})
        await plane.clock.sleep(5)
        right = {"spec": {"resource": resource}}
        await plane.client.resource(BINDINGS).patch("settings-configmap", right, "team-a")
        await plane.clock.sleep(5)
        assert list(await works(plane)) == ["team-a"]
        assert await synced(plane, "team-a", "settings-configmap") == [("True", "Synced")]

    on_a_plane(scenario)


@pytest.mark.parametrize("end", ["moved away", "deleted"])
def test_the_permanent_id_of_another_binding_gives_no_power_over_its_works(end):
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a", "team-b")
        await start(plane)
        await bind(plane, "team-b", "settings-configmap", await settings(plane, "team-b"), id_="victim")
        await plane.clock.sleep(5)
        resource = await settings(plane, "team-a")
        collection = plane.client.resource(BINDINGS)
        await bind(plane, "team-a", "settings-configmap", resource, id_="victim", clusters=[])
        held = {"metadata": {"finalizers": ["karmada.io/binding-controller"]}}
        await collection.patch("settings-configmap", held, "team-a")
        if end == "deleted":
            await collection.delete("settings-configmap", "team-a")
        await plane.clock.sleep(20)
        assert "deletionTimestamp" not in (await works(plane))["team-b"]["metadata"]

    on_a_plane(scenario)


def test_of_two_bindings_for_one_resource_the_first_keeps_the_work_until_it_goes():
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a")
        resource = await settings(plane, "team-a")
        await start(plane)
        await bind(plane, "team-a", "settings-configmap", resource)
        await plane.clock.sleep(5)
        await bind(plane, "team-a", "forged", resource)
        await plane.clock.sleep(600)
        work = (await works(plane))["team-a"]
        assert work["metadata"]["labels"][ID] == "settings-configmap"
        assert await synced(plane, "team-a", "forged") == [("False", "WorkConflict")]
        assert "belongs to ResourceBinding team-a/settings-configmap" in (await event_messages(plane, "team-a"))[0]
        collection = plane.client.resource(BINDINGS)
        await collection.delete("settings-configmap", "team-a")
        await plane.client.resource(WORKS).delete(work["metadata"]["name"], SPACE)
        await plane.client.resource(WORKS).patch(work["metadata"]["name"], {"metadata": {"finalizers": None}}, SPACE)
        await plane.clock.sleep(1)
        assert (await works(plane))["team-a"]["metadata"]["labels"][ID] == "forged"
        await plane.clock.sleep(1)
        assert await synced(plane, "team-a", "forged") == [("True", "Synced")]

    on_a_plane(scenario)


def test_resources_whose_works_have_one_name_do_not_get_at_each_other():
    async def scenario(plane):
        first, second = COLLIDING
        assert names.work_name("ConfigMap", "settings", first) == names.work_name("ConfigMap", "settings", second)
        await plane.cluster("m1")
        await space(plane, first, second)
        await start(plane)
        for namespace in COLLIDING:
            await bind(plane, namespace, "settings-configmap", await settings(plane, namespace), id_=namespace)
            await plane.clock.sleep(5)
        work = (await works(plane))[first]
        assert work["metadata"]["labels"][ID] == first
        assert work["spec"]["workload"]["manifests"][0]["metadata"]["namespace"] == first
        assert await synced(plane, first, "settings-configmap") == []
        assert await synced(plane, second, "settings-configmap") == [("False", "WorkConflict")]
        await plane.client.resource(BINDINGS).delete("settings-configmap", second)
        await plane.clock.sleep(20)
        assert list(await works(plane)) == [first]

    on_a_plane(scenario)


def test_a_work_outside_of_the_execution_spaces_is_nobodys():
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a", "team-b")
        await bind(plane, "team-b", "settings-configmap", await settings(plane, "team-b"), id_="victim")
        noted = {"namespace": "team-b", "name": "settings-configmap"}
        marks = {"labels": {ID: "victim"}}
        marks["annotations"] = {f"resourcebinding.karmada.io/{key}": value for key, value in noted.items()}
        applied = {"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": ""}
        applied["lastTransitionTime"] = "2023-11-14T22:13:20Z"
        name = names.work_name("ConfigMap", "settings", "team-b")
        for where in ("team-a", SPACE):
            metadata = {"name": name, "namespace": where, **marks}
            work = {"metadata": metadata, "spec": {"workload": {"manifests": []}}}
            await plane.client.resource(WORKS).create(work)
            status = {"status": {"conditions": [applied]}}
            await plane.client.resource(WORKS).patch(name, status, where, subresource="status")
        await start(plane, BindingStatusController)
        await plane.clock.sleep(20)
        binding = await plane.client.resource(BINDINGS).get("settings-configmap", "team-b")
        assert [item["clusterName"] for item in binding["status"]["aggregatedStatus"]] == ["m1"]

    on_a_plane(scenario)


async def deployed(plane, namespace):
    """A Deployment that says it has seven replicas."""
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": pod}
    deployments = plane.client.resource(DEPLOYMENTS)
    await deployments.create({"metadata": {"name": "web", "namespace": namespace}, "spec": spec})
    await deployments.patch("web", {"status": {"replicas": 7}}, namespace, subresource="status")
    return {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": "web"}


async def scheduled(plane, name):
    status = {"status": {"lastScheduledTime": "2023-11-14T22:13:20Z"}}
    await plane.client.resource(BINDINGS).patch(name, status, "team-a", subresource="status")
    await plane.clock.sleep(60)


def test_the_status_of_anothers_resource_is_not_written():
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a", "team-b")
        resource = await deployed(plane, "team-b")
        await start(plane, BindingStatusController)
        await bind(plane, "team-a", "web-deployment", resource)
        await scheduled(plane, "web-deployment")
        assert (await plane.client.resource(DEPLOYMENTS).get("web", "team-b"))["status"]["replicas"] == 7

    on_a_plane(scenario)


def test_a_second_binding_of_a_resource_does_not_report_for_it():
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a")
        resource = await deployed(plane, "team-a")
        await start(plane, BindingStatusController)
        for name in ("web-deployment", "forged"):
            await bind(plane, "team-a", name, resource)
        await scheduled(plane, "forged")
        deployments = plane.client.resource(DEPLOYMENTS)
        assert (await deployments.get("web", "team-a"))["status"]["replicas"] == 7
        await scheduled(plane, "web-deployment")
        assert "replicas" not in (await deployments.get("web", "team-a"))["status"]

    on_a_plane(scenario)


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/kind", "operator": "replace", "value": "Secret"},
        {"path": "/metadata/namespace", "operator": "replace", "value": "kube-system"},
        {"path": "/metadata/labels", "operator": "add", "value": {"karmada.io/managed": "false"}},
    ],
    ids=["kind", "namespace", "management label"],
)
def test_an_override_that_makes_another_object_of_a_copy_is_not_applied(change):
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a")
        policy = {"metadata": {"name": "forging", "namespace": "team-a"}}
        policy["spec"] = {"overrideRules": [{"overriders": {"plaintext": [change]}}]}
        await plane.client.resource(type_of(OverridePolicy)).create(policy)
        await start(plane)
        await bind(plane, "team-a", "settings-configmap", await settings(plane, "team-a"))
        await plane.clock.sleep(5)
        with pytest.raises(NotFound):
            await plane.client.resource(WORKS).get(names.work_name("ConfigMap", "settings", "team-a"), SPACE)
        assert any("override policy forging changes" in message for message in await event_messages(plane, "team-a"))
        assert await event_messages(plane, "team-a", "ApplyOverridePolicyFailed")

    on_a_plane(scenario)


def test_what_is_outside_of_its_namespace_does_not_follow_a_binding():
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a", "team-b")
        for namespace in ("team-a", "team-b"):
            await plane.client.resource(SECRETS).create({"metadata": {"name": "key", "namespace": namespace}})
        await plane.client.resource(CLUSTER_ROLES).create({"metadata": {"name": "key"}})
        roles = "rbac.authorization.k8s.io/v1"
        named = [("v1", "Secret", "team-b"), (roles, "ClusterRole", ""), (roles, "ClusterRole", "team-a")]
        named.append(("v1", "Secret", "team-a"))
        wanted = [
            DependentObjectReference(api_version=version, kind=kind, namespace=namespace, name="key")
            for version, kind, namespace in named
        ]
        Forging(plane, wanted)
        await start(plane, DependenciesDistributor)
        await bind(plane, "team-a", "settings-configmap", await settings(plane, "team-a"), propagateDeps=True)
        await plane.clock.sleep(20)
        found = [tree["spec"]["resource"] for tree in (await plane.client.resource(BINDINGS).list()).items]
        attached = [(one["kind"], one["namespace"]) for one in found if one["kind"] != "ConfigMap"]
        assert attached == [("Secret", "team-a")]
        messages = await event_messages(plane, "team-a", "SyncScheduleResultToDependenciesFailed")
        assert len(messages) == 3
        assert all("is not distributed" in message for message in messages)

    on_a_plane(scenario)


def test_a_revision_that_makes_another_object_of_a_copy_is_not_written():
    async def scenario(plane):
        await plane.cluster("m1")
        await space(plane, "team-a")
        Forging(plane, namespace="kube-system")
        await start(plane)
        await bind(plane, "team-a", "settings-configmap", await settings(plane, "team-a"), replicas=1)
        await plane.clock.sleep(5)
        assert await works(plane) == {}
        assert "revision changed metadata.namespace" in (await event_messages(plane, "team-a"))[0]

    on_a_plane(scenario)


@pytest.mark.parametrize(
    "forged", [{"name": "other", "resourceVersion": ""}, {"labels": {"karmada.io/managed": "false"}}], ids=str
)
def test_retention_leaves_an_object_what_it_is(forged):
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            maps = members.client.resource(CONFIG_MAPS)
            await plane.cluster("m1")
            await maps.create({"metadata": {"name": "other", "namespace": "default"}})
            Forging(plane, **forged)
            plane.start(ExecutionController(plane.context, members, plane.context.informers.of(Work)).controller)
            marks = {"labels": {"karmada.io/managed": "true", "work.karmada.io/permanent-id": "mine"}}
            manifest = {"apiVersion": "v1", "kind": "ConfigMap"}
            manifest |= {"metadata": {"name": "settings", "namespace": "default", **marks}, "data": {"a": "1"}}
            work = {"metadata": {"name": "w", "namespace": SPACE}, "spec": {"workload": {"manifests": [manifest]}}}
            await plane.client.resource(WORKS).create(work)
            await plane.clock.sleep(5)
            changed = {"workload": {"manifests": [{**manifest, "data": {"a": "2"}}]}}
            await plane.client.resource(WORKS).patch("w", {"spec": changed}, SPACE)
            await plane.clock.sleep(5)
            assert "data" not in await maps.get("other", "default")
            assert (await maps.get("settings", "default"))["metadata"]["labels"]["karmada.io/managed"] == "true"
            await members.connection.close()

    on_a_plane(scenario)
