"""A kind that appears while the control plane runs is propagated at once, not with the next look at discovery."""

import asyncio

from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.loop import VirtualClock, run_virtual

from .conftest import CLUSTERS, Federation

WIDGETS = GroupVersionResource("example.io", "v1", "widgets")
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.io"},
    "spec": {
        "group": "example.io",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
WIDGET = {"apiVersion": "example.io/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "widgets", "namespace": "default"},
    "spec": {"resourceSelectors": [{"apiVersion": "example.io/v1", "kind": "Widget"}]},
}
AT_ONCE = 5.0
"""Virtual seconds; discovery is looked at anew only every thirty."""


def test_objects_of_a_kind_that_appears_reach_members_at_once():
    async def main():
        async with ApiServer(ApiServerOptions(now=VirtualClock().now)) as member:
            inside = Federation(Client(member.direct(ADMIN)), {})
            await inside.apply(DEFINITION)

            async def open_member(cluster):
                return member.direct(ADMIN)

            async with ControlPlane(ControlPlaneOptions(clock=VirtualClock()), open_member) as plane:
                cluster = {"metadata": {"name": "member1"}, "spec": {"syncMode": "Push"}}
                await plane.client.resource(CLUSTERS).create(cluster)
                await asyncio.sleep(61)
                hub = Federation(plane.client, {})
                await hub.apply(POLICY, DEFINITION)
                await asyncio.sleep(1)
                await hub.hub.mapper.refresh()
                await hub.apply(WIDGET)
                await asyncio.sleep(AT_ONCE)
                assert await inside.hub.resource(WIDGETS).get("w", "default")

    run_virtual(main)
