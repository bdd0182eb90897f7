"""What Works and events say of the objects in a member, and when nothing is said."""

import dataclasses

import pytest
from tests.controllers.observing import EVENTS, events, reconciles
from tests.controllers.plane import CONFIG_MAPS, WORKS, OneMember, on_a_plane, server
from tests.controllers.test_execution import SPACE, start
from tests.controllers.test_hostile_objects import SERVICE, SERVICES, counting, deployed, status_writes

from karmada.api.codec import from_tree
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.status_reporter import StatusReporter
from karmada.interpreter.model import InterpretError
from karmada.machinery.informers.cache import Key
from karmada.machinery.limits import STATUS

DISPATCHED = ("Normal", "WorkDispatching", "Work is being dispatched to member clusters.")
SUSPENDED = ("Normal", "WorkDispatching", "Work dispatching is in a suspended state.")


def with_a_member(test):
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            try:
                await test(plane, members)
            finally:
                await members.connection.close()

    on_a_plane(scenario)


def settings(name="settings", **data):
    marks = {"work.karmada.io/namespace": SPACE, "work.karmada.io/name": "w"}
    metadata = {"name": name, "namespace": "default", "labels": {"karmada.io/managed": "true"}, "annotations": marks}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def work(plane, *manifests, **spec):
    tree = {"metadata": {"name": "w", "namespace": SPACE}, "spec": {"workload": {"manifests": list(manifests)}} | spec}
    await plane.client.resource(WORKS).create(tree)
    await plane.clock.sleep(5)


async def conditions(plane):
    status = (await plane.client.resource(WORKS).get("w", SPACE)).get("status") or {}
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in status.get("conditions") or ()}


async def counts(plane):
    """How often each reason was an event."""
    await plane.clock.sleep(5)
    found = (await plane.client.resource(EVENTS).list()).items
    return {reason: sum(e["count"] for e in found if e["reason"] == reason) for reason in {e["reason"] for e in found}}


def test_a_work_says_that_it_is_applied_and_again_when_something_had_to_be_written():
    async def test(plane, members):
        start(plane, members)
        await work(plane, settings(a="1"))
        assert await conditions(plane) == {
            "Applied": ("True", "AppliedSuccessful", "Manifest has been successfully applied"),
            "Dispatching": ("True", "Dispatching", DISPATCHED[2]),
        }
        text = f"Sync work({SPACE}/w) to cluster(m1) successful."
        assert {("Normal", "SyncSucceed", text), DISPATCHED} <= await events(plane)
        once = await counts(plane)
        assert once["WorkDispatching"] == 1
        await plane.client.resource(WORKS).patch("w", {"metadata": {"labels": {"color": "blue"}}}, SPACE)
        assert await counts(plane) == once
        await members.client.resource(CONFIG_MAPS).patch("settings", {"data": {"a": "2"}}, "default")
        assert (await counts(plane))["SyncSucceed"] > once["SyncSucceed"]

    with_a_member(test)


def test_a_work_says_which_objects_could_not_be_applied():
    async def test(plane, members):
        start(plane, members)
        bad = settings("Not_A_Name")
        await work(plane, settings(), bad)
        status, reason, message = (await conditions(plane))["Applied"]
        assert (status, reason) == ("False", "AppliedFailed")
        assert message.startswith("Failed to apply all manifests (1/2): ")
        failed = {event for event in await events(plane) if event[1] == "SyncFailed"}
        text = f"Failed to sync work({SPACE}/w) to cluster(m1), err: "
        assert any(message.startswith(text) for _, _, message in failed)
        assert {kind for kind, _, _ in failed} == {"Warning"}
        assert "manifestStatuses" not in (await plane.client.resource(WORKS).get("w", SPACE))["status"]

    with_a_member(test)


def test_a_suspended_work_says_so_once():
    async def test(plane, members):
        start(plane, members)
        await work(plane, settings(), suspendDispatching=True)
        assert await conditions(plane) == {"Dispatching": ("False", "SuspendDispatching", SUSPENDED[2])}
        assert await events(plane) == {SUSPENDED}
        await plane.client.resource(WORKS).patch("w", {"metadata": {"labels": {"color": "blue"}}}, SPACE)
        assert (await counts(plane))["WorkDispatching"] == 1
        await plane.client.resource(WORKS).patch("w", {"spec": {"suspendDispatching": False}}, SPACE)
        await plane.clock.sleep(5)
        assert (await conditions(plane))["Dispatching"][0] == "True"
        assert DISPATCHED in await events(plane)

    with_a_member(test)


def test_a_status_that_somebody_wrote_meanwhile_is_not_replaced_by_an_older_one():
    async def test(plane, members):
        start(plane, members)
        which = {"ordinal": 0, "version": "v1", "kind": "Service", "resource": "services", "name": "later"}
        later = [{"identifier": which, "status": {"later": True}, "health": "Healthy"}]
        kept = []

        async def before(request):
            if status_writes(request) and len(kept) < 2:
                kept.append((await plane.client.resource(WORKS).get("web", SPACE))["status"] if kept else None)
                patch = {"status": {"manifestStatuses": later}}
                await plane.client.resource(WORKS).patch("web", patch, SPACE, subresource="status")

        plane.transport.before = before
        await deployed(plane, manifest=SERVICE)
        found = await plane.client.resource(WORKS).get("web", SPACE)
        assert found["status"]["manifestStatuses"][0]["identifier"]["name"] == "web", "reported by whoever watches"
        assert {c["type"] for c in found["status"]["conditions"]} == {"Applied", "Dispatching"}

    with_a_member(test)


def test_what_was_reported_while_applying_is_not_reported_again():
    async def test(plane, members):
        status = start(plane, members)
        await deployed(plane, manifest=SERVICE)
        assert reconciles(status) > 0
        writes = counting(plane, status_writes)
        patch = {"status": {"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}}}
        await members.client.resource(SERVICES).patch("web", patch, "default", subresource="status")
        await plane.clock.sleep(5)
        assert len(writes) == 1

    with_a_member(test)


def the_work(count=1, manifest=None, **status):
    metadata = {"name": "w", "namespace": SPACE, "uid": "u"}
    spec = {"workload": {"manifests": [manifest or settings() for _ in range(count)]}}
    return from_tree({"metadata": metadata, "spec": spec, "status": status}, Work)


def service(ingress, name="web"):
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "status": {"loadBalancer": {"ingress": ingress}},
    }


@pytest.mark.parametrize(("count", "more"), [(1, 0), (1, 1), (2, 0), (2, 2)])
def test_the_statuses_of_a_work_are_bounded_together(count, more):
    async def test(plane):
        await plane.cluster("m1")
        reporter = StatusReporter(plane.context)

        async def reported(length):
            observed = service([{"hostname": "a" * length}]) | {"spec": {"type": "LoadBalancer"}}
            return (await reporter.status(the_work(count), 0, observed)).status

        rest = len(memoryview(await reported(1))) - 1
        found = await reported(STATUS // count - rest + more // count)
        assert bool(memoryview(found)) is not bool(more)
        await plane.clock.sleep(5)
        assert any("is not reported: it has more than" in text for _, _, text in await events(plane)) is bool(more)

    on_a_plane(test)


@pytest.mark.parametrize(
    ("fields", "reason", "health"),
    [
        ({"status": ["none"]}, "ReflectStatusFailed", None),
        ({"status": {"replicas": 1}, "spec": 7}, "InterpretHealthFailed", "Unknown"),
    ],
)
def test_an_object_whose_fields_are_of_another_type_is_an_event(failures, fields, reason, health):
    async def test(plane):
        await plane.cluster("m1")
        reporter = StatusReporter(plane.context)
        noted = {"resourcetemplate.karmada.io/generation": "1"}
        metadata = {"name": "web", "namespace": "default", "annotations": noted}
        observed = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
        try:
            found = (await reporter.status(the_work(), 0, observed | fields)).health
        except InterpretError:
            found = None
        await plane.clock.sleep(5)
        assert found == health
        assert ("Warning", reason) in {(kind, why) for kind, why, _ in await events(plane)}
        assert "InterpretHealthSucceed" not in await counts(plane)

    on_a_plane(test)


def test_a_new_status_is_an_event_and_one_that_the_work_has_is_none():
    async def test(plane):
        await plane.cluster("m1")
        reporter = StatusReporter(plane.context)
        observed = service([]) | {"spec": {"type": "ClusterIP"}}
        first = await reporter.status(the_work(4, observed), 3, observed)
        which = first.identifier
        assert (which.ordinal, which.group, which.version, which.kind) == (3, "", "v1", "Service")
        assert (which.namespace, which.name, first.health) == ("default", "web", "Healthy")
        await plane.clock.sleep(5)
        before = await counts(plane)
        assert set(before) == {"ReflectStatusSucceed", "InterpretHealthSucceed"}
        texts = {text for _, _, text in await events(plane)}
        assert "Interpret health of object(Service/default/web) as healthy." in texts
        known = the_work(4, observed)
        known = type(known)(
            metadata=known.metadata, spec=known.spec, status=type(known.status)(manifest_statuses=(first,))
        )
        await reporter.status(known, 3, observed)
        assert await counts(plane) == before
        other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"}}
        await plane.clock.sleep(5)
        assert (await reporter.status(the_work(), 0, other)).health == "Healthy"
        await plane.clock.sleep(5)
        texts = {text for _, _, text in await events(plane)}
        assert "Reflect status for object(ConfigMap/default/c) succeed." in texts
        assert not any("ConfigMap" in text and "health" in text for text in texts), "nobody judges it"

    on_a_plane(test)


@pytest.mark.parametrize(
    ("reported", "now", "expected"),
    [
        (["5"], ["5"], True),
        (["5"], ["4"], True),
        (["5"], ["6"], False),
        (["5", "5"], ["5", "6"], False),
        (["5", "5"], ["5", "3"], True),
        (["5"], ["5", "5"], False),
        (None, ["5"], False),
    ],
)
def test_states_that_were_reported_and_older_ones_need_no_report(reported, now, expected):
    async def test(plane):
        reporter, known = StatusReporter(plane.context), the_work()
        if reported is not None:
            reporter.report(known, reported)
        assert reporter.is_reported(known, now) is expected
        again = from_tree({"metadata": {"name": "w", "namespace": SPACE, "uid": "other"}, "spec": {}}, Work)
        assert not reporter.is_reported(again, now), "it is another Work of that name"
        reporter.forget(Key(SPACE, "w"))
        reporter.forget(Key(SPACE, "w"))
        assert not reporter.is_reported(known, now)

    on_a_plane(test)


class Counting:
    """An interpreter that counts how often it reads a status."""

    def __init__(self, inner):
        self._inner = inner
        self.read = 0

    async def reflect(self, observed):
        self.read += 1
        return await self._inner.reflect(observed)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_an_object_is_read_once_by_whoever_applies_it_and_not_by_whoever_watches():
    async def test(plane, members):
        counting = Counting(plane.context.interpreter)
        plane.context = dataclasses.replace(plane.context, interpreter=counting)
        start(plane, members)
        manifest = {**SERVICE, "metadata": settings("web")["metadata"]}
        metadata = {"name": "w", "namespace": SPACE, "finalizers": ["karmada.io/execution-controller"]}
        tree = {"metadata": metadata, "spec": {"workload": {"manifests": [manifest]}}}
        await plane.client.resource(WORKS).create(tree)
        await plane.clock.sleep(30)
        assert (await plane.client.resource(WORKS).get("w", SPACE))["status"]["manifestStatuses"]
        assert counting.read == 1

    with_a_member(test)
