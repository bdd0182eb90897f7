"""Requests one after the other, with what a stock kube-apiserver 1.36.3 answered to each of them.

Each case was answered differently once. Codes, objects and fields of refusals must be the same, and warnings where they
were recorded; an answer without a body is compared by its code alone.
"""

import asyncio
from pathlib import Path
from typing import Any

import orjson

from karmada.testing.differential.kube.comparing import difference, take_ownership
from karmada.testing.differential.kube.peers import Answer, Peer, ours
from karmada.testing.differential.kube.report import signing_request
from karmada.testing.differential.kube.transcripts import filled, remember

_COMPARED = ("code", "object", "causes", "warnings")
CASES = Path(__file__).parent / "data" / "stock_cases.jsonl"


def _replay(peer: Peer, case: dict[str, Any], variables: dict[str, str]) -> list[str]:
    peer.send("POST", "/api/v1/namespaces", {"metadata": {"name": variables["ns"]}})
    found = []
    for number, (step, expected) in enumerate(zip(case["steps"], case["answers"], strict=True)):
        one = filled(step, variables)
        answer = peer.send(one["method"], one["path"], one.get("body"), one.get("headers"))
        remember(answer, variables)
        if expected["body"] is None:
            if answer.code != expected["code"]:
                found.append(f"{number}: {answer.code} instead of {expected['code']}")
            continue
        take_ownership(answer.body)
        wanted = Answer(expected["code"], filled(expected["body"], variables), tuple(expected.get("warnings") or ()))
        different = difference(wanted, answer)
        if different is not None and different[0] in _COMPARED[: 4 if "warnings" in expected else 3]:
            found.append(f"{number}: {': '.join(different)}")
    return found


def _differences(config: Path) -> dict[str, list[str]]:
    peer, request = Peer(config), signing_request()
    cases = [orjson.loads(line) for line in CASES.read_bytes().splitlines()]
    found = {
        case["name"]: different
        for number, case in enumerate(cases)
        if (different := _replay(peer, case, {"run": f"c{number}", "ns": f"d-c{number}", "csr": request}))
    }
    peer.close()
    return found


async def test_cases_are_answered_as_a_stock_server_answers_them(tmp_path):
    async with ours(tmp_path) as config:
        assert await asyncio.to_thread(_differences, config) == {}
