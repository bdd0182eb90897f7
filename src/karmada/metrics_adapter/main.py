"""karmada-metrics-adapter as a program: serves the metrics of all members beside any conformant API server."""

import sys
from collections.abc import Sequence

from karmada.api import yaml
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.groupserver import GroupServer
from karmada.apiserver.groupserver.flags import add_serving
from karmada.apiserver.groupserver.program import control_plane_of, reading_flags, serve
from karmada.apiserver.groupserver.trust import serving_of, trust_of
from karmada.machinery import logging as logs
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.flags import FlagParser, add_accepted, add_common, add_truth
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.process import run
from karmada.membership.access import SecretAccess
from karmada.membership.component_roles import metrics_adapter_in_members
from karmada.membership.connections import PushMembers
from karmada.membership.every_member import EveryMember, SecretOrTunnel, by_proxy
from karmada.metrics_adapter.api import COMPONENT, MetricsApi

_ACCEPTED = ("cluster-api-qps", "cluster-api-burst")


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stopped; the exit code."""
    flags = parser().parse(argv)
    if flags.print_member_rights:
        sys.stdout.write("---\n".join(yaml.dump(tree) for tree in metrics_adapter_in_members()))
        return 0
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    with reading_flags():
        target = control_plane_of(flags)

    async def work() -> None:
        hub = Client(HttpTransport(target, agent=COMPONENT))
        trust = await trust_of(flags, hub)
        serving = serving_of(flags)
        folder = flags.cert_dir if serving is None else None
        api = MetricsApi()
        secrets = SecretAccess(hub, agent=COMPONENT)
        push = PushMembers(secrets, REAL)
        members = EveryMember(push, SecretOrTunnel(secrets, by_proxy(target, COMPONENT)), REAL)
        try:
            async with GroupServer([api.local], hub, trust, name=COMPONENT, folder=folder, serving=serving) as server:
                informers = InformerFactory(hub, server.supervisor)
                members.forget_left(informers.of(Cluster))
                api.connect(informers, members)
                server.supervisor.start("history", api.sampler.run)
                await serve(server, flags)
        finally:
            await api.close()
            await members.close()
            await push.close()
            await hub.close()

    return run(work)


def parser() -> FlagParser:
    """The flags of the metrics adapter."""
    made = FlagParser(COMPONENT, "Serves the metrics of all members.")
    add_common(made, "0")
    add_serving(made)
    add_accepted(made, _ACCEPTED)
    text = "Print what gives it access to a member in Pull mode, to be applied there, and end."
    add_truth(made, "--print-member-rights", False, text)
    return made
