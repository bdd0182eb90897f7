"""Lines in other versions and forms are made once for all watchers."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from contextvars import ContextVar

import pytest
from tests.apiserver.requests.test_many_watchers import MAPS, METADATA, TOKENS, follow_one

from karmada.apiserver.requests.conversions import Conversions
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.transport import Request, Verb

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


class Counted(Conversions):
    """Counts what is made."""

    made = 0

    async def line(self, key: Hashable, source: int, make: Callable[[], Awaitable[bytes]]) -> bytes:
        async def counted() -> bytes:
            self.made += 1
            return await make()

        return await super().line(key, source, counted)


@pytest.mark.parametrize(("accept", "most"), [(METADATA, 1), (TABLE, 2)])
@pytest.mark.parametrize("size", [10, 100_000])
async def test_watchers_of_a_form_share_what_is_made(accept: str, most: int, size: int):
    """A table shows ages: where a second begins meanwhile, it is made once more."""
    async with ApiServer(ApiServerOptions(controllers=False, static_tokens=TOKENS)) as server:
        conversions = server.context.conversions = Counted()
        port = await server.listen(tls=False)
        opened = asyncio.Semaphore(0)
        watchers = [asyncio.create_task(follow_one(port, opened, accept)) for _ in range(10)]
        for _ in watchers:
            await opened.acquire()
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "b" * size}}
        await server.direct().send(Request(Verb.CREATE, MAPS, "default", body=body))
        lines = await asyncio.wait_for(asyncio.gather(*watchers), 60)
        assert len(set(lines)) <= most
        assert 1 <= conversions.made <= most


async def test_what_cannot_be_made_is_tried_by_the_next_who_waits():
    conversions, tries = Conversions(), 0

    async def make() -> bytes:
        nonlocal tries
        tries += 1
        await asyncio.sleep(0)
        if tries == 1:
            raise ValueError("the first of them")
        return b"line"

    results = await asyncio.gather(*[conversions.line("a", 1, make) for _ in range(5)], return_exceptions=True)
    assert [type(result) for result in results] == [ValueError, bytes, bytes, bytes, bytes]
    assert tries == 2


async def test_only_the_newest_lines_are_kept():
    conversions, made = Conversions(size=10_000), []

    async def line(name: str) -> None:
        async def make() -> bytes:
            made.append(name)
            return b""

        await conversions.line(name, 4000, make)

    for name in ("a", "b", "a", "c", "a", "b"):
        await line(name)
    assert made == ["a", "b", "c", "b"]


async def test_a_line_is_made_for_everybody_and_not_in_the_turn_of_who_watches_first():
    user: ContextVar[bytes] = ContextVar("user", default=b"nobody")
    user.set(b"alice")

    async def make() -> bytes:
        return user.get()

    assert await Conversions().line("a", 1, make) == b"nobody"
