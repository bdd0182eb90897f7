"""Controllers put together: those that are divided, those that are not, and what both are given."""

import asyncio
from types import SimpleNamespace

import pytest
from tests.controllers.plane import OneMember, on_a_plane, server

from karmada.controllers.composition import ControllerOptions, Recorders, controllers, hold_shards
from karmada.controllers.metrics import PipelineMetrics
from karmada.controllers.selection import Selection
from karmada.machinery.sharding.ownership import Ownership, Tenure


def test_a_component_has_one_recorder_and_all_write_at_one_pace():
    async def scenario(plane):
        recorders = Recorders(plane.client, plane.supervisor, plane.clock)
        assert recorders("a") is recorders("a")
        assert recorders("a") is not recorders("b")
        assert recorders.pace is not None
        assert Recorders(plane.client, plane.supervisor, plane.clock, recorders.pace).pace is recorders.pace
        await plane.clock.sleep(1)

    on_a_plane(scenario)


class Shards:
    """A campaign that leads when a test says so."""

    def __init__(self):
        self.ownership = Ownership(1)
        self.lead = None

    async def run(self, lead):
        self.lead = lead
        await asyncio.Event().wait()


def test_shards_are_taken_once_their_keys_are_known_and_what_is_undivided_runs_while_the_first_is_held():
    async def scenario(plane):
        loaded, ended = asyncio.Event(), []
        controller = SimpleNamespace(synced=loaded.wait)

        async def forever():
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("forever")

        shards = Shards()
        plane.supervisor.start(
            "shards",
            lambda: hold_shards(shards, [controller], lambda own: own.start("forever", forever), plane.clock),
        )
        await plane.clock.sleep(5)
        assert shards.lead is None
        loaded.set()
        await plane.clock.sleep(5)
        leading = asyncio.ensure_future(shards.lead())
        await plane.clock.sleep(60)
        assert (leading.done(), ended) == (False, [])
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        assert ended == ["forever"]

    on_a_plane(scenario)


@pytest.mark.parametrize("divided", [False, True])
def test_what_cannot_be_divided_runs_beside_the_first_shard_or_at_once(divided):
    async def scenario(plane):
        beside, shards, metrics = [], Shards() if divided else None, PipelineMetrics()
        options = ControllerOptions(selection=Selection(("binding", "cluster")))
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            context = plane.context
            async with controllers(
                context.client,
                context.informers,
                plane.supervisor,
                context.recorder,
                members,
                options,
                plane.clock,
                metrics,
                shards,
                beside.append,
            ) as started:
                assert list(metrics.clusters()) == []
                await plane.cluster("m1")
                await plane.clock.sleep(5)
                if divided:
                    assert beside == []
                    shards.ownership.begin(Tenure(0, SimpleNamespace(identity="me", leads=True, exclusive=10.0)))
                    before = len(started)
                    leading = asyncio.ensure_future(shards.lead())
                    await plane.clock.sleep(5)
                    assert len(started) > before
                    leading.cancel()
                    await asyncio.gather(leading, return_exceptions=True)
                else:
                    assert beside == [plane.supervisor]
                assert len(beside) == 1
                assert {"binding-controller", "cluster-controller"} <= {controller.name for controller in started}
                assert [cluster.metadata.name for cluster in metrics.clusters()] == ["m1"]
            assert plane.supervisor.running == ()
            await members.connection.close()

    on_a_plane(scenario)
