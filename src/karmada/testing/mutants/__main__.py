"""See the package."""

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from karmada.testing.mutants import forks
from karmada.testing.mutants.edits import Mutant, mutants_of
from karmada.testing.mutants.forks import Observed
from karmada.testing.mutants.laboratory import Laboratory

SOURCES, TESTS = Path("src/karmada"), Path("tests")
EQUIVALENT = TESTS / "mutants.txt"
SURVIVED = "survived "


def equivalent() -> dict[str, str]:
    """Mutants that change nothing anybody can see, and why."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    return dict(line.rsplit(": ", 1) for line in lines if line and not line.startswith("#"))


def mutants_in(package: str) -> list[Mutant]:
    """Every mutant of a package, or of one module."""
    place = SOURCES / package
    modules = [place] if place.suffix == ".py" else sorted(place.rglob("*.py"))
    return [mutant for module in modules for mutant in mutants_of(module)]


def own_tests(package: str) -> str:
    """The folder of tests that is nearest to a package."""
    place = TESTS / package
    return str(next(folder for folder in (place, *place.parents) if folder.is_dir()))


def survivors(chosen: Sequence[Mutant], tests: Sequence[str], at_once: int) -> list[Mutant]:
    """The mutants that tests do not notice, each said at once."""
    found: list[Mutant] = []
    undecided: list[Mutant] = []

    def report(mutant: Mutant, killed: bool | None) -> None:
        if killed is None:
            undecided.append(mutant)
        elif not killed:
            found.append(mutant)
            _say(f"{SURVIVED}{mutant}")

    observed = forks.run(tests, chosen, SOURCES, report, at_once)
    with tempfile.TemporaryDirectory(prefix="karmada-mutants-") as folder, ThreadPoolExecutor(at_once) as pool:
        laboratories: SimpleQueue[Laboratory] = SimpleQueue()
        for number in range(at_once):
            laboratories.put(Laboratory(SOURCES.parent, Path(folder) / str(number)))

        def kills(mutant: Mutant) -> bool:
            laboratory = laboratories.get()
            near = near_first(observed, str(mutant.module.resolve()))
            try:
                return laboratory.kills(mutant, near)
            finally:
                laboratories.put(laboratory)

        for mutant, killed in zip(undecided, pool.map(kills, list(undecided)), strict=True):
            report(mutant, killed)
    return found


def near_first(observed: Mapping[str, Observed], module: str) -> list[str]:
    """Files of tests: those that call functions of a module, then the others, the quickest first."""

    def rank(file: str) -> tuple[bool, float]:
        return all(place.file != module for place in observed[file].places), observed[file].seconds

    return sorted(observed, key=rank)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Run a sample of the mutants of some packages and report."""
    parser = argparse.ArgumentParser(prog="python -m karmada.testing.mutants", description="Run mutation tests.")
    parser.add_argument("packages", nargs="+", metavar="PACKAGE", help="such as policies or works/build.py")
    parser.add_argument("--tests", nargs="+", default=None, help="tests to run (default: those of the package)")
    parser.add_argument("--sample", type=int, default=0, help="how many mutants, chosen by chance (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path, help="output of an earlier run: try only what survived then")
    parser.add_argument("--at-once", type=int, default=os.cpu_count() or 1, help="mutants (default: one per processor)")
    parser.add_argument("--least", type=float, default=95.0, help="percent that must be killed")
    options = parser.parse_args(arguments)
    tests = options.tests or list(dict.fromkeys(map(own_tests, options.packages)))
    found, known = [mutant for package in options.packages for mutant in mutants_in(package)], equivalent()
    chosen = [mutant for mutant in found if not mutant.structural and str(mutant) not in known]
    harmless = len(found) - len(chosen)
    if options.again:
        survived = {line.removeprefix(SURVIVED) for line in options.again.read_text().splitlines()}
        chosen = [mutant for mutant in chosen if str(mutant) in survived]
    elif options.sample and options.sample < len(chosen):
        chosen = sorted(random.Random(options.seed).sample(chosen, options.sample), key=str)
    killed = len(chosen) - len(survivors(chosen, tests, options.at_once))
    rate = 100 * killed / max(1, len(chosen))
    counted = f"{killed} of {len(chosen)} mutants killed ({rate:.0f} %)"
    _say(f"{' '.join(options.packages)}: {counted}; {len(found)} in all, {harmless} of them equivalent")
    return 0 if rate >= options.least else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
