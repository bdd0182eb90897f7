"""Members whose revisions are none: the index of all others goes on."""

import asyncio
from contextlib import suppress
from pathlib import Path

import orjson
import pytest

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.errors import BadAnswer
from karmada.machinery.informers.cache import Room
from karmada.machinery.transport import EventType, WatchEvent
from karmada.search.fulltext import FullText
from karmada.search.mirror import Mirror
from karmada.search.plan import Part
from karmada.search.query import parse
from karmada.testing.scenarios.search import SERVED, NoTransport

HUGE = "9" * 30


def pod(version: str) -> bytes:
    metadata = {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": version}
    return orjson.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})


async def follow(index: FullText, cluster: str, version: str, listed: str) -> Mirror:
    mirror = Mirror(
        cluster, SERVED, Client(NoTransport()), Part(), Room(), REAL, lambda _: None, lambda one: index.resume(one, "")
    )
    await mirror._begin()
    with suppress(BadAnswer):
        list(mirror._feed.replace([mirror._feed.read(pod(version))], listed))
    mirror._first_load()
    return mirror


@pytest.mark.parametrize("where", ["object", "list", "bookmark"])
async def test_a_revision_that_fits_no_file_costs_its_own_member_only(where: str, tmp_path: Path) -> None:
    index = FullText(tmp_path / "search.db")
    odd = await follow(index, "odd", HUGE if where == "object" else "6", HUGE if where == "list" else "6")
    if where == "bookmark":
        odd._feed.apply([WatchEvent(EventType.BOOKMARK, pod(HUGE))])
    good = await follow(index, "good", "7", "7")
    await index.flush()
    found = (await index.find(parse("kind:Pod"), 0.0, 10)).found
    assert "good" in {one.cluster for one in found}
    for mirror in (odd, good):
        mirror.leave()
        await mirror.store.stop()
    running = asyncio.create_task(index.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("version", ["v7", "-7", HUGE])
async def test_an_object_whose_revision_is_no_number_that_a_server_counts_to_is_refused(
    version: str, tmp_path: Path
) -> None:
    mirror = await follow(FullText(tmp_path / "search.db"), "odd", "6", "6")
    with pytest.raises(BadAnswer, match="the server's resource versions are"):
        mirror._feed.read(pod(version))
    mirror.leave()
    await mirror.store.stop()
