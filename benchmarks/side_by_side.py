"""Our tree beside another, in turns on the same machine: A B A B, the median of each figure and its spread.

    python -m benchmarks side_by_side --against HEAD~1
    python -m benchmarks side_by_side --against-reference <folder> [--engine]

`--against` takes a revision of this repository: it is checked out into a temporary git worktree, and its `src` is run
by the same load. `--against-reference` takes the prepared folder of a reference (`start.sh` and `down.sh` in it, see
`../shared/tools/reference`). With `--engine` our trees run as the reference does, on a stock kube-apiserver and etcd
with stock members; without, as `karmada up` with simulated ones. Machines change speed by the hour and by who else
works on them: the ratio of one run counts, and the counts do.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 900
"""Seconds for one run of one side."""
Figures = dict[str, float]
Run = Callable[[], Figures]


def main(given: Sequence[str]) -> int:
    """Measure both sides in turns and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks side_by_side", description=__doc__)
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument("--against", metavar="REVISION", help="of this repository")
    other.add_argument("--against-reference", metavar="FOLDER", type=Path, help="of a prepared reference")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=200, help="Deployments in a burst")
    parser.add_argument("--singles", type=int, default=20, help="Deployments one after another")
    parser.add_argument("--engine", action="store_true", help="our trees on a stock kube-apiserver and etcd")
    parser.add_argument("--json", type=Path, help="where to write all runs")
    flags = parser.parse_args(given)
    load = [f"--count={flags.count}", f"--singles={flags.singles}"]
    tree = [*load, "--engine"] if flags.engine else load
    with _other(flags, load, tree) as theirs:
        sides: dict[str, tuple[Run, list[Figures]]] = {
            flags.against or "reference": (theirs, []),
            "this tree": (partial(_measured, ROOT / "src", tree), []),
        }
        for round_ in range(flags.rounds):
            for name, (run, found) in sides.items():
                print(f"round {round_ + 1} of {flags.rounds}: {name}", file=sys.stderr, flush=True)
                found.append(run())
    runs = {name: found for name, (_, found) in sides.items()}
    print(table(runs))
    if flags.json:
        flags.json.write_text(json.dumps(runs, indent=1) + "\n")
    return 0


def table(runs: dict[str, list[Figures]]) -> str:
    """A row for each figure: both medians with their spread, and the second as a share of the first."""
    (first, ours), (second, theirs) = runs.items()
    rows = [["figure", first, second, "ratio"], ["---"] * 4]
    for name in ours[0]:
        a, b = [one[name] for one in ours], [one[name] for one in theirs]
        ratio = f"{median(b) / median(a):.2f}" if median(a) else "–"
        rows.append([name, _spread(a), _spread(b), ratio])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _spread(values: list[float]) -> str:
    return f"{median(values):.4g} ({min(values):.4g} to {max(values):.4g})"


@contextmanager
def _other(flags: argparse.Namespace, load: list[str], tree: list[str]) -> Iterator[Run]:
    if flags.against_reference:
        yield partial(_reference, flags.against_reference.resolve(), load)
        return
    with tempfile.TemporaryDirectory(prefix="karmada-against-") as folder:
        place = Path(folder) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(place), flags.against)
        try:
            yield partial(_measured, place / "src", tree)
        finally:
            _git("worktree", "remove", "--force", str(place))


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, stdout=subprocess.DEVNULL)


def _reference(folder: Path, load: list[str]) -> Figures:
    environment = {**os.environ, "ANCHORS": str(folder)}
    subprocess.run(["bash", str(folder / "start.sh")], check=True, env=environment, stdout=sys.stderr, timeout=LIMIT)
    try:
        return _measured(ROOT / "src", [*load, f"--reference={folder}"])
    finally:
        subprocess.run(["bash", str(folder / "down.sh")], check=True, env=environment, timeout=LIMIT)


def _measured(source: Path, arguments: list[str]) -> Figures:
    """One run by a process that has this source tree, whatever is installed."""
    command = [sys.executable, "-m", "benchmarks.one_side", *arguments]
    path = os.pathsep.join((str(source), str(ROOT)))
    answer = subprocess.run(
        command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, timeout=LIMIT
    )
    figures: Figures = json.loads(answer.stdout.splitlines()[-1])
    return figures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
