"""Objects that a member sends and nobody can read: what is said of them, and what the member is blamed for."""

import contextlib
import dataclasses

import pytest
from tests.controllers.observing import events
from tests.controllers.plane import CONFIG_MAPS, WORKS, Interfering, OneMember, on_a_plane, server
from tests.controllers.test_endpointslice_dispatch import slice_of
from tests.controllers.test_execution import Through
from tests.controllers.test_slice_collection import collected, marker
from tests.controllers.test_slice_troubles import collecting
from tests.controllers.test_work_reports import settings, work
from tests.controllers.test_work_status import applied, reported, started

from karmada.api.work.v1alpha1 import Work
from karmada.controllers.execution import ExecutionController
from karmada.controllers.slice_collection import SLICES
from karmada.interpreter.model import Operation
from karmada.machinery.errors import Invalid

DEEP = b"[" * 300 + b"]" * 300


class Hostile(Interfering):
    """A transport that puts lists in lists in the place of one text."""

    async def send(self, request):
        return (await super().send(request)).replace(b'"deep"', DEEP)

    @contextlib.asynccontextmanager
    async def watch(self, request):
        if "sendInitialEvents" in request.params:
            raise Invalid("sendInitialEvents is forbidden for watch")
        async with super().watch(request) as stream:
            yield stream


def hostile(test):
    """Run a test with a member that is honest with the test and not with controllers."""

    async def scenario(plane):
        await plane.cluster("m1")
        async with server(plane.clock) as one:
            members = OneMember(Through(one, lambda transport: Hostile(transport, plane.clock)), plane.clock)
            honest = OneMember(one, plane.clock).client
            await test(plane, members, honest)
            await members.connection.close()

    on_a_plane(scenario)


def test_a_member_is_blamed_for_a_slice_that_nobody_can_read_and_the_others_are_collected():
    async def test(plane, members, honest):
        for name, port in (("bad", "deep"), ("good", "http")):
            tree = slice_of(name, labels={"kubernetes.io/service-name": "web"})
            tree["ports"][0]["name"] = port
            await honest.resource(SLICES).create(tree)
        await plane.client.resource(WORKS).create(marker())
        controller = collecting(plane, members)
        await plane.clock.sleep(1)
        assert set(await collected(plane)) == {"good"}
        assert (controller.errors > 0, members.connection.complaint() != "") == (True, True)

    hostile(test)


def test_a_member_is_blamed_for_an_object_that_nobody_can_report_and_it_is_looked_at_again_at_a_rate():
    async def test(plane, members, honest):
        await honest.resource(CONFIG_MAPS).create(settings("one", a="deep"))
        await work(plane, settings("one"))
        await applied(plane)
        controller = started(plane, members)
        await plane.clock.sleep(1)
        assert (await reported(plane), controller.errors > 0) == ([], True)
        assert members.connection.complaint() != ""

    hostile(test)


def executing(plane, members):
    controller = ExecutionController(plane.context, members, plane.context.informers.of(Work)).controller
    plane.start(controller)
    return controller


async def complaint(plane):
    [found] = (await plane.client.resource(WORKS).list()).items
    return next(c["message"] for c in found["status"]["conditions"] if c["type"] == "Applied")


def test_a_member_is_blamed_for_an_object_that_nobody_can_bring_in_line():
    async def test(plane, members, honest):
        await honest.resource(CONFIG_MAPS).create(settings("one", a="deep"))
        await work(plane, settings("one", a="1"))
        executing(plane, members)
        await plane.clock.sleep(1)
        assert members.connection.complaint() != ""
        assert (await complaint(plane)).startswith("Failed to apply all manifests (0/1): ")

    hostile(test)


class Stumbling:
    """An interpreter that stumbles over every object of a member."""

    def __init__(self, operation):
        self._operation = operation

    def enabled(self, kind, operation):
        return operation is self._operation

    async def retain(self, desired, observed):
        raise KeyError("spec")

    async def reflect(self, observed):
        raise KeyError("spec")


@pytest.mark.parametrize("operation", [Operation.RETAIN, Operation.REFLECT])
def test_what_an_interpreter_stumbles_over_is_said_to_be_of_another_type_than_its_kind(failures, caplog, operation):
    text = "the object has fields of another type than its kind: KeyError('spec')"

    async def test(plane, members, honest):
        plane.context = dataclasses.replace(plane.context, interpreter=Stumbling(operation))
        await honest.resource(CONFIG_MAPS).create(settings("one", a="1"))
        await work(plane, settings("one", a="2"))
        if operation is Operation.RETAIN:
            executing(plane, members)
            await plane.clock.sleep(1)
            assert text in await complaint(plane)
            return
        await applied(plane)
        controller = started(plane, members)
        await plane.clock.sleep(5)
        whole = f"Reflect status for object(ConfigMap/default/one) failed, err: {text}"
        assert ("Warning", "ReflectStatusFailed", whole) in await events(plane)
        assert controller.errors > 0
        assert "the interpreter cannot read a" in caplog.text

    hostile(test)
