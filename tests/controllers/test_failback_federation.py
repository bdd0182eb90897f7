"""Over to the standby and back: replicas return by themselves, and the standby keeps its copy until they run."""

from karmada.machinery.transport import GroupVersionResource

BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.25"}]}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
          - {targetCluster: {clusterNames: [member1]}, weight: 10}
          - {targetCluster: {clusterNames: [member2]}, weight: 0}
  failover:
    applicationMigrationPolicy:
      decisionConditions: {tolerationSeconds: 1}
      purgePolicy: Gracefully
    failback: {windowSeconds: 1, hysteresisSeconds: 0}
"""


async def test_replicas_go_over_to_the_standby_and_come_back(federation):
    async with federation(members=2) as world:
        await world.apply(DEPLOYMENT, POLICY)

        async def runs_only_in(member):
            if set(await world.placement("Deployment", "web")) != {member}:
                return False
            found = await world.members[member].get("Deployment", "web")
            return (found.get("status") or {}).get("readyReplicas") == 2

        assert await world.eventually(lambda: runs_only_in("member1"))
        world.members["member1"].fail()
        assert await world.eventually(lambda: runs_only_in("member2"))
        world.members["member1"].recover()
        assert await world.eventually(lambda: runs_only_in("member1"))

        async def is_over():
            (binding,) = [
                one
                for one in (await world.hub.resource(BINDINGS).list()).items
                if one["spec"]["resource"]["name"] == "web"
            ]
            reasons = {one["type"]: one["reason"] for one in binding["status"]["conditions"]}
            return (reasons.get("FailingBack"), reasons.get("MovesWaiting")) == ("FailedBack", "NothingWaits")

        assert await world.eventually(is_over)
