"""Where dependencies go: with whoever requires them, from when they exist, and no longer than they are required."""

import dataclasses

import pytest
from tests.controllers.plane import CONFIG_MAPS, on_a_plane
from tests.controllers.recorded import recorded

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.meta import LabelSelector
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.dependencies import DependenciesDistributor
from karmada.controllers.templates import Templates
from karmada.interpreter.model import InterpretError, Operation
from karmada.machinery.client import type_of
from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.transport import GroupVersionResource, Verb

BINDINGS = type_of(ResourceBinding)
PODS = GroupVersionResource("", "v1", "pods")
SECRETS = GroupVersionResource("", "v1", "secrets")
ID = "resourcebinding.karmada.io/permanent-id"
HOLDS = "karmada.io/binding-dependencies-distributor"
RECORD = "resourcebinding.karmada.io/dependencies"
SYNCED, FAILED = "SyncScheduleResultToDependenciesSucceed", "SyncScheduleResultToDependenciesFailed"


def depends(name="settings", kind="ConfigMap", api_version="v1", namespace="default", **selector):
    chosen = LabelSelector(match_labels=selector) if selector else None
    return DependentObjectReference(
        api_version=api_version, kind=kind, namespace=namespace, name=name, label_selector=chosen
    )


class Saying:
    """An interpreter that names the dependencies a test wants, or fails."""

    def __init__(self, *dependencies):
        self.found = dependencies
        self.kinds = {"Pod"}

    def enabled(self, kind, operation):
        return operation is Operation.DEPENDENCIES and kind.kind in self.kinds

    async def dependencies(self, resource):
        if isinstance(self.found, Exception):
            raise self.found
        return list(self.found)


class World:
    """A bound Pod and what it requires."""

    def __init__(self, plane, *dependencies):
        self.plane = plane
        self.saying = Saying(*dependencies)
        self.bindings = plane.client.resource(BINDINGS)
        plane.context = dataclasses.replace(plane.context, interpreter=self.saying)

    async def begin(self, *pods, clusters=("m1",), **spec):
        templates = Templates(self.plane.context)
        self.plane.supervisor.start("templates", templates.run)
        self.controller = DependenciesDistributor(self.plane.context, templates).controller
        self.plane.start(self.controller)
        for name in pods or ("web",):
            await self.pod(name, clusters, **spec)
        await self.plane.clock.sleep(3)

    async def pod(self, name, clusters=("m1",), kind="Pod", **spec):
        if kind == "Pod":
            body = {"metadata": {"name": name, "namespace": "default"}}
            body["spec"] = {"containers": [{"name": "c", "image": "nginx"}]}
            await self.plane.client.resource(PODS).create(body)
        resource = {"apiVersion": "v1", "kind": kind, "namespace": "default", "name": name}
        metadata = {"name": f"{name}-pod", "namespace": "default", "labels": {ID: name}}
        whole = {"resource": resource, "propagateDeps": True, "clusters": [{"name": c} for c in clusters]} | spec
        await self.bindings.create({"metadata": metadata, "spec": whole})

    async def make(self, *names, type_=CONFIG_MAPS, **marks):
        for name in names:
            metadata = {"name": name, "namespace": "default", "labels": marks}
            await self.plane.client.resource(type_).create({"metadata": metadata})

    async def patch(self, **spec):
        await self.bindings.patch("web-pod", {"spec": spec}, "default")
        await self.plane.clock.sleep(3)

    async def tree(self, name="web-pod"):
        return await self.bindings.get(name, "default")

    async def required(self, kind="configmap"):
        """By name of dependency, who requires it."""
        found = {}
        for tree in (await self.bindings.list()).items:
            if tree["metadata"]["name"].endswith(kind):
                requirers = sorted(one["name"] for one in tree["spec"].get("requiredBy") or ())
                found[tree["metadata"]["name"].removesuffix(f"-{kind}")] = requirers
        return found


def run(*dependencies):
    """Run a test on a control plane with an interpreter that names dependencies."""

    def decorate(test):
        def scenario():
            on_a_plane(lambda plane: test(World(plane, *dependencies)))

        scenario.__name__ = test.__name__
        return scenario

    return decorate


@run(depends())
async def test_a_dependency_that_comes_late_goes_along_and_the_wish_is_recorded(world):
    await world.begin()
    tree = await world.tree()
    assert tree["metadata"]["finalizers"] == [HOLDS]
    assert '"settings"' in tree["metadata"]["annotations"][RECORD]
    assert await world.required() == {}
    await world.make("settings", "another")
    await world.plane.clock.sleep(3)
    assert await world.required() == {"settings": ["web-pod"]}
    shown = "{APIVersion:v1 Kind:ConfigMap Namespace:default Name:settings LabelSelector:nil}"
    assert await recorded(world.plane, "GetDependenciesSucceed", SYNCED) == [
        ("Normal", "GetDependenciesSucceed", "Pod", f"Get dependencies([{shown}]) succeed."),
        ("Normal", SYNCED, "ResourceBinding", "Sync schedule results to dependencies succeed."),
    ]


@run()
async def test_that_there_are_no_dependencies_is_recorded_too(world):
    await world.begin()
    assert (await world.tree())["metadata"]["annotations"][RECORD] == "null"


@run(depends(), depends("key", "Secret"))
async def test_what_is_not_required_any_more_is_released_and_only_that(world):
    await world.make("settings")
    await world.make("key", type_=SECRETS)
    await world.begin()
    assert (await world.required(), await world.required("secret")) == (
        {"settings": ["web-pod"]},
        {"key": ["web-pod"]},
    )
    world.saying.found = (depends(),)
    await world.patch(clusters=[{"name": "m2"}])
    assert (await world.required(), await world.required("secret")) == ({"settings": ["web-pod"]}, {"key": []})
    settings = await world.tree("settings-configmap")
    assert settings["spec"]["requiredBy"][0]["clusters"] == [{"name": "m2"}]


@pytest.mark.parametrize("end", ["unwanted", "deleted", "gone"])
def test_dependencies_are_released_by_who_ends_and_kept_by_who_stays(end):
    async def scenario(plane):
        world = World(plane, depends())
        await world.make("settings")
        await world.begin("web", "other")
        assert await world.required() == {"settings": ["other-pod", "web-pod"]}
        if end == "unwanted":
            await world.patch(propagateDeps=False)
            assert "finalizers" not in (await world.tree())["metadata"]
        else:
            if end == "gone":
                plane.transport.held = frozenset({BINDINGS})
                await world.bindings.patch("web-pod", {"metadata": {"finalizers": None}}, "default")
            await world.bindings.delete("web-pod", "default")
            plane.transport.held = frozenset()
            await plane.clock.sleep(3)
            with pytest.raises(NotFound):
                await world.tree()
        assert await world.required() == {"settings": ["other-pod"]}

    on_a_plane(scenario)


@pytest.mark.parametrize("refusals", [1, 0])
def test_a_release_that_fails_is_tried_again_before_the_binding_goes(refusals):
    async def scenario(plane):
        world = World(plane, depends())
        await world.make("settings")
        await world.begin()
        left = [Forbidden("not now")] * refusals

        async def before(request):
            if request.verb is Verb.PATCH and request.name == "settings-configmap" and left:
                raise left.pop()

        plane.transport.before = before
        await world.bindings.delete("web-pod", "default")
        await plane.clock.sleep(10)
        assert await world.required() == {"settings": []}
        assert world.controller.results["error"] == refusals

    on_a_plane(scenario)


@run(depends())
async def test_a_dependency_that_cannot_be_attached_is_an_event_and_retried(world):
    await world.make("settings")

    async def before(request):
        if request.verb is Verb.CREATE and request.resource == BINDINGS:
            world.plane.transport.before = None
            raise Forbidden("not now")

    world.plane.transport.before = before
    await world.begin()
    await world.plane.clock.sleep(5)
    assert await world.required() == {"settings": ["web-pod"]}
    assert await recorded(world.plane, FAILED) == [("Warning", FAILED, "ResourceBinding", "not now")]


@run(depends())
async def test_requirers_that_disagree_are_an_event_of_the_dependency(world):
    await world.make("settings")
    await world.begin(conflictResolution="Overwrite")
    assert await recorded(world.plane, "DependencyPolicyConflict") == []
    await world.pod("other", conflictResolution="Abort")
    await world.plane.clock.sleep(5)
    text = "Dependency policy conflict detected: ConflictResolution conflicted (Overwrite vs Abort)."
    ((type_, _, kind, message),) = await recorded(world.plane, "DependencyPolicyConflict")
    assert (type_, kind, message) == ("Warning", "ResourceBinding", text)


@run(depends("", app="web"))
async def test_a_selector_means_all_objects_of_its_labels_those_to_come_included(world):
    await world.make("first", app="web")
    await world.make("unmarked")
    await world.begin()
    assert await world.required() == {"first": ["web-pod"]}
    await world.make("second", app="web")
    await world.plane.clock.sleep(3)
    assert await world.required() == {"first": ["web-pod"], "second": ["web-pod"]}
    shown = "{APIVersion:v1 Kind:ConfigMap Namespace:default Name: LabelSelector:"
    assert shown in (await recorded(world.plane, "GetDependenciesSucceed"))[0][3]


@run(depends(""))
async def test_without_a_name_and_a_selector_nothing_is_meant(world):
    await world.make("first")
    await world.begin()
    assert await world.required() == {}


@run(depends("b", "Widget", "example.io/v1"), depends("a", "ConfigMap"), depends("x", namespace="other"))
async def test_a_kind_that_is_not_served_is_waited_for_and_core_kinds_come_first(world):
    await world.make("a")
    await world.begin()
    assert await world.required() == {"a": ["web-pod"]}
    ((*_, text),) = await recorded(world.plane, "GetDependenciesSucceed")
    assert text.index("Kind:ConfigMap") < text.index("Kind:Widget")
    ((_, _, kind, outside),) = await recorded(world.plane, FAILED)
    assert kind == "ResourceBinding"
    assert "Name:x" in outside
    assert outside.endswith("is outside of namespace default and is not distributed")
    assert "other" not in (await world.tree())["metadata"]["annotations"][RECORD]
    assert world.controller.errors == 0


def test_an_interpreter_that_fails_is_an_event_and_asked_again(failures):
    async def scenario(plane):
        world = World(plane, depends())
        world.saying.found = InterpretError("broken script")
        await world.make("settings")
        await world.begin()
        assert await recorded(plane, "GetDependenciesFailed", "GetDependenciesSucceed") == [
            ("Warning", "GetDependenciesFailed", "Pod", "Get dependencies failed: broken script")
        ]
        world.saying.found = (depends(),)
        await plane.clock.sleep(60)
        assert await world.required() == {"settings": ["web-pod"]}

    on_a_plane(scenario)


@run(depends())
async def test_a_kind_that_names_no_dependencies_and_a_template_that_is_missing_require_nothing(world):
    await world.make("settings")
    world.saying.kinds = set()
    await world.begin()
    assert "finalizers" not in (await world.tree())["metadata"]
    await world.pod("late", kind="Service")
    await world.plane.clock.sleep(3)
    assert await world.required() == {}
    assert world.controller.errors == 0
