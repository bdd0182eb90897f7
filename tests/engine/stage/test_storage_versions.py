"""What a stock server says when the storage version of a custom kind changes; ours is held to the same table."""

import asyncio

from tests.apiserver.crds.storage_versions import STOCK, outcomes

from karmada.testing.differential.kube.peers import Peer
from karmada.testing.stage.federation import Stage


async def test_a_stock_server_reads_and_migrates_objects_of_an_older_storage_version(stage: Stage) -> None:
    peer = Peer(stage.members["member1"].kubeconfig)
    try:
        assert await asyncio.to_thread(outcomes, peer) == STOCK
    finally:
        peer.close()
