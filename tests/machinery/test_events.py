import asyncio

import pytest

from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden, NotFound, Unavailable
from karmada.machinery.events import (
    BURST,
    IDLE,
    PACE,
    PATIENCE,
    QUIET,
    REFILL,
    RETREAT,
    SIMILAR,
    WAITING,
    EventRecorder,
    ObjectReference,
    Pace,
)
from karmada.testing.loop import VirtualClock, run_virtual

BINDING = ObjectReference("work.karmada.io/v1alpha2", "ResourceBinding", "nginx-deployment", "default", "u1", "7")


def written(server):
    return [body for (type_, _, _), body in server.objects.items() if type_.resource == "events"]


def recorder(server):
    return EventRecorder(Client(server), "karmada-scheduler", clock=VirtualClock())


def test_an_event_has_the_shape_other_components_give_it(server):
    async def main():
        events = recorder(server)
        events.event(BINDING, "Normal", "ScheduleBindingSucceed", "scheduled to member1")
        await events.flush()
        [event] = written(server)
        assert event["metadata"]["name"].startswith("nginx-deployment.17979cfe362a")
        del event["metadata"]
        assert event == {
            "apiVersion": "v1",
            "kind": "Event",
            "involvedObject": {
                "kind": "ResourceBinding",
                "namespace": "default",
                "name": "nginx-deployment",
                "uid": "u1",
                "apiVersion": "work.karmada.io/v1alpha2",
                "resourceVersion": "7",
            },
            "reason": "ScheduleBindingSucceed",
            "message": "scheduled to member1",
            "source": {"component": "karmada-scheduler"},
            "firstTimestamp": "2023-11-14T22:13:20Z",
            "lastTimestamp": "2023-11-14T22:13:20Z",
            "count": 1,
            "type": "Normal",
            "eventTime": None,
            "reportingComponent": "karmada-scheduler",
            "reportingInstance": "",
        }

    run_virtual(main)


def test_what_happened_to_objects_long_ago_is_not_remembered(server):
    async def main():
        events = recorder(server)
        for number in range(500):
            events.event(BINDING._replace(name=f"b{number}", uid=f"u{number}"), "Normal", "Done", f"{number} is done")
            await events.flush()
        assert events.remembered == 1500
        await asyncio.sleep(BURST * REFILL + 1)
        events.event(BINDING, "Normal", "Done", "done")
        await events.flush()
        assert events.remembered == 3

    run_virtual(main)


def test_the_same_event_again_raises_the_count(server):
    async def main():
        events = recorder(server)
        for _ in range(3):
            events.event(BINDING, "Warning", "Failed", "no cluster fits")
            await events.flush()
            await asyncio.sleep(10)
        [event] = written(server)
        assert event["count"] == 3
        assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2023-11-14T22:13:20Z", "2023-11-14T22:13:40Z")

    run_virtual(main)


def test_an_event_that_was_pruned_is_written_anew(server):
    async def main():
        events = recorder(server)
        for _ in range(2):
            events.event(BINDING, "Warning", "Failed", "no cluster fits")
            await events.flush()
            server.objects.clear()
        events.event(BINDING, "Warning", "Failed", "no cluster fits")
        await events.flush()
        assert [event["count"] for event in written(server)] == [1]

    run_virtual(main)


def test_many_similar_events_are_combined(server):
    async def main():
        events = recorder(server)
        for number in range(20):
            events.event(BINDING, "Warning", "Failed", f"attempt {number}")
        await events.flush()
        combined = [event for event in written(server) if event["message"].startswith("(combined")]
        assert len(written(server)) == 10
        assert [event["count"] for event in combined] == [11]
        assert combined[0]["message"] == "(combined from similar events): attempt 19"

    run_virtual(main)


def test_a_flood_about_one_object_does_not_silence_another(server):
    async def main():
        events = recorder(server)
        other = BINDING._replace(name="other", uid="u2")
        for _ in range(1000):
            events.event(BINDING, "Warning", "Failed", "again")
        events.event(other, "Normal", "Fine", "all well")
        await events.flush()
        assert sorted(event["count"] for event in written(server)) == [1, BURST]
        assert events.dropped == 1000 - BURST

    run_virtual(main)


def test_cluster_scoped_objects_have_their_events_in_default(server):
    async def main():
        events = recorder(server)
        events.event(ObjectReference("cluster.karmada.io/v1alpha1", "Cluster", "member1"), "Normal", "Joined", "x")
        await events.flush()
        assert [key[1] for key in server.objects] == ["default"]

    run_virtual(main)


def test_writing_in_the_background_survives_refusals(server):
    async def main():
        events = recorder(server)
        task = asyncio.create_task(events.run())
        server.failures = [Unavailable("down"), Forbidden("no")]
        events.event(BINDING, "Normal", "One", "x")
        events.event(BINDING, "Normal", "Two", "x")
        events.event(BINDING, "Normal", "Three", "x")
        await asyncio.sleep(60)
        assert {event["reason"] for event in written(server)} == {"Two", "Three"}
        assert events.dropped == 1
        task.cancel()

    run_virtual(main)


def test_references_are_made_from_structs_and_trees():
    from karmada.api.meta import ObjectMeta
    from karmada.api.work.v1alpha1 import Work, WorkSpec

    work = Work(metadata=ObjectMeta(name="w", namespace="es", uid="u"), spec=WorkSpec())
    tree = {"apiVersion": work.api_version, "kind": "Work", "metadata": {"name": "w", "namespace": "es", "uid": "u"}}
    assert ObjectReference.to(work) == ObjectReference.to(tree)


class Slow:
    """A transport whose every answer takes some seconds."""

    def __init__(self, inner, seconds):
        self._inner = inner
        self._seconds = seconds

    async def send(self, request):
        await asyncio.sleep(self._seconds)
        return await self._inner.send(request)


@pytest.mark.parametrize(("took", "pause"), [(0.01, 0.01 * IDLE), (1.0, RETREAT)], ids=["idle server", "busy server"])
def test_events_of_a_busy_process_wait_for_its_work_to_be_done(server, took, pause):
    async def main():
        clock = VirtualClock()
        client = Client(Slow(server, took))
        pace = Pace(clock)
        recorders = [EventRecorder(client, name, clock=clock, pace=pace) for name in ("one", "two")]
        tasks = [asyncio.create_task(events.run()) for events in recorders]
        for number in range(200):
            for which, events in enumerate(recorders):
                events.event(BINDING._replace(name=f"b{which}", uid=f"u{number}"), "Normal", "Fine", "all well")
        for _ in range(20):
            await asyncio.sleep(QUIET / 2)
            recorders[0].event(BINDING._replace(uid="busy"), "Normal", "Busy", f"more at {clock.now()}")
        writes = 10 * QUIET / max(pause, (pause + took) / len(recorders))
        assert 0.9 * writes - 2 < len(written(server)) < 1.1 * writes + 2
        await asyncio.sleep(QUIET + 400 * (PACE + took) + 1)
        assert len([event for event in written(server) if event["reason"] == "Fine"]) == 400
        assert pace.waiting == 0
        for task in tasks:
            task.cancel()

    run_virtual(main)


def test_what_does_not_fit_is_dropped(server):
    async def main():
        clock = VirtualClock()
        events = EventRecorder(Client(server), "karmada-scheduler", clock=clock)
        for number in range(WAITING + 7):
            events.event(BINDING._replace(uid=f"u{number}"), "Normal", "Fine", "all well")
        assert events.dropped == 7

    run_virtual(main)


class Batches:
    """A transport that takes events in batches; outcomes can be given."""

    at_once = 100

    def __init__(self):
        self.batches = []
        self.refusals = {}
        """Outcomes by the reason of an event, each for one write."""

    def events(self):
        return self

    async def write(self, writes):
        self.batches.append(writes)
        return [self._outcome(write) for write in writes]

    def _outcome(self, write):
        refusals = self.refusals.get(write.tree.get("reason"))
        return refusals.pop(0) if refusals else None


def test_what_gathered_is_written_in_batches():
    async def main():
        batches = Batches()
        events = recorder(batches)
        for number in range(250):
            events.event(BINDING._replace(uid=f"u{number}"), "Normal", "Fine", "all well")
        await events.flush()
        assert [len(batch) for batch in batches.batches] == [100, 100, 50]
        assert len({write.name for batch in batches.batches for write in batch}) == 250

    run_virtual(main)


def test_a_busy_process_counts_before_it_writes():
    async def main():
        batches = Batches()
        clock = VirtualClock()
        events = EventRecorder(Client(batches), "karmada-scheduler", clock=clock)
        task = asyncio.create_task(events.run())
        began = clock.now()
        while clock.now() < began + PATIENCE - 1:
            for number in range(60):
                events.event(BINDING._replace(uid=f"u{number}"), "Normal", "Fine", "all well")
            await asyncio.sleep(QUIET / 2)
        assert batches.batches == []
        await asyncio.sleep(PATIENCE)
        assert [len(batch) for batch in batches.batches] == [60]
        assert {write.tree["count"] for write in batches.batches[0]} == {int(2 * (PATIENCE - 1) / QUIET)}
        task.cancel()

    run_virtual(main)


def test_a_process_that_stays_busy_writes_all_the_same():
    async def main():
        batches = Batches()
        clock = VirtualClock()
        events = EventRecorder(Client(batches), "karmada-scheduler", clock=clock)
        task = asyncio.create_task(events.run())
        for number in range(1000):
            events.event(BINDING._replace(uid=f"u{number}"), "Normal", "Fine", "all well")
            await asyncio.sleep(0.01)
        assert 0 < len(batches.batches) < 20
        task.cancel()

    run_virtual(main)


def test_a_refused_event_of_a_batch_does_not_silence_the_others():
    async def main():
        batches = Batches()
        batches.refusals = {"Down": [Unavailable("down"), None], "No": [Forbidden("no")], "Gone": [NotFound("gone")]}
        events = recorder(batches)
        for reason in ("Down", "Fine", "No", "Gone"):
            events.event(BINDING, "Normal", reason, "x")
        await events.flush()
        written = [[write.tree["reason"] for write in batch] for batch in batches.batches]
        assert written == [["Down", "Fine", "No", "Gone"], ["Down"]]
        assert events.dropped == 1

    run_virtual(main)


def test_similar_events_of_one_batch_are_combined():
    async def main():
        batches = Batches()
        events = recorder(batches)
        for number in range(20):
            events.event(BINDING, "Warning", "Failed", f"attempt {number}")
        await events.flush()
        [batch] = batches.batches
        assert len(batch) == 10
        combined = batch[-1].tree
        assert (combined["message"], combined["count"]) == ("(combined from similar events): attempt 19", 11)
        events.event(BINDING, "Warning", "Failed", "attempt 20")
        await events.flush()
        [counted] = batches.batches[-1]
        assert counted.happened_again
        assert (counted.name, counted.tree["count"]) == (batch[-1].name, 12)

    run_virtual(main)


@pytest.mark.parametrize("letter", ["a", "\u00e4", "\U0001f600"], ids=["1 byte", "2 bytes", "4 bytes"])
def test_a_long_message_is_cut_where_api_servers_would_refuse_it(server, letter):
    async def main():
        events = recorder(server)
        for number in range(2 * SIMILAR):
            events.event(BINDING, "Normal", "Done", str(number % SIMILAR) + 1_000_000 * letter)
            await events.flush()
        messages = [event["message"] for event in written(server)]
        assert sum(message.startswith("(combined from similar events): ") for message in messages) == 1
        for message in messages:
            assert message.endswith(letter + "...")
            assert 980 < len(message.encode()) <= 1024

    run_virtual(main)


def test_a_message_of_usual_length_is_written_as_it_is(server):
    async def main():
        events = recorder(server)
        events.event(BINDING, "Normal", "Done", 990 * "a")
        await events.flush()
        assert [event["message"] for event in written(server)] == [990 * "a"]

    run_virtual(main)
