"""Bindings are served in both versions by the embedded control plane."""

from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

NEW = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
OLD = GroupVersionResource("work.karmada.io", "v1alpha1", "resourcebindings")
RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}


async def test_a_binding_reads_in_the_old_version_as_the_old_version_had_it() -> None:
    async with ControlPlane(ControlPlaneOptions()) as plane:
        spec = {
            "resource": RESOURCE,
            "replicas": 2,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            "schedulerName": "somebody-else",
        }
        await plane.client.resource(NEW).create({"metadata": {"name": "b", "namespace": "default"}, "spec": spec})
        old = await plane.client.resource(OLD).get("b", "default")
        assert old["apiVersion"] == "work.karmada.io/v1alpha1"
        assert old["spec"]["resource"]["replicas"] == 2
        assert old["spec"]["resource"]["resourcePerReplicas"] == {"cpu": "1"}
        assert "replicas" not in old["spec"]


async def test_a_binding_written_in_the_old_version_is_kept_in_the_new_one() -> None:
    async with ControlPlane(ControlPlaneOptions()) as plane:
        spec = {"resource": RESOURCE | {"replicas": 4, "resourcePerReplicas": {"cpu": "2"}}}
        await plane.client.resource(OLD).create({"metadata": {"name": "b", "namespace": "default"}, "spec": spec})
        new = await plane.client.resource(NEW).get("b", "default")
        assert new["spec"]["replicas"] == 4
        assert new["spec"]["replicaRequirements"]["resourceRequest"] == {"cpu": "2"}
