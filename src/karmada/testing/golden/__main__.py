"""Command line of the golden runner: `python -m karmada.testing.golden [PATH] [--case ID]`.

PATH is the root of the recorded cases, a topic folder or one file. Ends with `N passed, M failed` and the ids of the
failing cases. Exit status: 0 all passed, 1 some failed, 2 nothing could be run.
"""

import argparse
import sys
from pathlib import Path

from karmada.testing.golden import kube
from karmada.testing.golden.run import CaseFileError, Report, run
from karmada.testing.golden.topics import NOT_YET, TOPICS

DEFAULT = Path("../shared/golden")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m karmada.testing.golden", description="Run recorded cases.")
    parser.add_argument("path", nargs="?", type=Path, default=DEFAULT, help="root, topic folder or file")
    parser.add_argument("--case", default="", metavar="ID", help="run only the cases with this id")
    options = parser.parse_args(arguments)
    if not options.path.exists():
        print(f"no recorded cases at {options.path}", file=sys.stderr)
        return 2
    try:
        folder = options.path if options.path.name == kube.NAME else options.path / kube.NAME
        has_kube = not options.case and folder.is_dir() and kube.tool(folder).is_file()
        report = run(options.path, TOPICS, options.case, (*NOT_YET, kube.NAME) if has_kube else NOT_YET)
        if has_kube:
            report.unsupported.pop(kube.NAME, None)
            kube.run_kube(folder, report)
    except CaseFileError as error:
        print(error, file=sys.stderr)
        return 2
    show(report)
    if not report.has_run:
        return 2
    return 1 if report.failures else 0


def show(report: Report) -> None:
    for failure in report.failures:
        print(f"FAILED {failure.id}: {failure.reason}")
    for name, count in sorted(report.unsupported.items()):
        print(f"not yet supported: {name}" + (f" ({count} cases)" if count else ""))
    for (name, reason), count in sorted(report.excused.items()):
        print(f"excused: {count} in {name}: {reason}")
    if report.crashed:
        print(f"left out: {report.crashed} on which the reference crashed")
    print(f"{report.passed} passed, {len(report.failures)} failed")
    for failure in report.failures:
        print(failure.id)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
