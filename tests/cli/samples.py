"""Objects that tests of the command line share."""

from typing import Any

from tests.cli.world import World

from karmada.api import yaml
from karmada.machinery.discovery import split_api_version
from karmada.machinery.transport import GroupVersionResource

SHOP = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, labels: {app: shop}}
spec:
  replicas: 3
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
      - {name: main, image: "nginx:1.25", resources: {requests: {cpu: 10m}}}
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec:
  selector: {app: shop}
  ports: [{port: 80}]
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: shop}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: shop}
  - {apiVersion: v1, kind: Service, name: shop}
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 2}
        - {targetCluster: {clusterNames: [member2]}, weight: 1}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: shop}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: shop}
  overrideRules:
  - targetCluster: {clusterNames: [member2]}
    overriders:
      labelsOverrider: [{operator: add, value: {where: second}}]
"""
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")


def apply(world: World, text: str, namespace: str, *, ready: int = 3) -> None:
    """Create the objects of a text, and wait until the deployment of it is ready everywhere."""
    deployments: list[str] = []
    for item in yaml.load_all(text):
        create(world, item, namespace)
        if item["kind"] == "Deployment":
            deployments.append(item["metadata"]["name"])
    if ready:
        for name in deployments:
            world.eventually(lambda name=name: _ready(world, name, namespace) == ready)


def create(world: World, item: dict[str, Any], namespace: str) -> None:
    async def work() -> None:
        client = world.plane.client
        served = await client.mapper.of_kind(item["apiVersion"], item["kind"])
        assert split_api_version(item["apiVersion"])[0] == served.type.group
        await client.resource(served.type).create(item, namespace if served.namespaced else "")

    world.call(work())


def _ready(world: World, name: str, namespace: str) -> int:
    found = world.call(world.plane.client.resource(DEPLOYMENTS).get(name, namespace))
    return int((found.get("status") or {}).get("readyReplicas", 0))
