"""`karmada status`, `logs`, `kubeconfig` and `version`: look at a federation without changing it."""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.http.kubeconfig import load
from karmada.standalone.federation import CLUSTERS, CONTEXT, Federation, FederationOptions
from karmada.standalone.layout import Layout, LayoutError
from karmada.standalone.logfile import tail_and_size

READ_ONLY = "read-only: "
"""How a line begins that says why nothing can be written."""
PAUSE = 0.2
"""Seconds between two looks at a log that is followed."""
STATES = {True: "ready", False: "NOT READY", None: "not started"}


def status(flags: argparse.Namespace) -> int:
    """Say what runs, and how the members are."""
    layout = Layout(flags.data)
    pid = layout.supervisor()
    if pid is None:
        print(f"nothing runs in {layout.root}: start it with `karmada up`")
        return 1
    try:
        read_only, clusters = asyncio.run(_state(layout))
    except (ApiError, OSError, ValueError) as error:
        print(f"running (process {pid}), state in {layout.root}")
        reason = f"the control plane does not answer, it is starting or restarting: {error}"
        print(f"error: {reason} (see `karmada logs control-plane`)", file=sys.stderr)
        return 1
    if flags.output == "json":
        members = [{"name": name, "state": STATES[ready], "version": version} for name, ready, version in clusters]
        shown = {"process": pid, "state": str(layout.root), "readOnly": read_only, "members": members}
        print(json.dumps(shown, indent=2))
        return 0
    print(f"running (process {pid}), state in {layout.root}")
    if read_only:
        print(f"{READ_ONLY}{read_only}")
    for name, ready, version in clusters:
        print(f"  {name:<20} {STATES[ready]:<12} {version}".rstrip())
    return 0


def kubeconfig(flags: argparse.Namespace) -> int:
    """Print where the federation's kubeconfig is."""
    print(Layout(flags.data).kubeconfig)
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


def gateway(flags: argparse.Namespace) -> int:
    """Print where the gateway serves."""
    try:
        print(Layout(flags.data).gateway.read_text(), end="")
    except OSError:
        wanted = "start one with `karmada up --gateway-port 0`"
        print(f"error: no gateway runs in {flags.data}: {wanted}", file=sys.stderr)
        return 1
    return 0


def dashboard_token(flags: argparse.Namespace) -> int:
    """Print a one-time code for the dashboard, or the link that holds it."""
    layout = Layout(flags.data)
    if layout.supervisor() is None:
        print(f"error: nothing runs in {layout.root}: start it with `karmada up`", file=sys.stderr)
        return 1
    try:
        code, link = asyncio.run(dashboard_link(Federation(FederationOptions(layout), lambda step: None)))
    except NotFound:
        print(
            "error: the control plane serves no dashboard: start it without --enable-dashboard=false", file=sys.stderr
        )
        return 1
    except (ApiError, OSError, ValueError) as error:
        print(f"error: the control plane does not answer: {error}", file=sys.stderr)
        return 1
    print(link if flags.link else code)
    return 0


async def dashboard_link(federation: Federation) -> tuple[str, str]:
    """A one-time code for the administrator, and the link that holds it; raises `NotFound` without a dashboard."""
    server = load([federation.options.layout.kubeconfig]).target(CONTEXT).server
    hub = federation.client(CONTEXT)
    try:
        made = json.loads(await hub.transport.raw("POST", "/dashboard/api/link", b"{}"))
    finally:
        with contextlib.suppress(Exception):
            await hub.close()
    return made["code"], f"{server}{made['path']}"


def version(flags: argparse.Namespace) -> int:
    """Print the version of this program, or check those of all components."""
    if flags.check:
        from karmada.standalone.skews import check

        return check(flags)
    from karmada import __version__

    print(json.dumps({"version": __version__}) if flags.output == "json" else f"karmada {__version__}")
    return 0


def logs(flags: argparse.Namespace) -> int:
    """Print the end of the processes' logs, and with `--follow` what comes."""
    found = sorted((flags.data / "logs").glob("*.log"))
    chosen = [log for log in found if flags.part in ("", log.stem)]
    if not chosen:
        known = ", ".join(log.stem for log in found) or "none yet"
        print(f"error: there is no log {flags.part!r} in {flags.data}; there are: {known}", file=sys.stderr)
        return 1
    read: dict[Path, int] = {}
    for log in chosen:
        if len(chosen) > 1:
            print(f"==> {log.stem} <==")
        tail, read[log] = tail_and_size(log, flags.lines)
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


async def _state(layout: Layout) -> tuple[str, list[tuple[str, bool | None, str]]]:
    """Why nothing can be written, if so; name, whether it is ready (None: its process was not started) and version of
    every cluster."""
    federation = Federation(FederationOptions(layout), lambda step: None)
    hub = federation.client(CONTEXT)
    try:
        configuration = json.loads(await hub.transport.raw("GET", "/configuration"))
        found: list[dict[str, Any]] = (await hub.resource(CLUSTERS).list()).items
    finally:
        with contextlib.suppress(Exception):
            await hub.close()
    idle = federation.idle(cluster["metadata"]["name"] for cluster in found)
    return configuration.get("readOnly", ""), [
        (
            cluster["metadata"]["name"],
            None if cluster["metadata"]["name"] in idle else _is_ready(cluster),
            cluster.get("status", {}).get("kubernetesVersion", ""),
        )
        for cluster in found
    ]


def _is_ready(cluster: dict[str, Any]) -> bool:
    conditions = cluster.get("status", {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)
