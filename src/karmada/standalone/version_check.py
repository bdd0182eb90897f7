"""`karmada version --check`: whether the versions of all components may work together."""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import NamedTuple

from karmada.api import annotations, version_skew
from karmada.api.names import CLUSTER_NAMESPACE, SYSTEM_NAMESPACE
from karmada.api.version import VERSION
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.http.kubeconfig import KubeconfigError, load
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.leader import LEASES
from karmada.machinery.os_errors import spelled
from karmada.machinery.resource import Scope
from karmada.standalone.federation import CONTEXT
from karmada.standalone.layout import Layout

HUB = "control plane"


class Component(NamedTuple):
    """One that runs or ran, and what is wrong with its version."""

    name: str
    version: str
    problem: str


def check(flags: argparse.Namespace) -> int:
    """Print all components; 1 if some may not work together."""
    file: Path = flags.kubeconfig or Layout(flags.data).kubeconfig
    try:
        target = load([file]).target("" if flags.kubeconfig else CONTEXT)
        found = asyncio.run(_ask(Client(HttpTransport(target))))
    except (ApiError, KubeconfigError, OSError) as error:
        print(f"error: the control plane cannot be asked: {spelled(error)}", file=sys.stderr)
        return 1
    if flags.output == "json":
        print(json.dumps({"components": [component._asdict() for component in found]}, indent=2))
    else:
        for component in found:
            print(f"{component.name:<40} {component.version or '?':<12} {component.problem or 'ok'}")
    return int(any(component.problem for component in found))


async def _ask(client: Client) -> list[Component]:
    try:
        try:
            hub = str(json.loads(await client.transport.raw("GET", "/configuration")).get("version", ""))
        except NotFound:  # a kube-apiserver: its components go by this program
            hub = VERSION
        leases = (await client.resource(LEASES).list(Scope())).items
    finally:
        await client.close()
    return components(hub, leases)


def components(hub: str, leases: list[dict[str, object]]) -> list[Component]:
    """This program, the control plane, and all who keep a lease there."""
    found = [Component("this program", VERSION, version_skew.problem(hub, VERSION)), Component(HUB, hub, _unknown(hub))]
    for lease in leases:
        metadata = lease["metadata"]
        assert isinstance(metadata, dict)
        name, space = metadata["name"], metadata["namespace"]
        version = (metadata.get("annotations") or {}).get(annotations.COMPONENT_VERSION, "")
        if space == CLUSTER_NAMESPACE:
            found.append(Component(f"agent of {name}", version, version_skew.problem(hub, version)))
        elif space == SYSTEM_NAMESPACE and name.startswith("karmada-"):
            found.append(Component(name, version, version_skew.problem(hub, version)))
    return found


def _unknown(hub: str) -> str:
    return "" if hub else "does not say its version: it is older than any that is supported"
