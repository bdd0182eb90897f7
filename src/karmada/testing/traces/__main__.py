"""Command line of the trace runner: `python -m karmada.testing.traces [FOLDER] [--only NAME ...] [--out DIR]`.

FOLDER holds scenarios with recorded traces, or is one. Scenarios of areas that are not built yet are named and left
out. Exit status: 0 no unexplained difference, 1 some, 2 nothing could be run.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from karmada.testing.traces.comparing import Verdict, judge
from karmada.testing.traces.explanations import EXPLANATIONS
from karmada.testing.traces.running import Tool, World, engine, federation
from karmada.testing.traces.scenarios import NOT_YET, Scenario, by_setting, find

DEFAULT = Path("../shared/golden/traces")
TOOL = Path("tools/karmada_trace.py")
"""Beside the folder `golden` of the shared material."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m karmada.testing.traces", description="Run recorded scenarios.")
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT, help="of scenarios, or of one scenario")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="run only these scenarios")
    parser.add_argument("--out", type=Path, help="keep the traces and logs here")
    parser.add_argument("--parallel", type=int, default=3, help="scenarios at a time (default: %(default)s)")
    parser.add_argument("--engine", action="store_true", help="on a stock kube-apiserver and etcd, which Go builds")
    options = parser.parse_args(arguments)
    tool = _tool(options.folder.absolute())
    chosen = [s for s in find(options.folder) if not options.only or s.name in options.only]
    if tool is None or not chosen:
        missing = "scenarios" if tool else TOOL
        sys.stderr.write(f"no {missing} at or beside {options.folder}: the shared material is absent\n")
        return 2
    ready = [scenario for scenario in chosen if scenario.area not in NOT_YET]
    with tempfile.TemporaryDirectory(prefix="karmada-traces-") as temporary:
        out = options.out or Path(temporary)
        verdict = asyncio.run(run(tool, ready, out, options.parallel, engine if options.engine else federation))
    for scenario in chosen:
        if scenario.area in NOT_YET:
            _say(f"not yet supported: {scenario.name}")
    show(verdict)
    return 1 if verdict.unexplained else 0


def show(verdict: Verdict) -> None:
    for scenario, differences in verdict.unexplained.items():
        _say(f"DIFFERENT {scenario}: {len(differences)}")
        for difference in differences:
            _say(difference)
    for reason, count in sorted(verdict.explained.items()):
        _say(f"explained: {count}: {reason}")
    left = sum(map(len, verdict.unexplained.values()))
    _say(f"{len(verdict.same)} scenarios the same, {len(verdict.unexplained)} different ({left} differences)")


async def run(tool: Tool, scenarios: list[Scenario], out: Path, parallel: int, world: World = federation) -> Verdict:
    """Run scenarios, one federation per profile and way of joining, and judge what was seen."""
    traces = out / "traces"
    for (profile, pull), group in by_setting(scenarios).items():
        async with world(out / "-".join(("federation", profile, *pull)), profile, pull) as layout:
            await tool.run(layout, group, traces, parallel)
    verdict = Verdict()
    for scenario in scenarios:
        output = await tool.compare(scenario.folder, traces / scenario.name)
        found = judge(output, EXPLANATIONS, scenario.name)
        verdict.same += found.same
        verdict.unexplained |= found.unexplained
        verdict.explained += found.explained
    return verdict


def _say(line: object) -> None:
    sys.stdout.write(f"{line}\n")


def _tool(folder: Path) -> Tool | None:
    found = (parent / TOOL for parent in folder.parents)
    return next((Tool(path) for path in found if path.exists()), None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
