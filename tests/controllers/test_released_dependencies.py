"""Dependencies are released by who requires them no longer, and by nobody else."""

import dataclasses

import pytest
from tests.controllers.observing import events, once
from tests.controllers.plane import CONFIG_MAPS, OneMember, on_a_plane, server, unloadable
from tests.controllers.requirers import BINDINGS, FAILED, HOLDS, SECRETS, World, depends, run

from karmada.api.feature_gates import DEFAULTS
from karmada.controllers.manager import ControllerManager
from karmada.controllers.selection import Selection
from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import Verb


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


@run(depends("", app="web"), depends("kept"))
async def test_what_a_selector_means_no_more_is_released(world):
    await world.make("settings", "kept", "stays", app="web")
    await world.begin()
    assert await world.required() == {"kept": ["web-pod"], "settings": ["web-pod"], "stays": ["web-pod"]}
    for name in ("settings", "kept"):
        await world.plane.client.resource(CONFIG_MAPS).patch(name, {"metadata": {"labels": {"app": "api"}}}, "default")
    await world.plane.clock.sleep(3)
    assert await world.required() == {"kept": ["web-pod"], "settings": [], "stays": ["web-pod"]}


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


@pytest.mark.parametrize("gone", [False, True], ids=["it is being deleted", "it is gone"])
@pytest.mark.parametrize("refusals", [1, 0])
def test_a_release_that_fails_is_tried_again_before_the_binding_goes(refusals, gone):
    async def scenario(plane):
        world = World(plane, depends())
        await world.make("settings")
        await world.begin()
        left = [Forbidden("not now")] * refusals

        async def before(request):
            if request.verb is Verb.PATCH and request.name == "settings-configmap" and left:
                raise left.pop()

        plane.transport.before = before
        if gone:
            plane.transport.held = frozenset({BINDINGS})
            await world.bindings.patch("web-pod", {"metadata": {"finalizers": None}}, "default")
        await world.bindings.delete("web-pod", "default")
        plane.transport.held = frozenset()
        await plane.clock.sleep(10)
        assert await world.required() == {"settings": []}
        assert world.controller.results["error"] == refusals

    on_a_plane(scenario)


@run(depends())
async def test_a_binding_for_what_is_not_its_own_releases_what_it_held(world):
    await world.make("settings")
    await world.begin()
    await world.patch(resource={"namespace": "other"})
    assert await world.required() == {"settings": []}


@pytest.mark.parametrize("end", ["unwanted", "gone"])
def test_nothing_is_attached_for_a_binding_that_only_a_cache_shows_to_ask(end):
    async def scenario(plane):
        world = World(plane, depends())
        await world.begin()
        plane.transport.held = frozenset({BINDINGS})
        if end == "unwanted":
            await world.bindings.patch("web-pod", {"spec": {"propagateDeps": False}}, "default")
        else:
            await world.bindings.patch("web-pod", {"metadata": {"finalizers": None}}, "default")
            await world.bindings.delete("web-pod", "default")
        await world.make("settings")
        await plane.clock.sleep(3)
        assert await world.required() == {}

    on_a_plane(scenario)


@run(depends())
async def test_only_bindings_that_ask_and_are_scheduled_or_hold_something_are_looked_at(world):
    await world.make("settings")
    await world.begin(clusters=())
    await world.pod("other", propagateDeps=False)
    await world.plane.clock.sleep(3)
    assert sum(world.controller.results.values()) == 0
    await world.bindings.patch("other-pod", {"metadata": {"labels": {"a": "b"}}}, "default")
    await world.bindings.patch("other-pod", {"spec": {"replicas": 2}}, "default")
    await world.plane.clock.sleep(3)
    assert sum(world.controller.results.values()) == 0
    await world.patch(clusters=[{"name": "m1"}])
    assert await world.required() == {"settings": ["web-pod"]}


@run(depends())
async def test_what_was_not_released_before_a_crash_is_released_after_it(world):
    await world.pod("web", propagateDeps=False)
    await world.bindings.patch("web-pod", {"metadata": {"finalizers": [HOLDS]}}, "default")
    await world.begin("other")
    assert "finalizers" not in (await world.tree())["metadata"]


@run(depends())
async def test_a_binding_that_stops_asking_while_its_dependencies_are_written_down_holds_none(world):
    async def stop():
        await world.bindings.patch("web-pod", {"spec": {"propagateDeps": False}}, "default")

    await world.make("settings")
    once(world.plane, Verb.PATCH, BINDINGS, stop)
    await world.begin()
    tree = await world.tree()
    assert (HOLDS in tree["metadata"].get("finalizers", ()), tree["metadata"].get("annotations")) == (False, None)
    assert await world.required() == {}
    assert world.controller.errors == 0


@run(depends(name="", kind="Secret", app="web"))
async def test_dependencies_whose_kind_cannot_be_listed_are_asked_for_again_and_none_is_released(world):
    await world.make("key", type_=SECRETS, app="web")
    unloadable(world.plane.transport, SECRETS)
    await world.begin()
    assert world.controller.results["error"] > 0
    found = {(reason, message) for _, reason, message in await events(world.plane)}
    assert (FAILED, "secrets cannot be listed yet") in found


@run(depends())
async def test_a_requirer_that_is_missing_is_named_by_who_comes_next(world):
    await world.make("settings")
    await world.begin()
    requirers = [{"namespace": "default", "name": name} for name in ("web-pod", "missing-pod")]
    await world.bindings.patch("settings-configmap", {"spec": {"requiredBy": requirers}}, "default")
    await world.patch(clusters=[{"name": "m2"}])
    assert any("missing-pod" in message for _, reason, message in await events(world.plane) if reason == FAILED)


def test_what_was_distributed_stays_without_the_gate_and_is_released_when_its_requirer_goes():
    async def scenario(plane):
        world = World(plane, depends())
        await world.make("settings")
        await world.begin()
        await plane.supervisor.stop()
        async with Supervisor(plane.clock) as supervisor, server(plane.clock) as one:
            plane.begin(supervisor)
            off = DEFAULTS.with_overrides({"PropagateDeps": False})
            plane.context = dataclasses.replace(plane.context, gates=off, interpreter=world.saying)
            members = OneMember(one, plane.clock)
            manager = ControllerManager(plane.context, members, Selection(("resource-detector",)))
            manager.start(supervisor)
            world.saying.found = ()
            await world.patch(clusters=[{"name": "m2"}])
            assert await world.required() == {"settings": ["web-pod"]}
            await world.bindings.delete("web-pod", "default")
            await plane.clock.sleep(3)
            with pytest.raises(NotFound):
                await world.tree()
            assert await world.required() == {"settings": []}
            await members.connection.close()

    on_a_plane(scenario)
