"""Taking over a running installation of the reference: nothing changes in members."""

from contextlib import AsyncExitStack
from typing import Any

import pytest

from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource

from . import recordings
from .world import (
    BINDINGS,
    CLUSTERS,
    DEPLOYMENTS,
    POLICIES,
    POLICY,
    QUICK,
    Counting,
    Engine,
    deployment,
    eventually,
    namespace,
)

SCENARIOS = (
    "cluster-role",
    "delete-propagation-modes",
    "drift-correction",
    "job-division",
    "override-all-kinds",
    "policy-update",
    "pp-over-cpp",
    "preserve-on-deletion",
    "propagate-deps",
    "retain-replicas",
    "static-weight-2-1",
    "template-update",
)
RECORDED_CLUSTERS = {
    "member1": ("alpha", "north", "north-1", {"tier": "gold", "site": "lab"}),
    "member2": ("alpha", "north", "north-2", {"tier": "silver", "site": "lab"}),
    "member3": ("beta", "south", "south-1", {"tier": "silver", "site": "field"}),
}
"""Provider, region, zone and labels of the clusters of the recordings."""
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
CLUSTER_BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
PROPAGATED = (
    DEPLOYMENTS,
    GroupVersionResource("batch", "v1", "jobs"),
    GroupVersionResource("", "v1", "configmaps"),
    GroupVersionResource("", "v1", "secrets"),
    GroupVersionResource("", "v1", "serviceaccounts"),
    GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles"),
)


async def decided(hub: Client) -> dict[str, Any]:
    """What bindings and Works say; Works of namespaces are not in the recordings, nor are resource versions."""
    found = {}
    for type_ in (BINDINGS, CLUSTER_BINDINGS, WORKS):
        for obj in (await hub.resource(type_).list()).items:
            metadata, spec = obj["metadata"], obj["spec"]
            manifests = spec.get("workload", {}).get("manifests", [{}])
            if manifests[0].get("kind") != "Namespace" and "marker" not in metadata["name"]:
                spec.get("resource", {}).pop("resourceVersion", None)
                found[f"{type_.resource} {metadata.get('namespace')}/{metadata['name']}"] = spec
    return found


@pytest.mark.skipif(not recordings.TRACES.is_dir(), reason="needs ../shared/golden/traces")
async def test_nothing_changes_in_members_when_components_take_over(engine: Engine) -> None:
    await engine.add_member("member3")
    for name, (provider, region, zone, labels) in RECORDED_CLUSTERS.items():
        fields = {"provider": provider, "region": region, "zones": [zone]}
        await engine.hub.resource(CLUSTERS).patch(name, {"metadata": {"labels": labels}, "spec": fields})
    servers = {"karmada": engine.server, **engine.servers}
    recorded: set[str] = set()
    for scenario in SCENARIOS:
        found = recordings.recording(scenario)
        sides: dict[str, Any] = {"karmada": found["karmada"], **found["members"]}
        for name, tree in sides.items():
            for space in {obj["metadata"].get("namespace") for obj in recordings.objects(tree)} - {None}:
                if name != "karmada":
                    await recordings.load(servers[name], namespace(space))
            for obj in recordings.objects(tree):
                await recordings.load(servers[name], obj)
            recorded |= {
                f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}" for obj in recordings.objects(tree)
            }
    before = await decided(engine.hub)
    assert len(before) > 60

    async with AsyncExitStack() as stack:
        counts = {
            (name, type_.resource): await stack.enter_async_context(Counting(member, type_))
            for name, member in engine.members.items()
            for type_ in PROPAGATED
        }
        manager = await engine.start("controller_manager", *QUICK)
        await engine.start("scheduler")
        await engine.ready()
        await engine.hub.resource(POLICIES).create(POLICY)
        await engine.hub.resource(DEPLOYMENTS).create(deployment("marker"))
        for name in ("member1", "member2"):
            await eventually(lambda name=name: engine.members[name].resource(DEPLOYMENTS).get("marker", "default"))
        await eventually(manager.idle)
        changed = {
            (where, what): count
            for where, counting in counts.items()
            for what, count in counting.seen.items()
            if what[1] in recorded
        }
    assert changed == {}
    after = await decided(engine.hub)
    assert {name: after.get(name) for name in before} == before
