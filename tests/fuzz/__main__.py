"""`python -m tests.fuzz`: hours of fuzzing. Prints rate, slowest input, growth of memory and the longest stall.

What counts as a stall is time of the processor, as others may take that away for longer; the longest time until an
answer stands beside it. The garbage collector is set as the programs set it.

    python -m tests.fuzz --target all --count 100000 --seed 1
    python -m tests.fuzz --target requests --count 1000000

Every input comes from a seed of its own, which a failure names: `--seed S --count 1 --target NAME` repeats it.
"""

import argparse
import asyncio
import gc
import sys
import time
import traceback
from random import Random
from typing import Any

import psutil
from tests.fuzz.registry import TARGETS, corpus
from tests.fuzz.target import Target

from karmada.machinery.process import release_memory, tune_memory

STALL = 0.2
GROWTH = 50 * 1024 * 1024
WARM = 2000
"""Inputs before memory counts: caches fill, modules are imported."""


class Report:
    """What a run found."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.failures = 0
        self.slowest = (0.0, 0)
        """Seconds of the processor in one turn, and the seed."""
        self.longest = 0.0
        """Seconds until an answer."""
        self.growth = 0
        """Of resident memory, when it was printed last: what comes later is not of these inputs."""
        self._began = time.monotonic()
        self._memory = self._own = 0

    def took(self, seconds: float, wall: float, seed: int) -> None:
        self.count += 1
        self.longest = max(self.longest, wall)
        if seconds > self.slowest[0]:
            self.slowest = (seconds, seed)
        if self.count == WARM:
            self._memory, self._own = _memory()
        if self.count % 10_000 == 0:
            self.print()

    def failed(self, seed: int, given: Any, why: str) -> None:
        self.failures += 1
        if self.failures <= 20:
            print(f"{self.name}: FAILED --seed {seed} --count 1\n  {given!r:.2000}\n{why}", flush=True)

    def print(self) -> None:
        """Measure the growth of memory, and say how far it is.

        `own` is without files: pages of libraries go and come back.
        """
        rate = self.count / max(time.monotonic() - self._began, 1e-9)
        slow, seed = self.slowest
        resident, own = _memory() if self._memory else (0, 0)
        self.growth, own_growth = resident - self._memory, own - self._own
        print(
            f"{self.name:16} {self.count:9,} inputs  {rate:8,.0f}/s  slowest {slow * 1000:6.1f} ms of CPU (seed {seed})"
            f", {self.longest * 1000:6.1f} ms in all"
            f"  memory {self.growth / 2**20:+6.1f} MiB, own {own_growth / 2**20:+6.1f}  failures {self.failures}",
            flush=True,
        )

    def ok(self) -> bool:
        return not self.failures and self.slowest[0] < STALL and self.growth < GROWTH


def _memory() -> tuple[int, int]:
    gc.collect()
    release_memory()  # As programs do every minute.
    info = psutil.Process().memory_info()
    return info.rss, info.rss - info.shared


def fuzz(target: Target, count: int, seed: int) -> Report:
    """Run one decoder's fuzzer, its corpus first."""
    report = Report(target.name)
    inputs = [(-1, given) for given in corpus(target.name)]
    for number in range(count + len(inputs)):
        if number < len(inputs):
            at, given = inputs[number]
        else:
            at = seed + number - len(inputs)
            given = target.make(Random(at))
        began, clock = time.thread_time(), time.monotonic()
        try:
            target.check(given)
        except Exception:
            report.failed(at, given, traceback.format_exc())
        report.took(time.thread_time() - began, time.monotonic() - clock, at)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--target", default="all", choices=["all", "decoders", "requests", *TARGETS])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tune_memory()
    reports = []
    for name, target in TARGETS.items():
        if options.target in ("all", "decoders", name):
            reports.append(fuzz(target, options.count, options.seed))
            reports[-1].print()
    if options.target in ("all", "requests"):
        from tests.fuzz.requests import fuzz_requests

        report = Report("requests")
        asyncio.run(fuzz_requests(report, options.count, options.seed))
        report.print()
        reports.append(report)
    return 0 if all(report.ok() for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
