"""When the objects of a Work are looked at in their member, and what is said of them; no controller applies them."""

import orjson
import pytest
from tests.controllers.observing import does, refused
from tests.controllers.plane import CONFIG_MAPS, WORKS, Interfering, OneMember, on_a_plane, server
from tests.controllers.test_execution import SPACE, Through
from tests.controllers.test_slice_troubles import Away
from tests.controllers.test_work_reports import settings, with_a_member, work

from karmada.api.work.v1alpha1 import Work
from karmada.controllers.status_reporter import StatusReporter
from karmada.controllers.work_status import LOADING, WorkStatusController, work_of
from karmada.machinery.errors import ServerError
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import GroupVersionResource

SECRETS = GroupVersionResource("", "v1", "secrets")
BLUE = {"metadata": {"labels": {"color": "blue"}}}


def started(plane, members):
    works = plane.context.informers.of(Work)
    controller = WorkStatusController(plane.context, members, works, StatusReporter(plane.context)).controller
    plane.start(controller)
    return controller


async def applied(plane, status="True", name="w"):
    condition = {"type": "Applied", "status": status, "reason": "T", "message": ""}
    condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
    await plane.client.resource(WORKS).patch(name, {"status": {"conditions": [condition]}}, SPACE, subresource="status")


async def reported(plane):
    """The names of the objects that the Work has a status of."""
    status = (await plane.client.resource(WORKS).get("w", SPACE)).get("status") or {}
    return [one["identifier"]["name"] for one in status.get("manifestStatuses") or ()]


def secret():
    tree = settings("hidden")
    del tree["data"]
    return tree | {"kind": "Secret"}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"annotations": {"work.karmada.io/namespace": SPACE, "work.karmada.io/name": "w"}}, Key(SPACE, "w")),
        ({"annotations": {"work.karmada.io/namespace": SPACE}}, None),
        ({"annotations": {"work.karmada.io/name": "w"}}, None),
        ({"annotations": {"work.karmada.io/namespace": "", "work.karmada.io/name": "w"}}, None),
        ({"annotations": None}, None),
        ({}, None),
        ({"annotations": 7}, None),
    ],
)
def test_an_object_says_which_work_it_belongs_to(metadata, expected):
    assert work_of(orjson.dumps({"metadata": metadata})) == expected


def test_an_object_that_cannot_be_read_says_nothing():
    assert work_of(b"{") is None
    assert work_of(b'{"metadata":' + b'{"a":' * 20_000) is None


def test_objects_are_reported_once_their_work_is_applied_and_missing_ones_are_left_out():
    async def test(plane, members):
        controller = started(plane, members)
        there = members.client.resource(CONFIG_MAPS)
        await there.create(settings("one"))
        await work(plane, settings("one"), settings("two"))
        assert await reported(plane) == [], "it is not applied"
        await applied(plane)
        await plane.clock.sleep(5)
        assert await reported(plane) == ["one"]
        await there.create(settings("two"))
        await plane.clock.sleep(5)
        assert await reported(plane) == ["one", "two"]
        await there.delete("one", "default")
        await there.patch("two", {"data": {"a": "2"}}, "default")
        await plane.clock.sleep(5)
        assert await reported(plane) == ["two"]
        assert controller.errors == 0

    with_a_member(test)


def test_nothing_is_said_when_no_object_is_left():
    async def test(plane, members):
        started(plane, members)
        await work(plane, settings("one"))
        await applied(plane)
        await plane.clock.sleep(5)
        found = await plane.client.resource(WORKS).get("w", SPACE)
        assert "manifestStatuses" not in found["status"]

    with_a_member(test)


def test_nothing_is_said_of_a_work_that_goes_or_whose_cluster_is_not_ready():
    async def test(plane, members):
        controller = started(plane, members)
        await members.client.resource(CONFIG_MAPS).create(settings("one"))
        await work(plane, settings("one"))
        await applied(plane)
        await plane.client.resource(WORKS).delete("w", SPACE)
        await plane.clock.sleep(5)
        await plane.condition("m1", "Ready", "False")
        await work(plane, settings("one"))
        await applied(plane)
        await plane.clock.sleep(5)
        assert await reported(plane) == [], "its cluster is not ready"
        await plane.client.resource(WORKS).patch("w", {"metadata": {"finalizers": ["example.com/held"]}}, SPACE)
        await plane.client.resource(WORKS).delete("w", SPACE)
        await plane.condition("m1", "Ready", "True")
        await plane.clock.sleep(5)
        assert await reported(plane) == [], "it is going"
        assert controller.errors == 0

    with_a_member(test)


def test_a_member_that_is_not_reached_is_tried_again():
    async def test(plane, members):
        await members.client.resource(CONFIG_MAPS).create(settings("one"))
        await work(plane, settings("one"))
        await applied(plane)
        away = Away(members)
        controller = started(plane, away)
        await plane.clock.sleep(5)
        assert (await reported(plane), controller.errors > 0) == ([], True)
        away.away = False
        await plane.clock.sleep(60)
        assert await reported(plane) == ["one"]

    with_a_member(test)


def test_a_status_that_cannot_be_written_is_tried_again():
    async def test(plane, members):
        await members.client.resource(CONFIG_MAPS).create(settings("one"))
        await work(plane, settings("one"))
        await applied(plane)
        refused(plane, ServerError("no room"), WORKS)
        controller = started(plane, members)
        await plane.clock.sleep(5)
        assert (await reported(plane), controller.errors > 0) == ([], True)
        plane.transport.before = None
        await plane.clock.sleep(60)
        assert await reported(plane) == ["one"]

    with_a_member(test)


def test_a_work_waits_until_all_its_kinds_are_loaded():
    async def scenario(plane):
        slow = []

        def wrap(transport):
            slow.append(Interfering(transport, plane.clock))
            return slow[-1]

        async with server(plane.clock) as one:
            members = OneMember(Through(one, wrap), plane.clock)
            await plane.cluster("m1")
            await members.client.resource(CONFIG_MAPS).create(settings("one"))
            for transport in slow:
                transport.held = {SECRETS}
            await work(plane, settings("one"), secret())
            await applied(plane)
            controller = started(plane, members)
            await plane.clock.sleep(10)
            assert await reported(plane) == []
            for transport in slow:
                transport.held = frozenset()
            await plane.clock.sleep(2 * LOADING)
            assert await reported(plane) == ["one"]
            assert (controller.errors, controller.results["requeue_after"] > 0) == (0, True)
            await members.connection.close()

    on_a_plane(scenario)


def test_what_has_a_work_looked_at():
    async def test(plane, members):
        controller = started(plane, members)
        there, works = members.client.resource(CONFIG_MAPS), plane.client.resource(WORKS)
        foreign, elsewhere = settings("foreign"), settings("elsewhere")
        foreign["metadata"]["annotations"] = {}
        elsewhere["metadata"]["annotations"]["work.karmada.io/namespace"] = "karmada-es-m2"
        unknown = settings("unknown")
        unknown["metadata"]["annotations"]["work.karmada.io/name"] = "unknown"
        steps = {
            work(plane, settings("one")): 0,
            applied(plane): 1,
            works.patch("w", BLUE, SPACE): 0,
            there.create(settings("one")): 1,
            there.patch("one", {"data": {"a": "2"}}, "default"): 1,
            there.create(foreign): 0,
            there.create(elsewhere): 0,
            there.create(unknown): 0,
            there.delete("one", "default"): 0,
            plane.condition("m1", "Other", "True"): 0,
            plane.condition("m1", "Ready", "False"): 0,
            there.create(settings("one")): 1,
            plane.condition("m1", "Ready", "True"): 1,
            applied(plane, "False"): 0,
            there.patch("one", {"data": {"a": "3"}}, "default"): 0,
            works.delete("w", SPACE): 0,
            there.patch("one", {"data": {"a": "4"}}, "default"): 0,
        }
        assert await does(plane, controller, *steps) == list(steps.values())

    with_a_member(test)
