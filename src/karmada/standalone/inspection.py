"""`karmada status` and `dashboard-token`: ask a running control plane."""

import argparse
import asyncio
import contextlib
import json
import sys
from typing import Any

from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.os_errors import spelled
from karmada.membership.objects import CLUSTERS
from karmada.standalone.federation import CONTEXT, Federation, FederationOptions
from karmada.standalone.layout import Layout

READ_ONLY = "read-only: "
"""How a line begins that says why nothing can be written."""
STATES = {True: "ready", False: "NOT READY", None: "not started"}


def status(flags: argparse.Namespace) -> int:
    """Say what runs, and how the members are."""
    layout = Layout(flags.data)
    pid = layout.supervisor()
    if pid is None:
        print(f"nothing runs in {layout.root}: start it with `{layout.command('up')}`")
        return 1
    try:
        read_only, clusters = asyncio.run(_state(layout))
    except (ApiError, OSError, ValueError) as error:
        print(f"running (process {pid}), state in {layout.root}")
        reason = f"the control plane does not answer, it is starting or restarting: {spelled(error)}"
        print(f"error: {reason} (see `{layout.command('logs control-plane')}`)", file=sys.stderr)
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


def dashboard_token(flags: argparse.Namespace) -> int:
    """Print a one-time code for the dashboard, or the link that holds it."""
    layout = Layout(flags.data)
    if layout.supervisor() is None:
        print(f"error: nothing runs in {layout.root}: start it with `{layout.command('up')}`", file=sys.stderr)
        return 1
    try:
        code, link = asyncio.run(dashboard_link(Federation(FederationOptions(layout), lambda step: None)))
    except NotFound:
        print(
            "error: the control plane serves no dashboard: start it without --enable-dashboard=false", file=sys.stderr
        )
        return 1
    except (ApiError, OSError, ValueError) as error:
        print(f"error: the control plane does not answer: {spelled(error)}", file=sys.stderr)
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
