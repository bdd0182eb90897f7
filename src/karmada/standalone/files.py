"""`karmada kubeconfig`, `gateway`, `logs`, `monitoring` and `version`: what a federation left on disk, running or not.

Nothing of a control plane is loaded for them, because scripts call them often."""

import argparse
import contextlib
import json
import sys
import time
from pathlib import Path

from karmada.standalone.layout import Layout, LayoutError
from karmada.standalone.logfile import tail_and_size

PAUSE = 0.2
"""Seconds between two looks at a log that is followed."""


def kubeconfig(flags: argparse.Namespace) -> int:
    """Print where the federation's kubeconfig is."""
    print(Layout(flags.data).kubeconfig)
    return 0


def gateway(flags: argparse.Namespace) -> int:
    """Print where the gateway serves."""
    layout = Layout(flags.data)
    try:
        print(layout.gateway.read_text(), end="")
    except OSError:
        wanted = f"start one with `{layout.command('up --gateway-port 0')}`"
        print(f"error: no gateway runs in {flags.data}: {wanted}", file=sys.stderr)
        return 1
    return 0


def monitoring(flags: argparse.Namespace) -> int:
    """Write what Prometheus and Grafana need."""
    from karmada.standalone.monitoring.files import write

    try:
        written = write(Layout(flags.data), flags.folder, flags.scrape_interval)
    except LayoutError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for path in written:
        print(path)
    if flags.folder / "prometheus.yml" not in written:
        print(f"no federation in {flags.data}: no Prometheus configuration was written", file=sys.stderr)
    return 0


def logs(flags: argparse.Namespace) -> int:
    """Print the end of the processes' logs, and with `--follow` what comes."""
    found = sorted((flags.data / "logs").glob("*.log"))
    chosen = [log for log in found if flags.part in ("", log.stem)]
    if not found:
        start = Layout(flags.data).command("up")
        print(f"error: there are no logs in {flags.data}: nothing was started there; `{start}` does", file=sys.stderr)
        return 1
    if not chosen:
        known = ", ".join(log.stem for log in found)
        print(f"error: there is no log {flags.part!r} in {flags.data}; there are: {known}", file=sys.stderr)
        return 1
    read: dict[Path, int] = {}
    for log in chosen:
        if len(chosen) > 1:
            print(f"==> {log.stem} <==")
        tail, read[log] = tail_and_size(log, flags.lines)
        if tail:
            print(tail)
    if flags.follow:
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            _follow(read)
    return 0


def _follow(read: dict[Path, int]) -> None:
    """Print what is added after the bytes read; a log that was begun anew is read from its beginning."""
    last = list(read)[-1]
    while True:
        for log in read:
            size = log.stat().st_size if log.exists() else 0
            if size < read[log]:
                read[log] = 0
            if size > read[log]:
                if log != last:
                    print(f"==> {log.stem} <==")
                with log.open(errors="replace") as file:
                    file.seek(read[log])
                    sys.stdout.write(file.read())
                    read[log] = file.tell()
                sys.stdout.flush()
                last = log
        time.sleep(PAUSE)


def version(flags: argparse.Namespace) -> int:
    """Print the version of this program, or check those of all components."""
    if flags.check:
        from karmada.standalone.version_check import check

        return check(flags)
    from karmada import __version__

    print(json.dumps({"version": __version__}) if flags.output == "json" else f"karmada {__version__}")
    return 0
