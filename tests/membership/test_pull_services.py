"""Services of a pull member: its agent collects their endpoints, and none but its own."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.federation.test_services import EXPORTS, SLICES, endpoint_slice, multi_cluster, policy, service
from tests.membership.test_pull import Pull
from tests.membership.test_unjoin import WORKS
from tests.membership.world import QUICK, Member, World, eventually
from tests.planes import stored

from karmada.api.feature_gates import DEFAULTS
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.options import Options
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.membership.join import join
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
MCS = GroupVersionResource("networking.karmada.io", "v1alpha1", "multiclusterservices")
GATES = DEFAULTS.with_overrides({"MultiClusterService": True})


@pytest.fixture
async def pull() -> AsyncIterator[Pull]:
    async with AsyncExitStack() as stack:
        options = ControlPlaneOptions(storage=stored(), options=Options(QUICK), gates=GATES)
        plane = await stack.enter_async_context(ControlPlane(options))
        yield Pull(World(plane, stack), await plane.listen(), stack)


async def both(pull: Pull) -> tuple[Member, Member]:
    """A pull member and a push member, both ready."""
    pulled, pushed = await pull.world.member("pulled"), await pull.world.member("pushed")
    await pull.register(pulled, gates=GATES)
    await join(pushed.client, pull.world.hub, pushed.describe())
    await pull.world.ready("pulled")
    await pull.world.ready("pushed")
    return pulled, pushed


async def names_in(member: Member, of: str) -> list[str]:
    found = (await member.client.resource(SLICES).list(Scope("default", f"kubernetes.io/service-name={of}"))).items
    return sorted(one["metadata"]["name"] for one in found)


async def test_endpoints_of_a_pull_member_reach_a_push_member_and_the_reverse(pull: Pull, caplog: Any) -> None:
    caplog.set_level(logging.WARNING)
    hub = pull.world.hub
    pulled, pushed = await both(pull)
    await pulled.client.resource(SLICES).create(endpoint_slice("10.3.0.1", name="web-pulled"))
    await pushed.client.resource(SLICES).create(endpoint_slice("10.1.0.1", name="web-pushed"))
    await hub.resource(GroupVersionResource("", "v1", "services")).create(service())
    await hub.resource(MCS).create(multi_cluster([], []))

    async def dispatched() -> bool:
        assert await names_in(pushed, "web") == ["pulled-web-pulled", "web-pushed"]
        assert await names_in(pulled, "web") == ["pushed-web-pushed", "web-pulled"]
        return True

    await eventually(dispatched)
    await pulled.client.resource(SLICES).delete("web-pulled", "default")

    async def withdrawn() -> bool:
        return await names_in(pushed, "web") == ["web-pushed"]

    await eventually(withdrawn)
    await hub.resource(MCS).delete("web", "default")

    async def retired() -> bool:
        return await names_in(pulled, "web") == []

    await eventually(retired)
    assert not [r.getMessage() for r in caplog.records if "forbidden" in r.getMessage().lower()]


async def export(hub: Client, member: Member) -> None:
    """Have a member export the Service `web`."""
    crd = await hub.resource(CRDS).get("serviceexports.multicluster.x-k8s.io")
    await member.client.resource(CRDS).create({**crd, "metadata": {"name": crd["metadata"]["name"]}, "status": {}})
    multicluster = "multicluster.x-k8s.io/v1alpha1"
    policies = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
    await hub.resource(policies).create(policy("export", "ServiceExport", [member.name], multicluster))
    await hub.resource(EXPORTS).create({"metadata": {"name": "web", "namespace": "default"}})


async def imported(hub: Client) -> list[str]:
    """The slices that importers of `web` get."""
    found = (await hub.resource(SLICES).list(Scope("default", "kubernetes.io/service-name=derived-web"))).items
    return [one["metadata"]["name"] for one in found]


async def test_a_pull_member_exports_a_service(pull: Pull, caplog: Any) -> None:
    caplog.set_level(logging.WARNING)
    hub = pull.world.hub
    pulled, _ = await both(pull)
    await pulled.client.resource(SLICES).create(endpoint_slice("10.3.0.1"))
    await export(hub, pulled)
    assert await eventually(lambda: imported(hub)) == ["imported-pulled-web-abcde"]
    await hub.resource(EXPORTS).delete("web", "default")

    async def gone() -> bool:
        return await imported(hub) == []

    await eventually(gone)
    assert not [r.getMessage() for r in caplog.records if "forbidden" in r.getMessage().lower()]


async def test_an_agent_cannot_write_slices_of_another_cluster_nor_of_a_service_that_others_export(pull: Pull) -> None:
    hub = pull.world.hub
    pulled, pushed = await both(pull)
    secret = await pulled.client.resource(objects.SECRETS).get("karmada-kubeconfig", "karmada-system")
    agent = Client(HttpTransport(from_bytes(objects.decoded(secret)["karmada-kubeconfig"]).target()))
    try:
        work = {
            "apiVersion": "work.karmada.io/v1alpha1",
            "kind": "Work",
            "metadata": {"name": "w"},
            "spec": {"workload": {"manifests": [endpoint_slice("6.6.6.6")]}},
        }
        with pytest.raises(Forbidden):
            await agent.resource(WORKS).create(work, "karmada-es-pushed")
        with pytest.raises(Forbidden):
            await agent.resource(SLICES).create(endpoint_slice("6.6.6.6"), "default")
        marks = {
            "endpointslice.karmada.io/managed-by": "ServiceExport",
            "endpointslice.karmada.io/namespace": "default",
            "endpointslice.karmada.io/name": "web",
        }
        work["metadata"]["labels"] = marks
        await agent.resource(WORKS).create(work, "karmada-es-pulled")
        await pushed.client.resource(SLICES).create(endpoint_slice("10.3.0.1"))
        await export(hub, pushed)
        assert await eventually(lambda: imported(hub)) == ["imported-pushed-web-abcde"]
    finally:
        await agent.close()
