"""The workload controllers in a world of lost requests, broken watches and crashes: they always end up right."""

from tests.simulator.conftest import deployment, image_patch
from tests.simulator.test_other_workloads import job, stateful_set
from tests.simulator.test_preemption import CLASSES, important, priority_class
from tests.simulator.test_services_and_policies import service

from karmada.api.quantity import Quantity
from karmada.machinery.supervisor import Supervisor
from karmada.simulator.behaviour import Behaviour
from karmada.simulator.nodes import nodes_of
from karmada.simulator.spec import MemberSpec, NodePool
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import DEPLOYMENTS, ENDPOINT_SLICES, JOBS, NODES, PODS, SERVICES, STATEFUL_SETS
from karmada.simulator.workloads.start import start
from karmada.testing.world import Component, Step, Surroundings, World

SPEC = MemberSpec("m", node_pools=(NodePool(count=2, cpu="2", pods=20),))
SEEDS = (*range(6), 15)


async def controllers(around: Surroundings) -> None:
    async with Supervisor(around.clock, around.random) as supervisor:
        workloads = Workloads(
            around.client, supervisor, Behaviour(ready_seconds=2), clock=around.clock, random=around.random, workers=2
        )
        start(workloads)
        await supervisor.wait()


class Room:
    """No node ever has more than it can hold."""

    def __init__(self) -> None:
        self._pods: dict[str, tuple[str, int]] = {}

    def __call__(self, step: Step) -> str | None:
        if step.kind != ("", "pods"):
            return None
        pod = step.object
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        self._pods.pop(uid, None)
        if step.type == "DELETED" or not node or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return None
        requests = pod["spec"]["containers"][0]["resources"]["requests"]
        self._pods[uid] = (node, Quantity.parse(requests["cpu"]).milli_value())
        used = sum(cpu for where, cpu in self._pods.values() if where == node)
        return f"{node} holds {used}m of 2000m" if used > 2000 else None


async def scenario(world: World) -> None:
    client = world.client()
    for node in nodes_of(SPEC, world.clock.now()):
        await client.resource(NODES).create(node)
    world.check("nodes are never overcommitted", Room())
    world.start(Component("workloads", controllers))
    await client.resource(SERVICES).create(service())
    await client.resource(DEPLOYMENTS).create(deployment(replicas=5, cpu="500m"))
    await client.resource(STATEFUL_SETS).create(stateful_set(2, volumeClaimTemplates=[]))
    await world.storm(30)
    await client.resource(JOBS).create(job(completions=3, parallelism=2))
    await client.resource(DEPLOYMENTS).patch("web", image_patch("nginx:2", "500m"), "default")
    await client.resource(CLASSES).create(priority_class())
    await client.resource(PODS).create(important(cpu="1500m"))
    await world.storm(30)
    await client.resource(PODS).delete("vip", "default")
    await world.calm(240)
    status = (await client.resource(DEPLOYMENTS).get("web", "default"))["status"]
    pods = [pod for pod in world.objects(PODS) if pod["metadata"].get("labels", {}).get("app") == "web"]
    if (status.get("availableReplicas"), status.get("updatedReplicas"), len(pods)) != (5, 5, 5):
        world.fail("the deployment is complete", f"{len(pods)} pods, {status}")
    addresses = {
        endpoint["addresses"][0]
        for one in world.objects(ENDPOINT_SLICES)
        for endpoint in one["endpoints"]
        if endpoint["conditions"]["ready"]
    }
    if addresses != {pod["status"]["podIP"] for pod in pods}:
        world.fail("endpoints are the pods", f"{addresses}")
    finished = (await client.resource(JOBS).get("job", "default"))["status"]
    if not finished.get("completionTime"):
        world.fail("the job completes", f"{finished}")
    numbered = (await client.resource(STATEFUL_SETS).get("db", "default"))["status"]
    if numbered.get("readyReplicas") != 2:
        world.fail("the stateful set is complete", f"{numbered}")


def test_whatever_happens_workloads_end_up_as_asked_for(explore):
    for seed in SEEDS:
        explore(scenario, seed)


def test_an_exploration_repeats_itself(explore):
    assert explore(scenario, 11) == explore(scenario, 11)
