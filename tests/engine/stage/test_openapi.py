"""What a stock server says of the kinds that karmada-aggregated-apiserver serves behind it."""

import asyncio

from karmada.testing.differential.kube.peers import Peer
from karmada.testing.stage.federation import Stage, eventually

CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


async def test_the_document_of_all_kinds_is_served_in_the_form_that_kubectl_asks_for(stage: Stage) -> None:
    peer = Peer(stage.hub.kubeconfig)

    async def merged() -> bool:
        answer = await asyncio.to_thread(peer.send, "GET", "/openapi/v2")
        return answer.code == 200 and CLUSTERS in answer.body["paths"]

    try:
        await eventually(merged, 120)
        # Only this form is judged as a whole: one response without a description and nobody can validate anything.
        answer = await asyncio.to_thread(peer.send, "GET", "/openapi/v2", None, {"Accept": PROTOBUF})
        assert answer.code == 200, answer.body
        assert CLUSTERS in answer.body
    finally:
        peer.close()
