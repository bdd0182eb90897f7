"""Works and the templates they are made of, when one of them comes late or is another's."""

import asyncio
import contextlib

import pytest
from tests.controllers.plane import CONFIG_MAPS, WORKS, on_a_plane, unloadable

from karmada.api import names
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.binding import BindingController
from karmada.controllers.templates import Templates
from karmada.machinery.client import type_of
from karmada.machinery.errors import Invalid
from karmada.machinery.transport import GroupVersionResource

SECRETS = GroupVersionResource("", "v1", "secrets")
SPACE = "karmada-es-m1"
MARKS = {"labels": {"resourcebinding.karmada.io/permanent-id": "one"}}
NOTED = {
    "resourcebinding.karmada.io/namespace": "default",
    "resourcebinding.karmada.io/name": "settings-configmap",
}


async def bind(plane, uid=""):
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings", "uid": uid}
    spec = {"resource": resource, "clusters": [{"name": "m1"}]}
    binding = {"metadata": {"name": "settings-configmap", "namespace": "default", **MARKS}, "spec": spec}
    await plane.client.resource(type_of(ResourceBinding)).create(binding)
    templates = Templates(plane.context)
    plane.supervisor.start("templates", templates.run)
    plane.start(BindingController(plane.context, templates).controller)


@pytest.mark.parametrize(("uid", "works"), [("", 1), ("earlier", 0)], ids=["its own", "a successor's"])
def test_a_template_that_the_cache_shows_late_is_sent_if_it_is_the_bindings_own(uid, works):
    async def scenario(plane):
        await plane.cluster("m1")
        await bind(plane, uid)
        await plane.clock.sleep(5)
        await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "settings", "namespace": "default"}})
        await plane.clock.sleep(5)
        assert len((await plane.client.resource(WORKS).list()).items) == works

    on_a_plane(scenario)


@pytest.mark.parametrize("required", [False, True], ids=["chosen", "required by another"])
def test_a_cluster_that_the_cache_shows_late_gets_its_work(required):
    async def scenario(plane):
        await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "settings", "namespace": "default"}})
        await bind(plane)
        if required:
            requirer = {"namespace": "default", "name": "web-pod", "clusters": [{"name": "m1"}]}
            spec = {"clusters": None, "requiredBy": [requirer]}
            bindings = plane.client.resource(type_of(ResourceBinding))
            await bindings.patch("settings-configmap", {"spec": spec}, "default")
        await plane.clock.sleep(5)
        await plane.cluster("m1")
        await plane.clock.sleep(5)
        assert [tree["metadata"]["namespace"] for tree in (await plane.client.resource(WORKS).list()).items] == [SPACE]

    on_a_plane(scenario)


def without_events(transport, type_):
    """Have a transport send no events of a collection after it was loaded."""
    watch = transport.watch

    @contextlib.asynccontextmanager
    async def silent(request):
        if request.resource != type_:
            async with watch(request) as stream:
                yield stream
        elif "sendInitialEvents" in request.params:
            raise Invalid("sendInitialEvents is forbidden for watch")
        else:
            yield nothing()

    async def nothing():
        await asyncio.Event().wait()
        yield []

    transport.watch = silent


def test_a_template_is_never_sent_in_an_older_form_than_its_binding_has_seen():
    async def scenario(plane):
        await plane.cluster("m1")
        maps = plane.client.resource(CONFIG_MAPS)
        first = await maps.create({"metadata": {"name": "settings", "namespace": "default"}, "data": {"v": "1"}})
        without_events(plane.transport, CONFIG_MAPS)
        await bind(plane, first["metadata"]["uid"])
        await plane.clock.sleep(5)
        second = await maps.patch("settings", {"data": {"v": "2"}}, "default")
        seen = {"spec": {"resource": {"resourceVersion": second["metadata"]["resourceVersion"]}}}
        await plane.client.resource(type_of(ResourceBinding)).patch("settings-configmap", seen, "default")
        await plane.clock.sleep(5)
        [work] = (await plane.client.resource(WORKS).list()).items
        assert work["spec"]["workload"]["manifests"][0]["data"] == {"v": "2"}

    on_a_plane(scenario)


def test_a_work_is_written_as_soon_as_the_one_that_was_being_deleted_is_gone():
    async def scenario(plane):
        name = names.work_name("ConfigMap", "settings", "default")
        works = plane.client.resource(WORKS)
        await plane.cluster("m1")
        await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": "settings", "namespace": "default"}})
        leaving = {"name": name, "namespace": SPACE, "finalizers": ["test/hold"], "annotations": NOTED, **MARKS}
        first = await works.create({"metadata": leaving, "spec": {"workload": {"manifests": []}}})
        await works.delete(name, SPACE)
        await bind(plane)
        await plane.clock.sleep(600)
        await works.patch(name, {"metadata": {"finalizers": None}}, SPACE)
        await plane.clock.sleep(1)
        assert (await works.get(name, SPACE))["metadata"]["uid"] != first["metadata"]["uid"]

    on_a_plane(scenario)


def test_a_kind_that_cannot_be_loaded_holds_up_no_other():
    async def scenario(plane):
        await plane.cluster("m1")
        made = [("ConfigMap", CONFIG_MAPS, f"a{number}") for number in range(10)] + [("Secret", SECRETS, "z")]
        for kind, type_, name in made:
            await plane.client.resource(type_).create({"metadata": {"name": name, "namespace": "default"}})
            resource = {"apiVersion": "v1", "kind": kind, "namespace": "default", "name": name}
            marks = {"name": f"{name}-x", "namespace": "default"}
            marks["labels"] = {"resourcebinding.karmada.io/permanent-id": name}
            spec = {"resource": resource, "clusters": [{"name": "m1"}]}
            await plane.client.resource(type_of(ResourceBinding)).create({"metadata": marks, "spec": spec})
        unloadable(plane.transport, CONFIG_MAPS)
        templates = Templates(plane.context)
        plane.supervisor.start("templates", templates.run)
        await plane.clock.sleep(1)
        plane.start(BindingController(plane.context, templates).controller)
        await plane.clock.sleep(20)
        assert len((await plane.client.resource(WORKS).list()).items) == len(made)

    on_a_plane(scenario)
