"""Explore many seeds: `python -m karmada.testing.soak [--seeds 5000] [--first 0] [--workers 2]`.

`--scenario killing --seeds 20` kills the processes of real federations a hundred times.
Prints every seed that breaks with its steps, exits 1 if there is one. `--seeds 1 --first N` replays seed N.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor

from karmada.testing.scenarios import failover, federation, leadership, mirror, propagation, storage
from karmada.testing.world import Broken, explore


def _killing(seed: int) -> list[str]:
    from karmada.testing.killing import scenario

    return scenario(seed)


SCENARIOS: dict[str, Callable[[int], list[str]]] = {
    "failover": lambda seed: explore(failover.scenario(), seed, failover.SERVERS),
    "federation": lambda seed: explore(federation.scenario, seed, federation.SERVERS),
    "killing": _killing,
    "leadership": lambda seed: explore(leadership.scenario(), seed),
    "mirror": lambda seed: explore(mirror.scenario(), seed),
    "propagation": lambda seed: explore(propagation.scenario(), seed, federation.SERVERS),
    "storage": storage.explore,
}
CHUNK = 25


def failures(name: str, first: int, count: int) -> list[str]:
    """What breaks in some seeds of a scenario."""
    logging.disable(logging.CRITICAL)
    found = []
    for seed in range(first, first + count):
        try:
            SCENARIOS[name](seed)
        except Broken as broken:
            found.append(str(broken))
    return found


def soak(name: str, first: int, count: int, workers: int) -> Iterator[tuple[int, list[str]]]:
    """How many seeds are done and what broke in them, chunk by chunk."""
    chunks = [(start, min(CHUNK, first + count - start)) for start in range(first, first + count, CHUNK)]
    with ProcessPoolExecutor(workers) as pool:
        results = [pool.submit(failures, name, start, size) for start, size in chunks]
        for (_, size), result in zip(chunks, results, strict=True):
            yield size, result.result()


def main(arguments: list[str]) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m karmada.testing.soak", description="Explore many seeds.")
    parser.add_argument("--scenario", choices=sorted(SCENARIOS), default="mirror")
    parser.add_argument("--seeds", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    started, done, broken = time.monotonic(), 0, 0
    for size, found in soak(given.scenario, given.first, given.seeds, given.workers):
        done += size
        broken += len(found)
        for message in found:
            sys.stdout.write(f"{message}\n")
        sys.stdout.flush()
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done} of {given.seeds} seeds, {broken} broken ")
    sys.stdout.write(f"{done} seeds of {given.scenario}, {broken} broken, {time.monotonic() - started:.0f} s\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
