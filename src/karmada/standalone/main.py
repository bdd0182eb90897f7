"""The `karmada` command: a whole federation on one machine."""

import argparse
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from karmada import __version__
from karmada.machinery.flags import directory, port, seconds
from karmada.standalone.layout import BACKUPS, default_directory

EXAMPLES = """
examples:
  karmada up                          three simulated members, state kept in ~/.karmada
  karmada up --members 5 --memory     five members, nothing kept
  karmada up --fleet fleet.yaml       members as a file describes them
  export KUBECONFIG=$(karmada kubeconfig); kubectl get clusters
  karmada demo                        up, an nginx in three clusters, a short tour
"""

_EXAMPLES = {
    "up": ("up --members 5 --memory", "up --fleet fleet.yaml --data ./federation --detach"),
    "demo": ("demo", "demo --members 5"),
    "down": ("down",),
    "kubeconfig": ("kubeconfig",),
    "recover": ("recover",),
    "gateway": ("gateway",),
    "dashboard-token": ("dashboard-token --link",),
    "status": ("status", "status -o json"),
    "version": ("version --check",),
    "completion": ("completion bash",),
    "logs": ("logs control-plane --lines 100", "logs -f"),
    "backup": ("backup monday.tar.gz --verify",),
    "restore": ("restore monday.tar.gz --data ./copy --new-ports",),
    "monitoring": ("monitoring ./monitoring",),
}
"""How each command is used, as its help shows."""
DELEGATED = {
    "sim": "break and mend simulated members",
    "manifests": "print manifests that install a control plane into a host cluster",
    "service": "run the federation as a service of systemd: install, uninstall, status",
    "simulate-workloads": "bring an API server to life that has no controllers of its own",
}
"""Commands with a grammar of their own."""
_MODULES = {
    **dict.fromkeys(("gateway", "kubeconfig", "logs", "monitoring", "version"), "files"),
    **dict.fromkeys(("dashboard-token", "status"), "inspection"),
}
"""The module of a command, where it is not `up`: a command loads only what it needs."""


def parser() -> argparse.ArgumentParser:
    """All commands and their flags."""
    root = argparse.ArgumentParser(
        prog="karmada", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root.add_argument("--version", action="version", version=f"karmada {__version__}")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    up = _command(commands, "up", "start a federation and stay until Ctrl-C")
    _data(up)
    _federation(up)
    up.add_argument("--backup-every", type=_interval, metavar="DURATION", help="make a verified backup that often")
    up.add_argument("--backup-keep", type=_count, metavar="N", help=f"the newest (default: {BACKUPS})")
    up.add_argument(
        "--backup-to", type=directory, metavar="DIR", help="where, best on another disk (default: DATA/backups)"
    )
    up.add_argument("--detach", action="store_true", help="return when everything is ready, leave it running")
    demo = _command(commands, "demo", "start a federation, run nginx in it, look around")
    demo.add_argument("--data", type=directory, metavar="DIR", help="keep everything there (default: nothing is kept)")
    _federation(demo)
    for name, text in (
        ("down", "stop the running federation"),
        ("kubeconfig", "print the path of the federation's kubeconfig"),
        ("recover", "accept the loss of acknowledged writes, so that the federation can be written again"),
        ("gateway", "print the address at which MultiClusterIngresses are served"),
    ):
        _data(_command(commands, name, text))
    token = _command(
        commands, "dashboard-token", "print a code that signs in to the dashboard, once, within five minutes"
    )
    token.add_argument("--link", action="store_true", help="print the address that signs in instead")
    _data(token)
    status = _command(commands, "status", "say what runs, and how the members are")
    _data(status)
    _output(status)
    version = _command(commands, "version", "print the version")
    version.add_argument("--check", action="store_true", help="ask whether all components' versions fit together")
    version.add_argument("--kubeconfig", type=Path, metavar="FILE", help="of another control plane to check")
    _data(version)
    _output(version)
    completion = _command(commands, "completion", "print the completion script of a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    logs = _command(commands, "logs", "print what the processes say")
    logs.add_argument("part", nargs="?", default="", help="control-plane, members, agent-NAME, ...; all when absent")
    logs.add_argument(
        "--lines", type=_lines, default=50, metavar="N", help="from the end of each (default: %(default)s)"
    )
    logs.add_argument("-f", "--follow", action="store_true", help="go on with what comes, until Ctrl-C")
    _data(logs)
    backup = _command(commands, "backup", "save a federation, running or not, to one file")
    backup.add_argument("file", type=Path, metavar="FILE", help="the backup to write, a .tar.gz; it will hold keys")
    backup.add_argument("--verify", action="store_true", help="restore it into a scratch directory and read it all")
    backup.add_argument("--plain", action="store_true", help="in the format that earlier versions can restore too")
    _data(backup)
    restore = _command(commands, "restore", "make a federation from a backup")
    restore.add_argument("file", type=Path, metavar="FILE", help="a backup")
    restore.add_argument(
        "--control-plane-only", action="store_true", help="leave the members that are there as they are"
    )
    restore.add_argument("--new-ports", action="store_true", help="serve elsewhere: the original may go on running")
    _data(restore)
    monitoring = _command(commands, "monitoring", "write alert rules, Grafana boards and a Prometheus configuration")
    monitoring.add_argument("folder", type=directory, metavar="DIR", help="where the files go; it will hold a key")
    monitoring.add_argument(
        "--scrape-interval", type=_scrape_interval, default="15s", metavar="DURATION", help="(default: %(default)s)"
    )
    _data(monitoring)
    for name, text in DELEGATED.items():
        commands.add_parser(name, help=text, add_help=False)
    return root


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given[:1] == ["__complete"]:
        from karmada.standalone.completing import candidates

        print("\n".join(candidates(parser(), given[1:])))
        return 0
    if given and given[0] in DELEGATED:
        return _delegate(given[0], given[1:])
    flags, rest = parsed(given)
    if flags.command in ("up", "demo"):
        return _start(flags, rest, given)
    if rest:
        parser().error(f"unrecognized arguments: {' '.join(rest)}")
    if flags.command == "completion":
        from karmada.standalone.completing import script

        print(script(flags.shell), end="")
        return 0
    module = import_module(f"karmada.standalone.{_MODULES.get(flags.command, 'up')}")
    return int(getattr(module, flags.command.replace("-", "_"))(flags))


def parsed(given: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """A command, and what it does not know: of `up` and `demo` that is the control plane's, which is asked."""
    known = parser()
    flags, rest = known.parse_known_args(given)
    if getattr(flags, "data", None) is not None:
        flags.data = flags.data.absolute()
    if flags.command == "up":
        _check_backups(known, flags)
    if rest and flags.command in ("up", "demo"):
        from karmada.standalone.completing import candidates
        from karmada.standalone.control_plane_main import parser as control_flags

        passed_on = control_flags()
        passed_on.prog, passed_on.usage = f"karmada {flags.command}", f"karmada {flags.command} [flags]"
        passed_on.further = candidates(known, [flags.command, "--"])
        passed_on.parse(["--data", str(flags.data), *rest])
    return flags, rest


def _check_backups(known: argparse.ArgumentParser, flags: argparse.Namespace) -> None:
    """Refuse to start without the backups that somebody counts on."""
    if flags.backup_every is None:
        if flags.backup_to is not None or flags.backup_keep is not None:
            known.error("--backup-to and --backup-keep make no backups by themselves: add --backup-every=1h")
    elif flags.memory:
        known.error("--backup-every saves what is on disk, and --memory keeps nothing there: leave one of them out")


def _start(flags: argparse.Namespace, rest: list[str], given: list[str]) -> int:
    """`up` and `demo`."""
    flags.rest, flags.given = rest, given
    if flags.command == "demo":
        from karmada.standalone.demo import demo

        return demo(flags)
    from karmada.standalone.up import up

    return up(flags)


def _delegate(command: str, argv: list[str]) -> int:
    if command == "sim":
        from karmada.simulator.command import sim

        return sim(argv)
    if command == "manifests":
        from karmada.cli.manifests import main as manifests

        return manifests(argv)
    if command == "service":
        from karmada.standalone.service import service

        return service(argv)
    from karmada.simulator.workloads.command import simulate_workloads

    return simulate_workloads(argv)


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, text: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog="\n".join(("examples:", *(f"  karmada {example}" for example in _EXAMPLES[name]))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _data(flags: argparse.ArgumentParser) -> None:
    flags.add_argument(
        "--data",
        type=directory,
        default=default_directory(),
        metavar="DIR",
        help="where state, keys and logs are kept (default: %(default)s)",
    )


def _interval(text: str) -> float:
    wish = seconds(text)
    if wish < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is too short: write 1s or more, such as 1h")
    return wish


def _scrape_interval(text: str) -> str:
    """A duration as Prometheus reads it: units from the largest to the smallest, without fractions."""
    if not re.fullmatch(r"(\d+h)?(\d+m)?(\d+s)?(\d+ms)?", text, re.ASCII) or not seconds(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no interval of Prometheus: write one such as 15s or 1m30s")
    return text


def _lines(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of lines: write 0 or more")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def _output(flags: argparse.ArgumentParser) -> None:
    flags.add_argument("-o", "--output", choices=("text", "json"), default="text", help="(default: %(default)s)")


def _federation(flags: argparse.ArgumentParser) -> None:
    """What it is made of."""
    flags.add_argument("--members", type=_count, metavar="N", help="simulated members (default: as before, or 3)")
    flags.add_argument("--fleet", type=Path, metavar="FILE", help="members as described in a file")
    flags.add_argument("--pull", action="append", default=[], metavar="MEMBER", help="joins by an agent of its own")
    flags.add_argument(
        "--report-secrets",
        default="None",
        metavar="SECRETS",
        help="credentials of members that agents report: KubeCredentials,KubeImpersonator (default: %(default)s)",
    )
    flags.add_argument("--port", type=port, default=0, metavar="P", help="of the control plane (default: any free one)")
    flags.add_argument("--gateway-port", type=port, metavar="P", help="run karmada-gateway there (0: any free port)")
    flags.add_argument("--memory", action="store_true", help="keep nothing on disk but keys and logs")
    further = "Further flags go to the control plane: --feature-gates, --controllers, --cluster-failure-threshold ..."
    flags.epilog = f"{further}\n\n{flags.epilog}"


if __name__ == "__main__":
    sys.exit(main())
