"""A workload that failed over from m1 to m2, and what the scheduler and members do about it by a test's word."""

import orjson
from tests.controllers.plane import CLUSTERS

from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.failback import FailbackController
from karmada.machinery.client import type_of
from karmada.machinery.clock import rfc3339
from karmada.machinery.transport import GroupVersionResource

BINDINGS = type_of(ResourceBinding)
EVENTS = GroupVersionResource("", "v1", "events")
KINDS = [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": "deployments"}]}]
TERMS = {
    "clusterAffinities": [
        {"affinityName": "main", "clusterNames": ["m1"]},
        {"affinityName": "spare", "clusterNames": ["m2"]},
    ]
}
WEIGHTS = {
    "clusterAffinity": {"clusterNames": ["m1", "m2"]},
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {
            "staticWeightList": [
                {"targetCluster": {"clusterNames": ["m1"]}, "weight": 10},
                {"targetCluster": {"clusterNames": ["m2"]}, "weight": 0},
            ]
        },
    },
}
LABELS = {"propagationpolicy.karmada.io/permanent-id": "p"}
BEHAVIOUR = {"windowSeconds": 300, "hysteresisSeconds": 60}


async def begin(plane):
    for name in ("m1", "m2"):
        await plane.cluster(name)
        await plane.client.resource(CLUSTERS).patch(name, {"status": {"apiEnablements": KINDS}}, subresource="status")
    await readiness(plane, "m1", "True")
    controller = FailbackController(plane.context).controller
    plane.start(controller)
    return controller


async def readiness(plane, name, status):
    condition = {"type": "Ready", "status": status, "reason": "Test", "message": ""}
    condition["lastTransitionTime"] = rfc3339(plane.clock.now())
    await plane.client.resource(CLUSTERS).patch(name, {"status": {"conditions": [condition]}}, subresource="status")
    taints = [] if status == "True" else [{"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"}]
    await plane.client.resource(CLUSTERS).patch(name, {"spec": {"taints": taints}})


async def bind(plane, name="web", placement=TERMS, behaviour=BEHAVIOUR, where="m2", labels=LABELS, **more):
    """A workload that failed over to m2."""
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
    noted = {"policy.karmada.io/applied-placement": orjson.dumps(placement).decode()}
    marks = {"labels": labels, "annotations": noted}
    spec = {"resource": resource, "replicas": 2, "clusters": [{"name": where, "replicas": 2}], "placement": placement}
    spec |= {"failover": {"failback": behaviour}, **more}
    created = await plane.client.resource(BINDINGS).create(
        {"metadata": {"name": name, "namespace": "default", **marks}, "spec": spec}
    )
    await scheduled(plane, created, "spare")


async def scheduled(plane, binding, term="main"):
    status = {"lastScheduledTime": rfc3339(plane.clock.now()), "schedulerObservingAffinityName": term}
    status["schedulerObservedGeneration"] = binding["metadata"]["generation"]
    name = binding["metadata"]["name"]
    await plane.client.resource(BINDINGS).patch(name, {"status": status}, "default", subresource="status")


async def get(plane, name="web"):
    return await plane.client.resource(BINDINGS).get(name, "default")


async def triggered(plane, *names):
    return [name for name in names or ("web",) if (await get(plane, name))["spec"].get("failbackTriggeredAt")]


async def state(plane, name="web"):
    conditions = (await get(plane, name))["status"].get("conditions", ())
    return next(((c["status"], c["reason"]) for c in conditions if c["type"] == "FailingBack"), None)


async def moved(plane, name="web", health="Healthy"):
    """The scheduler and m1 did what was asked."""
    spec = {"clusters": [{"name": "m1", "replicas": 2}]}
    await scheduled(plane, await plane.client.resource(BINDINGS).patch(name, {"spec": spec}, "default"))
    item = {"clusterName": "m1", "applied": True, "health": health, "status": {"replicas": 2, "readyReplicas": 2}}
    status = {"status": {"aggregatedStatus": [item]}}
    await plane.client.resource(BINDINGS).patch(name, status, "default", subresource="status")
    await plane.clock.sleep(15)
