"""Document 001: the policy that moves a workload to its standby cluster when the main one is down."""

from pathlib import Path

from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource

WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
HERE = Path(__file__).parent
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx}
spec:
  replicas: 3
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec: {containers: [{name: nginx, image: "nginx:1.25"}]}
"""


def policy():
    """The document's policy for the members there are, with less patience."""
    [path] = (HERE / "data").glob("001-18-*.yaml")
    text = path.read_text()
    filled = {"cluster-a": "member1", "cluster-b": "member2", "tolerationSeconds: 300": "tolerationSeconds: 1"}
    for old, new in filled.items():
        assert old in text
        text = text.replace(old, new)
    return text


async def test_the_standby_takes_over_when_the_main_cluster_stays_down_and_keeps_the_work_when_it_is_back(federation):
    async with federation(members=2) as world:
        await world.apply(DEPLOYMENT, policy())

        async def placed():
            return await world.placement("Deployment", "nginx")

        async def runs_in(member):
            return (await world.members[member].get("Deployment", "nginx"))["status"].get("readyReplicas") == 3

        async def is_on(*clusters):
            return set(await placed()) == set(clusters)

        assert await world.eventually(lambda: runs_in("member1"))
        assert await placed() == {"member1": 3}
        world.members["member1"].fail()
        assert await world.eventually(lambda: is_on("member2"))
        assert await world.eventually(lambda: runs_in("member2"))
        world.members["member1"].recover()

        async def is_gone():
            works = await world.hub.resource(WORKS).list(Scope("karmada-es-member1"))
            return not [work for work in works.items if work["metadata"]["name"].startswith("nginx-")]

        assert await world.eventually(is_gone)
        assert await placed() == {"member2": 3}
