"""Copies of templates are found by bindings, which may not be known yet."""

import pytest
from tests.membership.world import eventually

from karmada.api.codec import from_tree
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ADMIN
from karmada.controllers.selection import Selection
from karmada.machinery.client import Client
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import JSONObject
from karmada.search.templates import Templates
from karmada.search.view import GroupKind, Named
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

SHOP = Named(GroupKind("apps", "Deployment"), "default", "shop")


def idle() -> ControlPlaneOptions:
    """Nothing changes the bindings of a test."""
    return ControlPlaneOptions(selection=Selection(()), search=False)


def binding(**spec: object) -> ResourceBinding:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "shop", "uid": "u"}
    tree: JSONObject = {
        "metadata": {"name": "shop-deployment", "namespace": "default"},
        "spec": {"resource": resource, **spec},
    }
    return from_tree(tree, ResourceBinding)


async def test_a_copy_is_what_a_binding_put_into_the_cluster() -> None:
    async with ControlPlane(idle()) as plane, Supervisor() as supervisor:
        leaving = {"fromCluster": "member3", "reason": "Tested", "producer": "test"}
        needing = {"namespace": "default", "name": "other", "clusters": [{"name": "member4"}]}
        made = binding(clusters=[{"name": "member1"}], gracefulEvictionTasks=[leaving], requiredBy=[needing])
        await plane.client.of(ResourceBinding).create(made)
        templates = Templates(InformerFactory(Client(plane.server.direct(ADMIN)), supervisor))
        assert templates.uid(SHOP, "member1") == ""
        await templates.loaded()
        found = [templates.uid(SHOP, f"member{number}") for number in range(1, 5)]
        assert found == ["u", "", "u", "u"]
        for other in (
            SHOP._replace(name="blog"),
            SHOP._replace(namespace="other"),
            SHOP._replace(namespace=""),
            SHOP._replace(name="Shop"),
            SHOP._replace(kind=GroupKind("example.io", "Deployment")),
        ):
            assert templates.uid(other, "member1") == ""


async def test_who_asks_before_bindings_can_be_read_is_asked_to_come_again() -> None:
    async with ControlPlane(idle()) as plane, Supervisor() as supervisor:
        informers = InformerFactory(Client(plane.server.direct(UserInfo("nobody"))), supervisor)
        followed = informers.of(ResourceBinding)

        async def has_failed() -> bool:
            return followed.reflector.failure is not None

        await eventually(has_failed, 6000)
        with pytest.raises(Failure, match=r"the resourcebindings are being read \(Forbidden\)") as refused:
            await Templates(informers).loaded()
        assert refused.value.code == 503
