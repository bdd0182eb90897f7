"""The APIServices of addons inside a control plane: registered, removed, and those of others left alone."""

from karmada.apiserver.server import ADMIN, ApiServer
from karmada.install.control_plane import connect_addon, disconnect_addon
from karmada.install.naming import Names
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource

ADDON, SPACE, OWN = "karmada-metrics-adapter", "karmada-system", Names("demo")
API_SERVICES = GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")
NAMESPACES, SERVICES = (GroupVersionResource("", "v1", plural) for plural in ("namespaces", "services"))
GROUP = "v1beta1.metrics.k8s.io"


async def registered(hub: Client) -> set[str]:
    """The groups of metrics, and the Services, that the control plane knows."""
    services = {one["metadata"]["name"] for one in (await hub.resource(SERVICES).list()).items}
    groups = {one["metadata"]["name"] for one in (await hub.resource(API_SERVICES).list()).items}
    return {name for name in groups if "metrics.k8s.io" in name} | (services - {"kubernetes"})


async def test_an_addon_s_groups_are_removed_and_what_leads_elsewhere_stays() -> None:
    async with ApiServer() as server:
        hub = Client(server.direct(ADMIN))
        await hub.resource(NAMESPACES).create({"metadata": {"name": SPACE}})
        await connect_addon(hub, ADDON, SPACE, b"", OWN)
        all_of_it = await registered(hub)
        assert {GROUP, ADDON} <= all_of_it
        for other in (("elsewhere", OWN), (SPACE, Names("other")), (SPACE, Names())):
            await disconnect_addon(hub, ADDON, *other)
            assert await registered(hub) == all_of_it, other
        theirs = {"spec": {"service": {"name": "metrics-server", "namespace": "kube-system"}}}
        await hub.resource(API_SERVICES).patch(GROUP, theirs)
        await disconnect_addon(hub, ADDON, SPACE, OWN)
        assert await registered(hub) == {GROUP}
        await disconnect_addon(hub, ADDON, SPACE, OWN)
