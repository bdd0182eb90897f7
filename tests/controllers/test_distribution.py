"""Dependencies go with whoever requires them, from when they exist."""

from tests.controllers.plane import on_a_plane
from tests.controllers.recorded import recorded
from tests.controllers.requirers import BINDINGS, FAILED, HOLDS, RECORD, SYNCED, World, depends, run

from karmada.interpreter.model import InterpretError
from karmada.machinery.errors import Forbidden
from karmada.machinery.transport import Verb


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


@run(depends())
async def test_dependencies_follow_a_template_that_comes_late(world):
    await world.make("settings")
    await world.begin(has_template=False)
    assert await world.required() == {}
    await world.template("web")
    await world.plane.clock.sleep(3)
    assert await world.required() == {"settings": ["web-pod"]}


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
        assert all("broken script" in failure for failure in failures)

    on_a_plane(scenario)


@run(depends())
async def test_a_kind_that_names_no_dependencies_and_a_template_that_is_missing_require_nothing(world):
    await world.make("settings")
    world.saying.kinds = set()
    await world.begin()
    assert "finalizers" not in (await world.tree())["metadata"]
    await world.pod("late", kind="ConfigMap")
    await world.plane.clock.sleep(3)
    assert await world.required() == {}
    await world.bindings.delete("late-pod", "default")
    await world.plane.clock.sleep(3)
    looked = dict(world.controller.results)
    await world.make("late")
    await world.plane.clock.sleep(3)
    assert world.controller.results == looked, "nobody waits for it any more"
