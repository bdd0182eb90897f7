"""Large changes through the global API: what the member must not see is taken out beside the event loop."""

import asyncio
from threading import Event

import pytest
from tests.search.test_silent_members import World

from karmada.apiserver import protobuf
from karmada.apiserver.requests import offload
from karmada.apiserver.server import ApiServer
from karmada.machinery.clock import REAL
from karmada.machinery.supervisor import Supervisor
from karmada.search.names import TEMPLATES


@pytest.mark.parametrize(("view", "name"), [("karmada", "only-a"), (TEMPLATES, "only-a.a")])
async def test_a_large_change_is_not_decoded_on_the_event_loop(view: str, name: str) -> None:
    malformed, free = b"}" * offload.LARGE, Event()
    async with ApiServer() as server, Supervisor() as supervisor:
        world = World(REAL, supervisor)
        await world.member("a", server, "only-a")
        await world.allow("a", "update")
        assert await world.change("PUT", "only-a") == "a"  # From now on it is known who may do what.
        held = asyncio.create_task(offload.run(offload.LARGE, free.wait))
        change = asyncio.create_task(world.change("PUT", name, view, malformed, protobuf.MEDIA_TYPE))
        for _ in range(100):
            await asyncio.sleep(0)
        early = change.done()
        free.set()
        await held
        assert "the object cannot be read" in await change
        assert not early
