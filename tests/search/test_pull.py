"""Pull members without credentials in the control plane are cached through the tunnel of their agent."""

from contextlib import AsyncExitStack

from tests.membership.test_pull import Pull
from tests.membership.world import QUICK, World, eventually
from tests.planes import stored
from tests.search.world import PODS, PROXY, REGISTRIES, Searched, names, pod, registry

from karmada.machinery.options import Options
from karmada.membership import objects
from karmada.membership.component_roles import search_in_members
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions


async def test_a_member_behind_a_tunnel_is_listed_and_watched() -> None:
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(
            ControlPlane(ControlPlaneOptions(storage=stored(), options=Options(QUICK)))
        )
        world = World(plane, stack)
        world.endpoint = await plane.listen()
        searched = Searched(world)
        member = await world.member("member3")
        role, binding = search_in_members()
        await member.client.resource(objects.CLUSTER_ROLES).create(role)
        await member.client.resource(objects.CLUSTER_ROLE_BINDINGS).create(binding)
        await Pull(world, world.endpoint, stack).register(member, report_secrets=frozenset(), tunnel=True)
        await world.ready("member3")
        await member.client.resource(PODS).create(pod("a"))
        await searched.hub.resource(REGISTRIES).create(registry(("v1", "Pod")))
        client = searched.client(path=PROXY)

        async def listed(wanted: list[tuple[str, str]]) -> bool:
            return names((await client.resource(PODS).list()).items) == wanted

        await eventually(lambda: listed([("member3", "a")]))
        await member.client.resource(PODS).create(pod("b"))
        await eventually(lambda: listed([("member3", "a"), ("member3", "b")]))
        await searched.cached()
        await client.close()
