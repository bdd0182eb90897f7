"""Replays the recorded requests of a real kube-apiserver, suite by suite, with the tool that recorded them.

A case that is not in `KNOWN` must pass; one that is must fail, so that the list stays true. Reasons are in
docs/kubernetes-compatibility.md. Needs ../shared.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.server import ApiServer, ApiServerOptions

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
TOOL = SHARED / "tools" / "kube_replay.py"
RECORDED = SHARED / "golden" / "kube"
SUITES = (
    "admission",
    "apply",
    "auth",
    "crd",
    "crud",
    "defaults",
    "deletion",
    "discovery",
    "listwatch",
    "patch",
    "tables",
)
KNOWN = {
    "discovery": {"componentstatuses"},
}

TELLING_AGES = "tables"
DAY = 24 * 3600
RECORDED_ON = 1794700800 // DAY
"""In days since the epoch: what the recordings say of the age of old objects was so on that day."""

pytestmark = [pytest.mark.golden, pytest.mark.tools]


@pytest.mark.parametrize("suite", SUITES)
async def test_a_recorded_suite(suite, tmp_path):
    if not TOOL.exists():
        pytest.skip("needs ../shared/golden/kube")
    options = ApiServerOptions(folder=tmp_path, key_prefix="/conf", static_tokens='admin,admin,1,"system:masters"')
    if suite == TELLING_AGES:
        since = (int(time.time()) // DAY - RECORDED_ON) * DAY
        options.now = lambda: time.time() - since
    async with ApiServer(options) as server:
        port = await server.listen()
        authority = server.identity.authority.certificate_pem
        config = kubeconfig(f"https://127.0.0.1:{port}", authority, token="admin")
        write_kubeconfig(tmp_path / "kubeconfig", config)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(TOOL),
            "check",
            str(RECORDED),
            "--kubeconfig",
            str(tmp_path / "kubeconfig"),
            "--suite",
            suite,
            "--json",
            str(tmp_path / "results.json"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
    results = json.loads((tmp_path / "results.json").read_text())
    failed = {result["case"] for result in results if not result["ok"]}
    assert failed == KNOWN.get(suite, set()), output.decode()[-8000:]
    assert results
