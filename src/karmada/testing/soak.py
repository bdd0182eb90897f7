"""Explore many seeds: `python -m karmada.testing.soak [--scenario mirror] [--seeds 5000] [--first 0] [--workers 2]`.

Prints every seed that breaks with its steps and the command that replays it, exits 1 if there is one, and adds it to
`tests/testing/broken_seeds.txt` of the checkout, which the tests run from then on. A run that was interrupted goes on
where it was when it is given again for the same commit; `--fresh` begins anew.
"""

import argparse
import gc
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from karmada.testing.progress import Progress, commit, progress_of
from karmada.testing.scenarios import (
    federation,
    leadership,
    mirror,
    propagation,
    replicas,
    search,
    services,
    sharding,
    storage,
)
from karmada.testing.scenarios.failover import story as failover
from karmada.testing.world import Broken, explore

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

CHUNK = 10
"""Seeds that one process runs, with all that they leave behind."""
REPORT = 60.0
"""Seconds between two lines about how far it is."""
SEEDS = Path(__file__).parents[3] / "tests" / "testing" / "broken_seeds.txt"


def _killing(seed: int) -> list[str]:
    from karmada.testing.killing import scenario

    return scenario(seed)


def _etcd(seed: int) -> list[str]:
    from karmada.testing.scenarios.storage_etcd import explore as explore_etcd

    return explore_etcd(seed)


SCENARIOS: dict[str, Callable[[int], list[str]]] = {
    "failover": lambda seed: explore(failover.scenario(), seed, failover.SERVERS),
    "federation": lambda seed: explore(federation.scenario, seed, federation.SERVERS),
    "killing": _killing,
    "leadership": lambda seed: explore(leadership.scenario(), seed),
    "mirror": lambda seed: explore(mirror.scenario(), seed),
    "propagation": lambda seed: explore(propagation.scenario(), seed, federation.SERVERS),
    "replicas": lambda seed: explore(propagation.scenario(start=replicas.start), seed, federation.SERVERS),
    "services": lambda seed: explore(services.scenario(), seed, services.SERVERS),
    "search": search.explore,
    "sharding": lambda seed: explore(sharding.scenario(), seed),
    "storage": storage.explore,
    "storage-etcd": _etcd,
}
BY_CHANCE = {"killing", "storage-etcd"}
"""Real processes: a seed may break once and not again."""
OUTSIDE = BY_CHANCE | {"storage"}
"""Not on the memory of one process alone: processes, threads, files."""
SHORTER: dict[str, Callable[[int], str]] = {"storage": storage.shorter}
"""Repeat a broken seed with as little as breaks as well."""


class Failure(NamedTuple):
    """A seed that breaks."""

    seed: int
    story: str


def failures(name: str, first: int, count: int) -> list[Failure]:
    """What breaks in some seeds of a scenario."""
    # Warnings are not shown, but made: worlds break by those that have a traceback.
    logging.disable(logging.INFO)
    logging.getLogger().addHandler(_silence)
    found = []
    for seed in range(first, first + count):
        try:
            SCENARIOS[name](seed)
        except Broken as broken:
            found.append(Failure(seed, SHORTER[name](seed) if name in SHORTER else str(broken)))
    return found


_silence = logging.NullHandler()
_warm: set[str] = set()


def run_chunk(name: str, first: int, count: int) -> list[Failure]:
    """Run a chunk in a copy of this process that ends with it, and takes with it what worlds leave behind.

    Looking for that garbage costs an eighth of a world. The first seed of all runs here, so that the copies inherit
    what worlds prepare once for all.
    """
    if name in OUTSIDE or not hasattr(os, "fork"):
        return failures(name, first, count)
    if name in _warm:
        return _apart(name, first, count)
    _warm.add(name)
    return failures(name, first, 1) + (_apart(name, first + 1, count - 1) if count > 1 else [])


def _apart(name: str, first: int, count: int) -> list[Failure]:
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    copy = context.Process(target=_run_and_send, args=(sender, name, first, count))
    copy.start()
    sender.close()
    try:
        received: list[Failure] | BaseException = receiver.recv()
    except EOFError:
        copy.join()
        raise RuntimeError(f"seeds {first} to {first + count - 1} ended with {copy.exitcode}") from None
    copy.join()
    if isinstance(received, BaseException):
        raise received
    return received


def _run_and_send(sender: "Connection", name: str, first: int, count: int) -> None:
    gc.disable()
    try:
        sender.send(failures(name, first, count))
    except Exception as error:
        sender.send(RuntimeError(f"one of the seeds {first} to {first + count - 1}: {error!r}"))
    sender.close()


def soak(name: str, first: int, count: int, workers: int) -> Iterator[tuple[int, list[Failure]]]:
    """How many seeds are done and what broke in them, chunk by chunk."""
    chunks = [(start, min(CHUNK, first + count - start)) for start in range(first, first + count, CHUNK)]
    with ProcessPoolExecutor(workers) as pool:
        results = [pool.submit(run_chunk, name, start, size) for start, size in chunks]
        try:
            for (_, size), result in zip(chunks, results, strict=True):
                yield size, result.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def keep(seeds: Path, name: str, failure: Failure) -> bool:
    """Have the tests run a seed from now on; false if there is no checkout, or it cannot be replayed."""
    if name in BY_CHANCE or not seeds.exists():
        return False
    line = f"{name} {failure.seed}"
    text = seeds.read_text()
    if line not in (known.partition("#")[0].strip() for known in text.splitlines()):
        seeds.write_text(f"{text}{line}  # {failure.story.splitlines()[0]}\n")
    return True


def main(arguments: list[str], seeds: Path = SEEDS) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m karmada.testing.soak", description="Explore many seeds.")
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), default="mirror")
    parser.add_argument("--seeds", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fresh", action="store_true", help="begin anew, whatever was done before")
    parser.add_argument("--progress", type=Path, default=Path(".cache/soak"), help="folder that says how far runs are")
    given = parser.parse_args(arguments)
    name: str = given.scenario
    explored = commit()
    fresh = given.fresh or explored is None or given.seeds <= CHUNK  # a replay is never done already
    progress = progress_of(given.progress, f"{name} {given.first} {given.seeds} {explored}", fresh)
    if progress.done:
        _say(f"{name}: going on after {progress.done} seeds, {progress.broken} broken")
    try:
        _run(name, given.first, given.seeds, given.workers, progress, seeds)
    except KeyboardInterrupt:
        _say(f"{name}: interrupted after {progress.done} of {given.seeds} seeds; the same command goes on")
        return 130
    rate = progress.done / max(progress.seconds, 0.001)
    _say(f"{progress.done} seeds of {name}, {progress.broken} broken, {progress.seconds:.0f} s, {rate:.1f} seeds/s")
    return 1 if progress.broken else 0


def _run(name: str, first: int, count: int, workers: int, progress: Progress, seeds: Path) -> None:
    started, before, printed = time.monotonic(), progress.seconds, time.monotonic()
    for size, found in soak(name, first + progress.done, count - progress.done, workers):
        for failure in found:
            _say(failure.story)
            _say(f"  replay: python -m karmada.testing.soak --scenario {name} --first {failure.seed} --seeds 1")
            if keep(seeds, name, failure):
                _say(f"  kept in {seeds.name}")
        now = time.monotonic()
        progress.advance(size, len(found), before + now - started)
        if now - printed >= REPORT:
            printed = now
            rate = progress.done / max(progress.seconds, 0.001)
            _say(f"{name}: {progress.done} of {count} seeds, {progress.broken} broken, {rate:.1f} seeds/s")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
