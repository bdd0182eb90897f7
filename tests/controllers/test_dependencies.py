"""Who required a dependency lets go of it, whatever became of the others that require it."""

from tests.controllers.plane import on_a_plane

from karmada.api import names
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.dependencies import DependenciesDistributor
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.errors import NotFound

BINDINGS = type_of(ResourceBinding)
IDENTITY = "resourcebinding.karmada.io/permanent-id"


def binding(kind, name, metadata, **spec):
    resource = {"apiVersion": "v1", "kind": kind, "namespace": "default", "name": name}
    named = {"name": f"{name}-{kind.lower()}", "namespace": "default"}
    return {"metadata": named | metadata, "spec": {"resource": resource} | spec}


async def exists(collection, name):
    try:
        await collection.get(name, "default")
    except NotFound:
        return False
    return True


def test_a_requirer_that_is_missing_keeps_no_other_from_going():
    async def scenario(plane):
        collection = plane.client.resource(BINDINGS)
        held = {"labels": {IDENTITY: "one"}, "finalizers": ["karmada.io/binding-dependencies-distributor"]}
        await collection.create(binding("Pod", "web", held, propagateDeps=True))
        key = "resourcebinding.karmada.io/depended-by-" + names.binding_reference_key("default", "web-pod")
        requirers = [{"namespace": "default", "name": name} for name in ("web-pod", "missing-pod")]
        await collection.create(binding("ConfigMap", "settings", {"labels": {key: "one"}}, requiredBy=requirers))
        plane.start(DependenciesDistributor(plane.context, Templates(plane.context)).controller)
        await plane.clock.sleep(5)
        await collection.delete("web-pod", "default")
        await plane.clock.sleep(30)
        assert not await exists(collection, "web-pod")
        left = await collection.get("settings-configmap", "default")
        assert left["spec"]["requiredBy"] == [{"namespace": "default", "name": "missing-pod"}]

    on_a_plane(scenario)
