"""Deployments in a member: what people see of rollouts."""

import pytest
from tests.simulator.conftest import ONE_NODE, Actor, deployment, image_patch, template

from karmada.simulator.workloads.kinds import DEPLOYMENTS, PODS, REPLICA_SETS


async def revisions(actor: Actor) -> dict[str, int]:
    """Replicas by revision."""
    sets = await actor.items(REPLICA_SETS)
    mark = "deployment.kubernetes.io/revision"
    return {one["metadata"]["annotations"][mark]: one["spec"]["replicas"] for one in sets}


async def condition(actor: Actor, type_: str) -> dict[str, str]:
    status = await actor.status(DEPLOYMENTS, "web")
    return next(c for c in status["conditions"] if c["type"] == type_)


def test_a_deployment_becomes_available_and_says_so(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment())
        await actor.available("web", 3)
        assert (await condition(actor, "Available"))["reason"] == "MinimumReplicasAvailable"
        progress = await condition(actor, "Progressing")
        assert progress["reason"] == "NewReplicaSetAvailable"
        assert "has successfully progressed." in progress["message"]
        status = await actor.status(DEPLOYMENTS, "web")
        assert {status[f] for f in ("replicas", "updatedReplicas", "readyReplicas")} == {3}
        assert "unavailableReplicas" not in status
        assert {pod["spec"]["nodeName"] for pod in await actor.pods()} == {"m-node-1", "m-node-2", "m-node-3"}

    act(scene)


def test_a_rolling_update_never_has_too_few_or_too_many_pods(act):
    async def scene(actor):
        actor.member.behaviour.ready_seconds = 3
        await actor.create(DEPLOYMENTS, deployment(replicas=4))
        await actor.available("web", 4)
        await actor.patch(DEPLOYMENTS, "web", image_patch("nginx:2"))
        seen = []

        async def finished():
            pods = [pod for pod in await actor.pods() if "deletionTimestamp" not in pod["metadata"]]
            ready = sum(
                pod["status"]["containerStatuses"][0]["ready"] for pod in pods if "containerStatuses" in pod["status"]
            )
            seen.append((len(pods), ready))
            return await revisions(actor) == {"1": 0, "2": 4} and ready == 4 == len(pods)

        await actor.until(finished)
        assert max(total for total, _ in seen) <= 5
        assert min(ready for _, ready in seen) >= 3

    act(scene)


def test_a_broken_image_stops_the_rollout_and_a_rollback_ends_it(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(progressDeadlineSeconds=30))
        await actor.available("web", 3)
        await actor.patch(DEPLOYMENTS, "web", image_patch("nginx:broken"))

        async def stuck():
            return (await condition(actor, "Progressing"))["reason"] == "ProgressDeadlineExceeded"

        await actor.until(stuck, 60)
        status = await actor.status(DEPLOYMENTS, "web")
        assert (status["availableReplicas"], status["updatedReplicas"]) == (3, 1)
        await actor.patch(DEPLOYMENTS, "web", image_patch("nginx:1"))

        async def back():
            return await revisions(actor) == {"3": 3, "2": 0}

        await actor.until(back)
        await actor.clock.sleep(1)
        assert (await condition(actor, "Progressing"))["reason"] == "NewReplicaSetAvailable"

    act(scene)


def test_a_paused_deployment_scales_but_does_not_roll_out(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(replicas=2))
        await actor.available("web", 2)
        await actor.patch(DEPLOYMENTS, "web", {"spec": {"paused": True, "replicas": 4}})
        await actor.patch(DEPLOYMENTS, "web", image_patch("nginx:2"))
        await actor.available("web", 4)
        assert await revisions(actor) == {"1": 4}
        assert (await condition(actor, "Progressing"))["reason"] == "DeploymentPaused"
        await actor.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})

        async def rolled_out():
            return await revisions(actor) == {"1": 0, "2": 4}

        await actor.until(rolled_out)

    act(scene)


def test_recreate_waits_until_the_old_pods_are_gone(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(strategy={"type": "Recreate"}))
        await actor.available("web", 3)
        await actor.patch(DEPLOYMENTS, "web", image_patch("nginx:2"))
        images = []

        async def replaced():
            pods = await actor.pods()
            images.append({pod["spec"]["containers"][0]["image"] for pod in pods})
            return len(pods) == 3 and images[-1] == {"nginx:2"}

        await actor.until(replaced)
        assert {"nginx:1", "nginx:2"} not in images

    act(scene)


def test_old_revisions_are_forgotten_beyond_the_limit(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(replicas=1, revisionHistoryLimit=1))
        await actor.available("web", 1)
        for version in range(2, 6):
            await actor.patch(DEPLOYMENTS, "web", image_patch(f"nginx:{version}"))
            await actor.clock.sleep(5)
        assert await revisions(actor) == {"4": 0, "5": 1}

    act(scene)


def test_minimum_ready_seconds_delay_availability(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(replicas=1, minReadySeconds=20))
        await actor.clock.sleep(10)
        status = await actor.status(DEPLOYMENTS, "web")
        assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (1, 0)
        await actor.available("web", 1, 15)

    act(scene)


def test_pods_beyond_the_capacity_wait_and_run_when_there_is_room(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(replicas=4, cpu="1"))
        await actor.available("web", 4)
        late = template({}, cpu="1") | {"metadata": {"name": "late", "namespace": "default"}}
        await actor.create(PODS, {"apiVersion": "v1", "kind": "Pod", **late})

        async def scheduling():
            conditions = (await actor.status(PODS, "late")).get("conditions") or ()
            return [c for c in conditions if c["type"] == "PodScheduled"]

        [scheduled] = await actor.until(scheduling)
        assert (scheduled["status"], scheduled["reason"]) == ("False", "Unschedulable")
        assert scheduled["message"] == "0/1 nodes are available: 1 Insufficient cpu."
        from karmada.machinery.event_sink import EVENTS

        async def messages():
            return [e["message"] for e in await actor.items(EVENTS) if e["reason"] == "FailedScheduling"]

        assert set(await actor.until(messages)) == {"0/1 nodes are available: 1 Insufficient cpu."}
        await actor.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}})

        async def runs():
            return (await actor.status(PODS, "late"))["phase"] == "Running"

        await actor.until(runs)

    act(scene, ONE_NODE)


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_deleting_a_deployment_deletes_everything(act, policy):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment())
        await actor.available("web", 3)
        from karmada.machinery.resource import Propagation

        await actor.client.resource(DEPLOYMENTS).delete("web", "default", propagation=Propagation(policy))

        async def gone():
            return not await actor.pods() and not await actor.items(REPLICA_SETS) and not await actor.items(DEPLOYMENTS)

        await actor.until(gone)

    act(scene)


def test_a_refused_creation_is_reported_and_tried_again(act):
    async def scene(actor):
        await actor.member.change_faults(full_namespaces=("default",))
        await actor.create(DEPLOYMENTS, deployment())
        await actor.clock.sleep(20)
        failure = await condition(actor, "ReplicaFailure")
        assert failure["reason"] == "FailedCreate"
        assert "exceeded quota" in failure["message"]
        await actor.member.change_faults(full_namespaces=())
        await actor.available("web", 3)
        assert all(c["type"] != "ReplicaFailure" for c in (await actor.status(DEPLOYMENTS, "web"))["conditions"])

    act(scene)


def test_the_same_seed_gives_the_same_pods_and_times(act):
    async def scene(actor):
        actor.member.behaviour.ready_seconds = 2
        await actor.create(DEPLOYMENTS, deployment())
        await actor.clock.sleep(30)
        return [(p["metadata"]["name"], p["metadata"]["uid"], p["status"]) for p in await actor.pods()]

    assert act(scene, seed=3) == act(scene, seed=3)
    assert act(scene, seed=3) != act(scene, seed=4)


def test_orphans_are_adopted_and_strays_released(act):
    async def scene(actor):
        from karmada.machinery.resource import Propagation

        await actor.create(DEPLOYMENTS, deployment())
        await actor.available("web", 3)
        before = {pod["metadata"]["uid"] for pod in await actor.pods()}
        await actor.client.resource(DEPLOYMENTS).delete("web", "default", propagation=Propagation.ORPHAN)
        await actor.clock.sleep(2)
        await actor.create(DEPLOYMENTS, deployment())
        await actor.available("web", 3)
        assert {pod["metadata"]["uid"] for pod in await actor.pods()} == before
        stray = (await actor.pods())[0]["metadata"]["name"]
        await actor.patch(PODS, stray, {"metadata": {"labels": {"app": "debug"}}})
        await actor.clock.sleep(2)
        assert not (await actor.get(PODS, stray))["metadata"].get("ownerReferences")
        assert len(await actor.pods()) == 4
        await actor.patch(PODS, stray, {"metadata": {"labels": {"app": "web"}}})
        await actor.clock.sleep(2)
        assert len(await actor.pods()) == 3

    act(scene)
