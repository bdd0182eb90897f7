"""Namespaces of the control plane are in every member, whatever happens to their predecessors."""

from tests.controllers.plane import NAMESPACES, WORKS, OneMember, on_a_plane, server

from karmada.api.work.v1alpha1 import Work
from karmada.controllers.execution import ExecutionController
from karmada.controllers.namespace import NamespaceController


def test_a_namespace_that_is_made_again_while_its_predecessor_leaves_a_member_gets_there():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            plane.start(NamespaceController(plane.context).controller)
            works = plane.context.informers.of(Work)
            plane.start(ExecutionController(plane.context, members, works).controller)
            await plane.client.resource(NAMESPACES).create({"metadata": {"name": "shop"}})
            await plane.clock.sleep(5)
            assert await members.client.resource(NAMESPACES).get("shop")
            await plane.condition("m1", "Ready", "False")
            await plane.client.resource(NAMESPACES).delete("shop")
            await plane.clock.sleep(5)
            again = await plane.client.resource(NAMESPACES).create({"metadata": {"name": "shop"}})
            await plane.clock.sleep(600)
            await plane.condition("m1", "Ready", "True")
            await plane.clock.sleep(10)
            [work] = (await plane.client.resource(WORKS).list()).items
            assert [owner["uid"] for owner in work["metadata"]["ownerReferences"]] == [again["metadata"]["uid"]]
            assert await members.client.resource(NAMESPACES).get("shop")
            await members.connection.close()

    on_a_plane(scenario)
