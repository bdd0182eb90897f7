"""ReplicationControllers in a member."""

from tests.simulator.conftest import template

from karmada.machinery.resource import Propagation
from karmada.simulator.workloads.kinds import BUDGETS, PODS, QUOTAS, REPLICATION_CONTROLLERS


def replication_controller(replicas=3, **labels):
    return {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"app": "web"}, "template": template({"app": "web", **labels})},
    }


async def ready(actor, count):
    async def holds():
        return (await actor.status(REPLICATION_CONTROLLERS, "web")).get("readyReplicas", 0) == count

    await actor.until(holds)


def owners(pod):
    return [owner["kind"] for owner in pod["metadata"].get("ownerReferences") or ()]


def test_a_replication_controller_keeps_as_many_pods_as_asked_for(act):
    async def scene(actor):
        await actor.create(REPLICATION_CONTROLLERS, replication_controller())
        await ready(actor, 3)
        status = await actor.status(REPLICATION_CONTROLLERS, "web")
        assert status == {
            "replicas": 3,
            "fullyLabeledReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "observedGeneration": 1,
        }
        await actor.patch(REPLICATION_CONTROLLERS, "web", {"spec": {"replicas": 1}})
        await ready(actor, 1)
        (left,) = await actor.pods()
        assert owners(left) == ["ReplicationController"]

    act(scene)


def test_a_replication_controller_adopts_matching_pods_and_releases_others(act):
    async def scene(actor):
        meta = {"name": "stray", "namespace": "default", "labels": {"app": "web"}}
        await actor.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template({})["spec"]})
        await actor.create(REPLICATION_CONTROLLERS, replication_controller(1))
        await ready(actor, 1)
        (pod,) = await actor.pods()
        assert (pod["metadata"]["name"], owners(pod)) == ("stray", ["ReplicationController"])
        await actor.patch(PODS, "stray", {"metadata": {"labels": {"app": "other"}}})

        async def replaced():
            return len(await actor.pods()) == 2

        await actor.until(replaced)
        assert owners(await actor.get(PODS, "stray")) == []

    act(scene)


def test_the_pods_of_a_deleted_replication_controller_go_with_it_only_if_asked_for(act):
    async def scene(actor):
        resource = actor.client.resource(REPLICATION_CONTROLLERS)
        await actor.create(REPLICATION_CONTROLLERS, replication_controller())
        await ready(actor, 3)
        await actor.delete(REPLICATION_CONTROLLERS, "web")

        async def orphaned():
            return not any(map(owners, await actor.pods()))

        await actor.until(orphaned)
        assert len(await actor.pods()) == 3
        await actor.create(REPLICATION_CONTROLLERS, replication_controller())
        await ready(actor, 3)
        assert all(map(owners, await actor.pods()))
        await resource.delete("web", "default", propagation=Propagation.BACKGROUND)

        async def gone():
            return not await actor.pods()

        await actor.until(gone)

    act(scene)


def test_a_replication_controller_says_that_a_quota_holds_it_back_until_it_fits(act):
    async def scene(actor):
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "default"}}
        await actor.create(QUOTAS, quota | {"spec": {"hard": {"pods": "2"}}})

        async def counted():
            return (await actor.status(QUOTAS, "few")).get("hard")

        await actor.until(counted)
        await actor.create(REPLICATION_CONTROLLERS, replication_controller())

        async def reasons():
            status = await actor.status(REPLICATION_CONTROLLERS, "web")
            return [(each["type"], each["reason"]) for each in status.get("conditions") or ()]

        assert await actor.until(reasons) == [("ReplicaFailure", "FailedCreate")]
        await actor.patch(REPLICATION_CONTROLLERS, "web", {"spec": {"replicas": 2}})

        async def fits():
            return not await reasons()

        await actor.until(fits)

    act(scene)


def test_a_budget_counts_the_pods_that_a_replication_controller_asks_for(act):
    async def scene(actor):
        await actor.create(REPLICATION_CONTROLLERS, replication_controller(3))
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        spec = {"minAvailable": "60%", "selector": {"matchLabels": {"app": "web"}}}
        await actor.create(BUDGETS, budget | {"metadata": {"name": "b", "namespace": "default"}, "spec": spec})

        async def allowed():
            return (await actor.status(BUDGETS, "b")).get("disruptionsAllowed") == 1

        await actor.until(allowed)
        assert (await actor.status(BUDGETS, "b"))["expectedPods"] == 3

    act(scene)
