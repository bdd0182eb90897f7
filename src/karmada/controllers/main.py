"""karmada-controller-manager as a program."""

import logging
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace

from karmada.api import yaml
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.controllers.cluster_api import ClusterApiDetector
from karmada.controllers.composition import Recorders, controllers
from karmada.controllers.flags import PROGRAM, options_of, parser, without_effect
from karmada.controllers.metrics import PipelineMetrics
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.component import Process, run_component, target_of
from karmada.machinery.http.kubeconfig import find_target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.metrics import MachineryCollector
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import Transport
from karmada.membership.access import SecretAccess
from karmada.membership.component_roles import controller_manager_in_members
from karmada.membership.connections import PushMembers
from karmada.membership.every_member import EveryMember, SecretOrTunnel, by_proxy

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the controllers; the exit code."""
    flags = parser().parse(argv)
    if flags.print_member_rights:
        sys.stdout.write("---\n".join(yaml.dump(tree) for tree in controller_manager_in_members()))
        return 0
    options = options_of(flags)
    proxied = by_proxy(target_of(flags), PROGRAM)

    async def body(process: Process) -> None:
        access = SecretAccess(process.client, agent=PROGRAM)

        async def open_member(cluster: Cluster) -> Transport:
            # A former leader must not touch members either.
            return process.fence(await access(cluster))

        def through(cluster: Cluster) -> Transport:
            return process.fence(proxied(cluster))

        client, supervisor = process.client, process.supervisor
        members = PushMembers(open_member, REAL)
        readable = EveryMember(members, SecretOrTunnel(open_member, through), REAL)
        try:
            informers = InformerFactory(client, supervisor)
            readable.forget_left(informers.of(Cluster))
            recorders = Recorders(client, supervisor, REAL)
            metrics = PipelineMetrics()
            process.registry.register(metrics)
            chosen = replace(options, tracer=process.tracer)
            shards = process.shards

            def beside(running: Supervisor) -> None:
                if flags.cluster_api_kubeconfig:
                    running.start("clusterApi", _detector(flags, client, running).controller.run)

            running = controllers(
                client, informers, supervisor, recorders, members, chosen, REAL, metrics, shards, beside, readable
            )
            async with running as started:
                machinery = MachineryCollector(informers)
                machinery.controllers = started
                process.registry.register(machinery)
                for sentence in without_effect(flags, supervisor.running) if shards is None else ():
                    log.warning("%s", sentence)
                await supervisor.wait()
        finally:
            await readable.close()
            await members.close()

    return run_component(flags, PROGRAM, body, undivided=1)


def _detector(flags: Namespace, hub: Client, supervisor: Supervisor) -> ClusterApiDetector:
    target = find_target(flags.cluster_api_kubeconfig, flags.cluster_api_context)
    management = Client(HttpTransport(target, agent=PROGRAM))
    return ClusterApiDetector(hub, management, InformerFactory(management, supervisor))


if __name__ == "__main__":
    sys.exit(main())
