"""Recorded requests of a real kube-apiserver, replayed against our server with the tool that recorded them.

The tool is kept beside the recordings; it speaks HTTPS to a server of its own per suite.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import orjson

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.testing.golden.run import Failure, Report

NAME = "kube"
SUITES = (
    *("admission", "apply", "auth", "crd", "crud", "defaults", "deletion", "discovery", "listwatch", "patch", "tables"),
)
KNOWN = {"discovery": {"componentstatuses": "the recorded server was started with another issuer"}}
"""Cases that differ on purpose, by suite; docs/kubernetes-compatibility.md says more."""
_WITH_AGES = "tables"
_DAY = 24 * 3600
_RECORDED_ON = 1794700800 // _DAY
"""In days since the epoch: what the recordings say of the age of old objects was so on that day."""


def tool(folder: Path) -> Path:
    """Where the replay tool of recordings is."""
    return folder.parent.parent / "tools" / "kube_replay.py"


def run_kube(folder: Path, report: Report) -> None:
    """Replay all suites of a folder of recordings."""
    for suite in SUITES:
        with tempfile.TemporaryDirectory() as place:
            results, output = asyncio.run(replay(folder, suite, Path(place)))
        for result in results:
            name = result["case"]
            if result["ok"]:
                report.passed += 1
            elif name in KNOWN.get(suite, {}):
                report.excused[NAME, KNOWN[suite][name]] += 1
            else:
                report.failures.append(Failure(f"{NAME}/{suite}/{name}", _about(output, f"{suite}/{name}")))


async def replay(folder: Path, suite: str, place: Path) -> tuple[list[dict[str, Any]], str]:
    """The results of one suite against a fresh server, and what the tool said."""
    options = ApiServerOptions(folder=place, key_prefix="/conf", static_tokens='admin,admin,1,"system:masters"')
    if suite == _WITH_AGES:
        since = (int(time.time()) // _DAY - _RECORDED_ON) * _DAY
        options.now = lambda: time.time() - since
    async with ApiServer(options) as server:
        port = await server.listen()
        authority = server.identity.authority.certificate_pem
        write_kubeconfig(place / "kubeconfig", kubeconfig(f"https://127.0.0.1:{port}", authority, token="admin"))
        found = place / "results.json"
        arguments = [str(tool(folder)), "check", str(folder), "--kubeconfig", str(place / "kubeconfig")]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments, "--suite", suite, "--json", str(found)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
    return orjson.loads(found.read_bytes()), output.decode(errors="replace")


def _about(output: str, case: str) -> str:
    """What the tool said of one case."""
    _, _, rest = output.partition(f"FAIL {case}")
    return " ".join(rest.split("FAIL ")[0].split())[:400]
