"""Requests on which our API server once differed from a stock kube-apiserver, with what that answered.

They were found by `make differential TOPIC=kube` and are kept with `--keep`; codes, objects and fields of refusals must
be the same.
"""

import asyncio
from pathlib import Path

import orjson

from karmada.testing.differential.kube.peers import Peer, ours
from karmada.testing.differential.kube.report import signing_request
from karmada.testing.differential.kube.transcripts import replay

KEPT = Path(__file__).parent / "data" / "stock_transcripts.jsonl"


def _differences(config: Path) -> dict[str, str]:
    peer, request = Peer(config), signing_request()
    found = {}
    for number, line in enumerate(KEPT.read_bytes().splitlines()):
        transcript = orjson.loads(line)
        differences = replay(peer, transcript, {"run": f"t{number}", "ns": f"d-t{number}", "csr": request})
        if differences:
            found[transcript["name"]] = differences
    peer.close()
    return found


async def test_kept_transcripts_are_answered_as_a_stock_server_answers_them(tmp_path):
    async with ours(tmp_path) as config:
        assert await asyncio.to_thread(_differences, config) == {}
