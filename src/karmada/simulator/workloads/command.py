"""`karmada simulate-workloads`: bring an API server to life that has no controllers, scheduler and kubelets of its own.

Works against any conformant API server that a kubeconfig leads to; `--nodes` registers simulated nodes first, `--fleet`
with `--member` those of a member of a fleet, whose workloads then behave as the fleet says.
"""

import argparse
import logging
import sys
from collections.abc import Sequence

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.errors import AlreadyExists
from karmada.machinery.os_errors import spelled
from karmada.machinery.process import run
from karmada.machinery.supervisor import Supervisor
from karmada.simulator.behaviour import Behaviour
from karmada.simulator.nodes import nodes_of
from karmada.simulator.spec import MemberSpec, NodePool, load
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.garbage import Collector
from karmada.simulator.workloads.housekeeping import NamespaceKeeper
from karmada.simulator.workloads.kinds import NODES
from karmada.simulator.workloads.start import start

WORKERS = 8
"""Of each controller: over the network, requests overlap."""


def parser() -> argparse.ArgumentParser:
    """The flags of the command."""
    flags = argparse.ArgumentParser(prog="karmada simulate-workloads", description=__doc__)
    flags.add_argument("--kubeconfig", default="", help="which API server; the usual places when not given")
    flags.add_argument("--context", default="")
    flags.add_argument("--nodes", type=int, default=0, help="register this many simulated nodes")
    flags.add_argument("--cpu", default="8", help="of each of them")
    flags.add_argument("--memory", default="32Gi")
    flags.add_argument("--pods", type=int, default=110)
    flags.add_argument("--fleet", default="", help="a fleet file, or the name of one that is shipped; with --member")
    flags.add_argument("--member", default="", help="nodes and behaviour are those of this member of the fleet")
    flags.add_argument("--ready-seconds", type=float, default=0.0, help="how long containers take to become ready")
    flags.add_argument(
        "--housekeeping",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="also do what a controller manager does besides workloads: accounts, garbage, namespaces",
    )
    return flags


def simulate_workloads(argv: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; the exit status."""
    from karmada.machinery.http.kubeconfig import find_target
    from karmada.machinery.http.transport import HttpTransport

    flags = parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        target = find_target(flags.kubeconfig, flags.context)
        spec = described(flags)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {spelled(error)}\n")
        return 1

    async def work() -> None:
        client = Client(HttpTransport(target), field_manager="simulate-workloads")
        try:
            await register(client, spec)
            async with Supervisor() as supervisor:
                behaviour = Behaviour(spec.images, spec.ready_seconds, spec.job_seconds)
                behaviour.pod_address = spec.pod_address
                workloads = Workloads(client, supervisor, behaviour, workers=WORKERS)
                start(workloads)
                if flags.housekeeping:
                    NamespaceKeeper(workloads)
                    Collector(workloads)
                sys.stdout.write("ready\n")
                sys.stdout.flush()
                await supervisor.wait()
        finally:
            await client.close()

    return run(work)


def described(flags: argparse.Namespace) -> MemberSpec:
    """What the flags ask for."""
    if not flags.fleet:
        pool = NodePool(count=flags.nodes, cpu=flags.cpu, memory=flags.memory, pods=flags.pods)
        return MemberSpec("simulated", node_pools=(pool,), ready_seconds=flags.ready_seconds)
    members = {spec.name: spec for spec in load(flags.fleet).each()}
    if flags.member not in members:
        raise ValueError(f"--member: the fleet {flags.fleet} has no {flags.member!r}; there are {', '.join(members)}")
    return members[flags.member]


async def register(client: Client, spec: MemberSpec) -> None:
    """Make the nodes that are asked for."""
    for node in nodes_of(spec, REAL.now()):
        try:
            await client.resource(NODES).create(node)
        except AlreadyExists:
            continue
