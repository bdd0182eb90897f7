"""The storage version of a custom kind changes, as with an upgrade: nothing of what is stored becomes unreadable."""

import asyncio
from pathlib import Path

from karmada.testing.differential.kube.peers import Peer, ours

from .storage_versions import STOCK, outcomes


async def test_objects_of_an_older_storage_version_are_read_and_migrated_as_by_a_stock_server(tmp_path: Path) -> None:
    async with ours(tmp_path) as config:
        peer = Peer(config)
        try:
            assert await asyncio.to_thread(outcomes, peer) == STOCK
        finally:
            peer.close()
