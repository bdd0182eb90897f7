"""The `karmada` command: a whole federation on one machine."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from karmada import __version__
from karmada.standalone.layout import default_directory

EXAMPLES = """
examples:
  karmada up                          three simulated members, state kept in ~/.karmada
  karmada up --members 5 --memory     five members, nothing kept
  karmada up --fleet fleet.yaml       members as a file describes them
  export KUBECONFIG=$(karmada kubeconfig); kubectl get clusters
  karmada demo                        up, an nginx in three clusters, a short tour
"""


def parser() -> argparse.ArgumentParser:
    """All commands and their flags."""
    root = argparse.ArgumentParser(
        prog="karmada", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root.add_argument("--version", action="version", version=f"karmada {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _up(commands.add_parser("up", help="start a federation and stay until Ctrl-C"))
    _up(commands.add_parser("demo", help="start a federation, run nginx in it, look around"))
    for name, text in (
        ("down", "stop the running federation"),
        ("status", "say what runs, and how the members are"),
        ("kubeconfig", "print the path of the federation's kubeconfig"),
    ):
        _data(commands.add_parser(name, help=text))
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    flags, rest = parser().parse_known_args(sys.argv[1:] if argv is None else argv)
    if rest and flags.command not in ("up", "demo"):
        parser().error(f"unrecognized arguments: {' '.join(rest)}")
    flags.rest = rest
    match flags.command:
        case "up":
            from karmada.standalone.up import up

            return up(flags)
        case "demo":
            from karmada.standalone.demo import demo

            return demo(flags)
        case "down":
            from karmada.standalone.up import down

            return down(flags)
        case "status":
            from karmada.standalone.up import status

            return status(flags)
        case _:
            from karmada.standalone.layout import Layout

            print(Layout(flags.data).kubeconfig)
            return 0


def _data(flags: argparse.ArgumentParser) -> None:
    flags.add_argument(
        "--data",
        type=Path,
        default=default_directory(),
        metavar="DIR",
        help="where state, keys and logs are kept (default: %(default)s)",
    )


def _up(flags: argparse.ArgumentParser) -> None:
    _data(flags)
    flags.add_argument("--members", type=int, default=3, metavar="N", help="simulated members (default: %(default)s)")
    flags.add_argument("--fleet", type=Path, metavar="FILE", help="members as described in a file")
    flags.add_argument("--port", type=int, default=0, metavar="P", help="of the control plane (default: any free one)")
    flags.add_argument("--memory", action="store_true", help="keep nothing on disk but keys and logs")
    flags.add_argument("--detach", action="store_true", help="return when everything is ready, leave it running")
    flags.epilog = (
        "Further flags go to the control plane: --feature-gates, --controllers, --cluster-failure-threshold ..."
    )


if __name__ == "__main__":
    sys.exit(main())
