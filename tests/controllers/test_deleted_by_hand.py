"""What controllers made comes back when somebody deletes it, except bindings and their Works."""

from functools import partial

from tests.controllers.plane import CLUSTERS, CRDS, NAMESPACES, WORKS

from karmada.api.crd.definition import definitions
from karmada.machinery.transport import GroupVersionResource
from karmada.testing.scenarios.federation import BINDINGS, POLICIES, run_manager, run_scheduler
from karmada.testing.scenarios.services import EXPOSED, GATES, SERVERS, SERVICES, SLICES
from karmada.testing.world import Component, explore

WIDE = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
WIDE_POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "clusterpropagationpolicies")
QUOTAS = GroupVersionResource("policy.karmada.io", "v1alpha1", "federatedresourcequotas")
EXPORTS = GroupVersionResource("multicluster.x-k8s.io", "v1alpha1", "serviceexports")
IMPORTS = GroupVersionResource("multicluster.x-k8s.io", "v1alpha1", "serviceimports")
ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
MADE = (WORKS, BINDINGS, WIDE, SERVICES, SLICES, NAMESPACES)
OWN = {"web", "shop", "default"}


def made(world):
    """What controllers made: its collection, namespace and name."""
    trees = [(type_, tree["metadata"]) for type_ in MADE for tree in world.objects(type_)]
    found = {(type_, metadata.get("namespace", ""), metadata["name"]) for type_, metadata in trees}
    spaces = {which for which in found if which[0] == NAMESPACES and not which[2].startswith("karmada-es-")}
    return sorted(found - spaces - {(SERVICES, "default", name) for name in OWN})


def is_left_away(world, which):
    """Whether it is a binding or its Work, which stay away as in Karmada, or a namespace, which may hold such Works."""
    of_bindings = {
        (WORKS, work["metadata"]["namespace"], work["metadata"]["name"])
        for work in world.objects(WORKS)
        if any("binding" in mark for mark in work["metadata"].get("annotations") or ())
    }
    return which[0] in (BINDINGS, WIDE, NAMESPACES) or which in of_bindings


def policy(name, resource, *clusters, **spec):
    placement = {"clusterAffinity": {"clusterNames": list(clusters)}}
    return {"metadata": {"name": name}, "spec": {"resourceSelectors": [resource], "placement": placement, **spec}}


async def furnish(world):
    """Something of everything that is made of something else."""
    hub = world.client("user")

    async def create(type_, name, namespace="default", **tree):
        where = {"name": name} | ({"namespace": namespace} if namespace else {})
        await hub.resource(type_).create({"metadata": where, **tree})

    async def place(tree, type_=POLICIES):
        await hub.resource(type_).create(tree, "default" if type_ is POLICIES else "")

    for member in ("member1", "member2"):
        reference = {"namespace": "karmada-cluster", "name": f"{member}-impersonator"}
        await create(CLUSTERS, member, "", spec={"syncMode": "Push", "impersonatorSecretRef": reference})
        for crd in definitions():
            if crd["spec"]["group"] == "multicluster.x-k8s.io":
                await world.client("user", member).resource(CRDS).create(crd)
    mcs = {"apiVersion": "multicluster.x-k8s.io/v1alpha1"}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "shop"}
    await place(policy("export", {**mcs, "kind": "ServiceExport"}, "member1"))
    await place(policy("import", {**mcs, "kind": "ServiceImport"}, "member2", propagateDeps=True))
    await place(policy("role", role, "member2"), WIDE_POLICIES)
    world.start(Component("controller-manager", partial(run_manager, gates=GATES)))
    world.start(Component("scheduler", run_scheduler))
    await world.clock.sleep(60)
    await create(NAMESPACES, "shop", "")
    await create(ROLES, "shop", "", rules=[])
    assigned = [{"clusterName": "member1", "hard": {"cpu": "3"}}]
    await create(QUOTAS, "all", "shop", spec={"overall": {"cpu": "10"}, "staticAssignments": assigned})
    ports = [{"name": "http", "port": 80}]
    for name in ("web", "shop"):
        await create(SERVICES, name, spec={"ports": ports, "selector": {"app": name}})
        slices = world.client("kubelet", "member1").resource(SLICES)
        metadata = {"name": f"{name}-x", "namespace": "default", "labels": {"kubernetes.io/service-name": name}}
        endpoints = [{"addresses": ["10.1.0.1"], "conditions": {"ready": True}}]
        await slices.create({"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints, "ports": ports})
    sides = {"providerClusters": [{"name": "member1"}], "consumerClusters": [{"name": "member2"}]}
    await create(EXPOSED, "shop", spec={"types": ["CrossCluster"], **sides})
    await create(EXPORTS, "web")
    await create(IMPORTS, "web", spec={"type": "ClusterSetIP", "ports": ports})
    await world.clock.sleep(90)


def test_what_controllers_made_is_made_again_when_somebody_deletes_it():
    lost = {}

    async def story(world):
        await furnish(world)
        before = made(world)
        kinds = [type_.resource for type_, _, _ in before]
        assert {type_.resource for type_ in MADE} == set(kinds), "there is something of everything"
        for type_, namespace, name in [which for which in before if not is_left_away(world, which)]:
            await world.client("somebody").resource(type_).delete(name, namespace)
            await world.clock.sleep(60)
            if made(world) != before:
                lost[type_.resource, namespace, name] = set(before) ^ set(made(world))
                break

    explore(story, 1, SERVERS)
    assert lost == {}
