"""Who may use a cluster's proxy may be impersonated there, through Works, in virtual time."""

from tests.controllers.observing import does, events, refused
from tests.controllers.plane import CLUSTERS, NAMESPACES, WORKS, on_a_plane

from karmada.controllers.unified_auth import UnifiedAuthController
from karmada.machinery.errors import ServerError
from karmada.machinery.resource import Scope
from karmada.membership.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES

REFERENCE = {"impersonatorSecretRef": {"namespace": "karmada-cluster", "name": "m1-impersonator"}}
SUCCEEDED = ("Normal", "SyncImpersonationConfigSucceed", "Sync impersonation config succeed.")


def role(name="proxy", resource="clusters/proxy"):
    return {
        "metadata": {"name": name},
        "rules": [{"apiGroups": ["cluster.karmada.io"], "resources": [resource], "verbs": ["*"]}],
    }


def bound(user, name="proxy"):
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


async def started(plane, *clusters):
    await plane.client.resource(CLUSTER_ROLES).create(role())
    await plane.client.resource(CLUSTER_ROLE_BINDINGS).create(bound("alice"))
    for name in clusters:
        await plane.cluster(name)
        await plane.client.resource(CLUSTERS).patch(name, {"spec": REFERENCE})
    controller = UnifiedAuthController(plane.context).controller
    plane.start(controller)
    await plane.clock.sleep(5)
    return controller


async def works(plane, cluster):
    found = (await plane.client.resource(WORKS).list(Scope(f"karmada-es-{cluster}"))).items
    return {one["spec"]["workload"]["manifests"][0]["kind"]: one for one in found}


async def users(plane, cluster):
    manifest = (await works(plane, cluster))["ClusterRole"]["spec"]["workload"]["manifests"][0]
    return [name for rule in manifest["rules"] if rule["resources"] == ["users"] for name in rule["resourceNames"]]


def test_a_member_with_an_impersonator_lets_it_take_the_names_of_those_who_may_use_the_proxy():
    async def test(plane):
        await plane.cluster("m2")
        controller = await started(plane, "m1")
        assert "alice" in await users(plane, "m1")
        found = await works(plane, "m1")
        assert set(found) == {"ClusterRole", "ClusterRoleBinding"}
        [subject] = found["ClusterRoleBinding"]["spec"]["workload"]["manifests"][0]["subjects"]
        assert subject["namespace"] == "karmada-cluster"
        cluster = await plane.client.resource(CLUSTERS).get("m1")
        owner = {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "name": "m1",
            "uid": cluster["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        assert [work["metadata"]["ownerReferences"] for work in found.values()] == [[owner], [owner]]
        assert await works(plane, "m2") == {}, "it has no impersonator"
        assert await events(plane) == {SUCCEEDED}
        await plane.client.resource(CLUSTER_ROLE_BINDINGS).create(bound("bob"))
        await plane.client.resource(CLUSTERS).patch("m2", {"spec": REFERENCE})
        await plane.clock.sleep(5)
        assert {"alice", "bob"} <= set(await users(plane, "m1"))
        assert {"alice", "bob"} <= set(await users(plane, "m2"))
        assert controller.errors == 0

    on_a_plane(test)


def test_a_member_waits_for_its_namespace_and_one_that_leaves_gets_nothing():
    async def test(plane):
        controller = await started(plane)
        for name in ("m1", "m2"):
            metadata = {"name": name, "finalizers": ["karmada.io/cluster-controller"]}
            await plane.client.resource(CLUSTERS).create(
                {"metadata": metadata, "spec": {"syncMode": "Push"} | REFERENCE}
            )
        await plane.client.resource(CLUSTERS).delete("m2")
        await plane.clock.sleep(60)
        for space in ("karmada-es-m1", "karmada-es-m2"):
            await plane.client.resource(NAMESPACES).create({"metadata": {"name": space}})
        await plane.clock.sleep(5)
        assert ("alice" in await users(plane, "m1"), await works(plane, "m2")) == (True, {})
        assert controller.errors == 0

    on_a_plane(test)


def test_works_that_cannot_be_written_are_named_and_tried_again():
    async def test(plane):
        refused(plane, ServerError("no room"), WORKS)
        controller = await started(plane, "m1")
        assert await events(plane) == {
            ("Warning", "SyncImpersonationConfigFailed", "Sync impersonation config failed: no room")
        }
        assert controller.errors > 0
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert "alice" in await users(plane, "m1")

    on_a_plane(test)


def test_what_changes_the_outcome_is_reconciled_and_nothing_else():
    async def test(plane):
        controller = await started(plane, "m1", "m2")
        roles, bindings = plane.client.resource(CLUSTER_ROLES), plane.client.resource(CLUSTER_ROLE_BINDINGS)
        clusters, spaces = plane.client.resource(CLUSTERS), plane.client.resource(NAMESPACES)
        blue = {"metadata": {"labels": {"color": "blue"}}}
        steps = {
            roles.create(role("other", "clusters")): 0,
            roles.patch("other", {"rules": role()["rules"]}): 2,
            roles.patch("other", {"rules": []}): 2,
            roles.delete("other"): 0,
            bindings.create(bound("carol")): 2,
            bindings.delete("carol"): 2,
            clusters.patch("m1", blue): 0,
            clusters.patch("m1", {"spec": {"impersonatorSecretRef": {"name": "new"}}}): 1,
            spaces.create({"metadata": {"name": "shop"}}): 0,
            spaces.patch("karmada-es-m1", blue): 0,
            spaces.delete("shop"): 0,
            clusters.patch("m1", {"metadata": {"finalizers": []}}): 0,
            clusters.delete("m1"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    on_a_plane(test)
