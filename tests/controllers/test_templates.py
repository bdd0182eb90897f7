"""Resources of any kind are found, followed and handed out as a binding means them, in virtual time."""

from dataclasses import replace

import orjson
import pytest
from tests.controllers.plane import CONFIG_MAPS, CRDS, NAMESPACES, on_a_plane

from karmada.api.meta import ObjectMeta
from karmada.api.work.v1alpha2 import (
    ClusterResourceBinding,
    ObjectReference,
    ResourceBinding,
    ResourceBindingSpec,
)
from karmada.controllers.bindings import BindingKey
from karmada.controllers.detector.scope import ScopeOptions
from karmada.controllers.templates import AwaitedTemplates, ForeignResource, Templates
from karmada.machinery.codec import TREE
from karmada.machinery.discovery import ApiResource
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.transport import GroupVersionResource

THINGS = GroupVersionResource("example.com", "v1", "things")
CONFIG_MAP = ApiResource(CONFIG_MAPS, "ConfigMap", True)


async def following(plane, **scope):
    templates = Templates(replace(plane.context, scope=ScopeOptions(**scope).scope()))
    plane.supervisor.start("templates", templates.run)
    await plane.clock.sleep(5)
    return templates


def about(name="c", kind="ConfigMap", api_version="v1", namespace="default", **more):
    return ObjectReference(api_version=api_version, kind=kind, namespace=namespace, name=name, **more)


async def create(plane, name="c"):
    return await plane.client.resource(CONFIG_MAPS).create({"metadata": {"name": name}}, "default")


def test_a_template_is_found_followed_or_not():
    async def test(plane):
        templates = Templates(plane.context)
        made = (await create(plane))["metadata"]
        assert templates.cached(CONFIG_MAPS) is None
        found = await templates.get(about())
        assert (found.key, found.uid, found.resource_version) == (
            Key("default", "c"),
            made["uid"],
            made["resourceVersion"],
        )
        plane.supervisor.start("templates", templates.run)
        await plane.clock.sleep(5)
        assert templates.cached(CONFIG_MAPS).item(Key("default", "c")).uid == made["uid"]
        assert (await templates.get(about())).uid == made["uid"]
        assert await templates.get(about("other")) is None
        assert await templates.get(about(kind="Thing", api_version="example.com/v1")) is None
        assert (await templates.collection("v1", "ConfigMap")).type == CONFIG_MAPS

    on_a_plane(test)


def test_a_binding_gets_the_template_that_it_means_and_no_older_one():
    async def test(plane):
        templates = await following(plane)
        made = (await create(plane))["metadata"]
        await plane.clock.sleep(1)
        assert (await templates.bound(about())).uid == made["uid"]
        assert (await templates.bound(about(uid=made["uid"]))).uid == made["uid"]
        assert await templates.bound(about(uid="another")) is None
        assert await templates.bound(about("gone")) is None
        plane.transport.held = {CONFIG_MAPS}
        newer = (await plane.client.resource(CONFIG_MAPS).patch("c", {"data": {"a": "1"}}, "default"))["metadata"]
        await plane.clock.sleep(1)
        assert (await templates.bound(about())).resource_version == made["resourceVersion"]
        fresh = await templates.bound(about(resource_version=newer["resourceVersion"]))
        assert fresh.resource_version == newer["resourceVersion"]
        await plane.client.resource(CONFIG_MAPS).delete("c", "default")
        assert await templates.bound(about(resource_version=newer["resourceVersion"])) is None
        plane.transport.held = frozenset()

    on_a_plane(test)


def binding(resource, wide=False):
    spec = ResourceBindingSpec(resource=resource)
    if wide:
        return ClusterResourceBinding(metadata=ObjectMeta(name="b"), spec=spec)
    return ResourceBinding(metadata=ObjectMeta(name="b", namespace="default"), spec=spec)


@pytest.mark.parametrize(
    ("resource", "wide", "why"),
    [
        (about(namespace="other"), False, "of its own namespace only"),
        (about(), True, "for cluster-scoped resources only"),
        (about("default", "Namespace"), False, "the kind is cluster-scoped, and a ResourceBinding is not"),
        (about(namespace=""), True, "the kind is namespaced, and a ClusterResourceBinding is not"),
        (about("private", "Namespace", namespace=""), True, "excluded from propagation"),
        (about("m1", "Cluster", "cluster.karmada.io/v1alpha1", namespace=""), True, "excluded from propagation"),
    ],
)
def test_a_binding_that_may_not_speak_for_a_resource_is_refused(resource, wide, why):
    async def test(plane):
        templates = await following(plane, skipped_namespaces=("private",))
        with pytest.raises(ForeignResource, match=why) as raised:
            await templates.of(binding(resource, wide))
        where = f"{resource.namespace}/" if resource.namespace else ""
        assert str(raised.value).startswith(f"{resource.kind} {where}{resource.name} is not propagated: ")

    on_a_plane(test)


def test_a_binding_speaks_for_its_own_resource():
    async def test(plane):
        templates = await following(plane)
        made = (await create(plane))["metadata"]
        await plane.clock.sleep(1)
        assert (await templates.of(binding(about()))).uid == made["uid"]
        space = await templates.of(binding(about("default", "Namespace", namespace=""), wide=True))
        assert space.uid == (await plane.client.resource(NAMESPACES).get("default"))["metadata"]["uid"]
        assert await templates.of(binding(about(kind="Thing", api_version="example.com/v1"))) is None

    on_a_plane(test)


def test_handlers_hear_of_all_kinds_also_of_those_that_come_later():
    async def test(plane):
        templates = Templates(plane.context)
        early, late = [], []

        def noting(seen):
            return lambda resource, changes: seen.extend((resource.kind, change.key.name) for change in changes)

        templates.add_handler(noting(early))
        plane.supervisor.start("templates", templates.run)
        await create(plane)
        await plane.clock.sleep(5)
        templates.add_handler(noting(late))
        names = {"kind": "Thing", "plural": "things", "singular": "thing"}
        schema = {"openAPIV3Schema": {"type": "object"}}
        version = {"name": "v1", "served": True, "storage": True, "schema": schema}
        crd = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
        await plane.client.resource(CRDS).create({"metadata": {"name": "things.example.com"}, "spec": crd})
        await plane.clock.sleep(10)
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
        await plane.client.resource(THINGS).create(thing, "default")
        await plane.clock.sleep(10)
        for seen in (early, late):
            assert {("ConfigMap", "c"), ("Thing", "t")} <= set(seen)
        assert templates.cached(THINGS) is not None
        assert templates.type_of("example.com/v1", "Thing") == THINGS
        await plane.client.resource(CRDS).delete("things.example.com")
        await plane.clock.sleep(60)
        assert templates.cached(THINGS) is None
        assert templates.type_of("example.com/v1", "Thing") is None

    on_a_plane(test)


class Source:
    """What hands changes of templates on."""

    def add_handler(self, handler):
        self.handler = handler

    def shows(self, name, namespace="default", resource=CONFIG_MAP, gone=False):
        body = orjson.dumps({"metadata": {"name": name}})
        item = Item(Key(namespace, name), "u", "1", body, TREE)
        self.handler(resource, [Change(item, None) if gone else Change(None, item)])


def test_all_bindings_of_a_template_that_was_not_shown_are_looked_at_when_it_is():
    source, woken = Source(), []
    awaited = AwaitedTemplates(source, woken.append)
    keys = [BindingKey("default", name) for name in ("one", "two", "gone")]
    for key in keys:
        awaited.note(key, about())
    awaited.forget(keys[2])
    source.shows("c")
    assert woken == keys[:2]


def test_a_binding_whose_template_was_not_shown_is_looked_at_once_when_it_is():
    source, woken = Source(), []
    awaited = AwaitedTemplates(source, woken.append)
    one, two = BindingKey("default", "one"), BindingKey("default", "two")
    source.shows("c")
    awaited.note(one, about())
    awaited.note(two, about("d"))
    source.shows("other")
    source.shows("c", "elsewhere")
    source.shows("c", resource=ApiResource(THINGS, "ConfigMap", True))
    source.shows("c", gone=True)
    assert woken == []
    source.shows("c")
    source.shows("c")
    assert woken == [one]
    awaited.forget(one)
    source.shows("d")
    assert woken == [one, two]
    awaited.note(one, about())
    awaited.note(two, about("d"))
    awaited.forget(one)
    source.shows("c")
    source.shows("d")
    assert woken == [one, two, two]
    awaited.forget(two)


class Counted(BindingKey):
    """A binding's key that counts how often it is hashed."""

    hashed = 0

    def __hash__(self):
        Counted.hashed += 1
        return super().__hash__()


def test_a_binding_that_goes_is_forgotten_without_a_look_at_all_that_wait():
    awaited = AwaitedTemplates(Source(), lambda key: None)
    keys = [Counted("default", f"b{number}") for number in range(200)]
    for key in keys:
        awaited.note(key, about(key.name))
    Counted.hashed = 0
    for key in keys:
        awaited.forget(key)
        awaited.forget(key)
    assert Counted.hashed < 5 * len(keys)
