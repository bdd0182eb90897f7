"""Templates, and what the controllers of a cluster make of their copies."""

from tests.membership.world import eventually
from tests.search.world import PODS, Searched, pod

from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject

POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
DEPLOYMENTS, REPLICA_SETS = (GroupVersionResource("apps", "v1", plural) for plural in ("deployments", "replicasets"))


def workload(kind: str, name: str, **metadata: object) -> JSONObject:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
    }


def owned_by(owner: JSONObject) -> list[JSONObject]:
    about = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
    return [{"apiVersion": "apps/v1", "kind": owner["kind"], **about}]


def propagated(name: str, *clusters: str, made: JSONObject | None = None) -> tuple[JSONObject, JSONObject]:
    """A policy that propagates a template to some clusters, and the template."""
    made = made or workload("Deployment", name)
    selector = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": name}
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"resourceSelectors": [selector], "placement": {"clusterAffinity": {"clusterNames": list(clusters)}}},
    }
    return policy, made


async def propagate(searched: Searched, name: str, *clusters: str, made: JSONObject | None = None) -> JSONObject:
    """Create a template and have it propagated to some clusters; the template."""
    policy, made = propagated(name, *clusters, made=made)
    type_ = (await searched.hub.mapper.of_kind(made["apiVersion"], made["kind"])).type
    await searched.hub.resource(POLICIES).create(policy)
    template = await searched.hub.resource(type_).create(made)
    for each in clusters:
        copies = searched.members[each].client.resource(type_)
        await eventually(lambda copies=copies: copies.get(name, "default"))
    return template


async def roll_out(member: Client, name: str, *pods: str) -> JSONObject:
    """Create what the controllers of a cluster make of a Deployment, and that where it is missing; its ReplicaSet."""
    deployments = member.resource(DEPLOYMENTS)
    try:
        deployment = await deployments.get(name, "default")
    except NotFound:
        deployment = await deployments.create(workload("Deployment", name))
    made = workload("ReplicaSet", f"{name}-1", ownerReferences=owned_by(deployment))
    replicas = await member.resource(REPLICA_SETS).create(made)
    for each in pods:
        await scale_up(member, replicas, each)
    return replicas


async def scale_up(member: Client, replicas: JSONObject, name: str) -> None:
    made = pod(name)
    made["metadata"]["ownerReferences"] = owned_by(replicas)
    await member.resource(PODS).create(made)
