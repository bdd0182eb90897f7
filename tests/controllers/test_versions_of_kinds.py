"""Objects of a kind that a member serves in other versions than before."""

from tests.controllers.executing import SPACE, executing, works
from tests.controllers.plane import CRDS, WORKS

from karmada.machinery.transport import GroupVersionResource

WIDGETS = GroupVersionResource("example.io", "v2", "widgets")
LABELS = {"karmada.io/managed": "true", "work.karmada.io/permanent-id": "mine"}


def definition(**served):
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": is_served, "storage": name == "v2", "schema": schema}
        for name, is_served in served.items()
    ]
    names = {"plural": "widgets", "kind": "Widget"}
    spec = {"group": "example.io", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "widgets.example.io"}, "spec": spec}


async def widget_of_a_work(plane):
    """Have a Work bring an object of the version that is going to end."""
    marks = {"work.karmada.io/namespace": SPACE, "work.karmada.io/name": "widget"}
    metadata = {"name": "w", "namespace": "default", "labels": LABELS, "annotations": marks}
    manifest = {"apiVersion": "example.io/v1", "kind": "Widget", "metadata": metadata}
    head = {"name": "widget", "namespace": SPACE, "labels": LABELS, "finalizers": ["karmada.io/execution-controller"]}
    await plane.client.resource(WORKS).create({"metadata": head, "spec": {"workload": {"manifests": [manifest]}}})
    await plane.clock.sleep(5)


def test_an_object_goes_with_its_work_though_its_member_ended_the_version_that_the_work_names():
    async def test(plane, member, controller):
        await member.client.resource(CRDS).create(definition(v1=True, v2=True))
        await plane.clock.sleep(5)
        await widget_of_a_work(plane)
        await member.client.mapper.refresh()
        assert await member.client.resource(WIDGETS).get("w", "default")
        await member.client.resource(CRDS).patch("widgets.example.io", {"spec": definition(v1=False, v2=True)["spec"]})
        await plane.clock.sleep(20)
        await member.connection.client.mapper.refresh()
        await plane.client.resource(WORKS).delete("widget", SPACE)
        await plane.clock.sleep(20)
        assert await works(plane) == []
        assert (await member.client.resource(WIDGETS).list()).items == []

    executing(test)
