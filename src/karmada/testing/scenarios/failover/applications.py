"""The applications of the story and the policies that place them, and how each fails over."""

from typing import Any

from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.testing.scenarios.federation import CLUSTERS, DEPLOYMENTS, POLICIES, deployment
from karmada.testing.world import World

TAINT_POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "clustertaintpolicies")
MEMBERS = ("member1", "member2", "member3", "member4")
WEB, SHOP, BLUNT, LEDGER, HOME = "web", "shop", "blunt", "ledger", "home"
APPS = (WEB, SHOP, BLUNT, LEDGER, HOME)
HOME_MEMBERS = MEMBERS[:2]
UNAVAILABLE = 1
"""Replicas of `web` that moves may make unavailable."""
TAINT = "example.io/down"


async def install(world: World) -> None:
    """Join the members, have those that are not ready tainted, and create every application with its policy."""
    client = world.client()
    for name in MEMBERS:
        await client.resource(CLUSTERS).create({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})
    down, up = ({"conditionType": "Ready", "operator": op, "statusValues": ["True"]} for op in ("NotIn", "In"))
    spec: JSONObject = {"taints": [{"key": TAINT, "effect": "NoExecute"}]}
    spec |= {"addOnConditions": [down], "removeOnConditions": [up]}
    await client.resource(TAINT_POLICIES).create({"metadata": {"name": "down"}, "spec": spec})
    divided = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
    one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    back = {"windowSeconds": 60, "hysteresisSeconds": 30, "maxMoves": 1}
    for name, wanted in (
        (WEB, _policy(divided, disruptionBudget={"maxUnavailable": UNAVAILABLE})),
        (BLUNT, _policy(divided, cluster="Directly")),
        (SHOP, _shop()),
        (LEDGER, _policy(one, fencing={})),
        (HOME, _home(back)),
    ):
        selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}]
        metadata = {"name": name, "namespace": "default"}
        await client.resource(POLICIES).create(
            {"metadata": metadata, "spec": {"resourceSelectors": selectors, **wanted}}
        )
        await client.resource(DEPLOYMENTS).create(deployment(name, some_replicas(world, name)))


def some_replicas(world: World, name: str) -> int:
    """Some replicas, and of `web` more than its budget lets be evicted: what may all be unavailable may be gone."""
    return max(world.random.randint(1, 8), 1 + UNAVAILABLE if name == WEB else 1)


def _policy(placement: JSONObject, cluster: str = "Gracefully", **failover: Any) -> JSONObject:
    everywhere = {"clusterAffinity": {"clusterNames": list(MEMBERS)}}
    return {"placement": everywhere | placement, "failover": {"cluster": {"purgeMode": cluster}, **failover}}


def _home(failback: JSONObject) -> JSONObject:
    terms = [("home", HOME_MEMBERS), ("away", MEMBERS[len(HOME_MEMBERS) :])]
    spec = _policy({"replicaScheduling": {"replicaSchedulingType": "Divided"}}, failback=failback)
    spec["placement"].pop("clusterAffinity")
    spec["placement"]["clusterAffinities"] = [{"affinityName": name, "clusterNames": list(of)} for name, of in terms]
    return spec


def _shop() -> JSONObject:
    patience = {"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 30}
    one = {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}
    spec = _policy({"clusterTolerations": [patience], "spreadConstraints": [one]})
    spec["failover"]["application"] = {"decisionConditions": {"tolerationSeconds": 20}, "gracePeriodSeconds": 60}
    spec["failover"]["application"]["purgeMode"] = "Gracefully"
    return spec | {"propagateDeps": True}
