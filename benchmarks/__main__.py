"""Run the benchmarks named on the command line (all by default), print a table, write bench.json.

`side_by_side` compares two trees, has flags of its own, and is no part of all. With `--against-reference` those named
measure the prepared reference in that folder too, in the same run, and print shares of its figures.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

from benchmarks import side_by_side
from benchmarks.result import Result

MODULES = [
    "api",
    "storage",
    "apply",
    "http",
    "gateway",
    "apiserver",
    "stock",
    "machinery",
    "interpreter",
    "scheduler",
    "membership",
    "simulator",
    "standalone",
    "dashboard",
    "propagation",
    "churn",
    "scale",
    "overload",
    "failover",
    "autoscaling",
    "services",
    "search",
    "restart",
    "fleet",
    "large_members",
    "cli",
    "engine",
    "sharding",
    "sizing",
]
COMPARED = {"failover": "failover", "autoscaling": "autoscaling_beside", "search": "search_beside"}
"""Which of them know a reference, and where."""


def main(given: list[str]) -> int:
    """Run each module's `run()`; exit 1 when a target is missed."""
    if given[:1] == ["side_by_side"]:
        return side_by_side.main(given[1:])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODULES)}")
    parser.add_argument(
        "--against-reference", metavar="FOLDER", type=Path, help=f"prepared, beside {', '.join(COMPARED)}"
    )
    flags = parser.parse_args(given)
    names, reference = flags.names, flags.against_reference
    if reference and (alone := [name for name in names or MODULES if name not in COMPARED]):
        parser.error(f"--against-reference: {alone[0]} is not measured beside a reference; {', '.join(COMPARED)} are")
    if unknown := [name for name in names if name not in MODULES]:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(MODULES)}")
    results: list[Result] = []
    for name in names or MODULES:
        print(f"# {name}", flush=True)
        module = importlib.import_module(f"benchmarks.{COMPARED[name] if reference else name}")
        for result in module.beside(reference.resolve()) if reference else module.run():
            results.append(result)
            print(_line(result), flush=True)
    rows = [{"name": r.name, "value": r.value, "unit": r.unit, "target": r.target, "ok": r.ok} for r in results]
    Path("bench.json").write_text(json.dumps(rows, indent=1) + "\n")
    missed = [r for r in results if r.ok is False]
    print(f"{len(results)} figures, {len(missed)} targets missed")
    return 1 if missed else 0


def _line(result: Result) -> str:
    sign = "≥" if result.higher_is_better else "≤"
    target = "" if result.target is None else f"  {sign} {result.target:g}  {'ok' if result.ok else 'MISSED'}"
    return f"  {result.name:<60} {result.value:>12.3f} {result.unit}{target}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
