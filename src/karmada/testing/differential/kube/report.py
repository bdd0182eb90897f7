"""Starts both servers, compares, and prints what differs."""

import asyncio
import base64
import secrets
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from karmada.testing.differential.kube.listener import Listener
from karmada.testing.differential.kube.peers import Peer, ours, stock
from karmada.testing.differential.kube.run import Run
from karmada.testing.differential.kube.scenario_mix import any_scenario
from karmada.testing.differential.kube.transcripts import record
from karmada.testing.stage.programs import missing

SERIOUS = ("code", "object")
"""Classes of differences that clients notice; others are counted."""


def report(
    seed: int | None, count: int, show: int, kubeconfig: Path | None, keep: Path | None, scenario: str = ""
) -> int:
    """Compare `count` requests; 0 without a difference in code or object, 1 with some, 2 if nothing can be compared.

    A server that runs already is used with `kubeconfig`; what is deleted there stays deleted.
    """
    if kubeconfig is None and (reason := missing()):
        sys.stderr.write(f"kube: {reason}\n")
        return 2
    chosen = secrets.randbelow(10**6) if seed is None else seed
    return asyncio.run(_run(chosen, count, show, kubeconfig, keep, scenario))


async def _run(seed: int, count: int, show: int, kubeconfig: Path | None, keep: Path | None, scenario: str) -> int:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        reference = kubeconfig
        if reference is None:
            reference = await stack.enter_async_context(stock(folder / "stock"))
        own = await stack.enter_async_context(ours(folder / "ours"))
        return await asyncio.to_thread(_compare, Peer(reference), Peer(own), seed, count, show, keep, scenario)


def _compare(reference: Peer, own: Peer, seed: int, count: int, show: int, keep: Path | None, scenario: str) -> int:
    with Listener() as hooks:
        variables = {"run": f"r{seed}-{secrets.token_hex(2)}-", "csr": signing_request(), **hooks.variables}
        run = Run(reference, own, variables)
        number = 0
        while run.tally.requests < count:
            number += 1
            run.compare(f"{seed}/{number}", any_scenario(Random(f"{seed}/{number}"), scenario))
        return _report(run, reference, variables, seed, show, keep)


def _report(run: Run, reference: Peer, variables: dict[str, str], seed: int, show: int, keep: Path | None) -> int:
    found = run.tally.found
    classes = Counter(one.difference.kind for one in found)
    for one in [one for one in found if one.difference.kind in SERIOUS][:show]:
        short = run.shorten(one)
        _say(short.transcript())
        if keep is not None:
            run_name = f"kept-{secrets.token_hex(3)}"
            kept = record(reference, one.seed, short.steps, {**variables, "run": run_name, "ns": f"d-{run_name}"})
            with keep.open("ab") as file:
                file.write(orjson.dumps(kept) + b"\n")
    for reason, times in run.tally.known.most_common():
        _say(f"known: {times} in kube: {reason}")
    others = ", ".join(f"{times} {kind}" for kind, times in classes.items() if kind not in SERIOUS) or "none"
    serious = sum(classes[kind] for kind in SERIOUS)
    _say("| topic | seed | requests | code or object differs | known and wanted | other differences |")
    _say("|---|---:|---:|---:|---:|---|")
    _say(f"| kube | {seed} | {run.tally.requests} | {serious} | {run.tally.known.total()} | {others} |")
    return 1 if serious else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def signing_request() -> str:
    """A certificate signing request of a user `u`, as objects carry it."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "u")])
    key = ec.generate_private_key(ec.SECP256R1())
    made = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
