"""karmada-gateway as a program."""

import os
import sys
from argparse import SUPPRESS
from collections.abc import Sequence

import orjson

from karmada.api import yaml
from karmada.gateway.proxy import Times
from karmada.gateway.service import COMPONENT, MIB, GatewayOptions, GatewayService
from karmada.gateway.upstream_routes import PROXY, ThroughClusterProxy, UpstreamRoutes
from karmada.machinery.component import Process, component_flags, run_component, target_of
from karmada.machinery.flags import FlagParser, add_truth, address, items, seconds
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.metrics import MachineryCollector
from karmada.machinery.transport import Transport
from karmada.membership.component_roles import gateway_in_members


class _All(frozenset[str]):
    """Every cluster there is or will be."""

    def __contains__(self, name: object) -> bool:
        return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run the gateway; its exit code."""
    flags = parser().parse(argv)
    if flags.print_member_rights:
        sys.stdout.write("---\n".join(yaml.dump(tree) for tree in gateway_in_members()))
        return 0
    options = GatewayOptions(
        http=None if flags.http_bind_address in ("", "0") else address(flags.http_bind_address),
        https=None if flags.https_bind_address in ("", "0") else address(flags.https_bind_address),
        addresses=flags.publish_address,
        class_name=flags.ingress_class,
        direct=_All() if "*" in flags.direct_clusters else frozenset(flags.direct_clusters),
        max_body=flags.max_body_mebibytes * MIB,
        max_connections=flags.max_connections,
        times=Times(flags.connect_timeout, flags.answer_timeout),
    )
    target = target_of(flags)

    def open_member(cluster: str) -> Transport:
        return HttpTransport(target._replace(server=f"{target.server}{PROXY}/{cluster}/proxy"), agent=COMPONENT)

    async def body(process: Process) -> None:
        informers = InformerFactory(process.client, process.supervisor)
        routes = UpstreamRoutes(options.direct, ThroughClusterProxy(target))
        gateway = GatewayService(process.client, informers, process.supervisor, options, routes, open_member)
        process.diagnostics.readiness["routes"] = gateway.is_ready
        process.registry.register(gateway.metrics)
        machinery = MachineryCollector(informers)
        machinery.controllers.extend(gateway.reconcilers.controllers)
        process.registry.register(machinery)
        async with gateway:
            if flags.ready_descriptor >= 0:
                facts = {"port": gateway.http_port, "metrics": next(iter(process.ports), 0)}
                os.write(flags.ready_descriptor, orjson.dumps(facts) + b"\n")
                os.close(flags.ready_descriptor)
            await process.supervisor.wait()

    return run_component(flags, COMPONENT, body)


def parser() -> FlagParser:
    """The flags of the gateway."""
    made = component_flags(COMPONENT, ":10360", "Carries requests to the pods behind MultiClusterIngresses.")
    add = made.add_argument
    add("--http-bind-address", default=":8000", help="Where to serve HTTP; 0 for nowhere.")
    add("--https-bind-address", default=":8443", help="Where to serve HTTPS; 0 for nowhere.")
    add("--publish-address", type=items, default=(), help="Addresses for the status of ingresses, by commas.")
    add("--ingress-class", default="karmada", help="Serves ingresses of this class, and those that name none.")
    add("--direct-clusters", type=items, default=(), help="Clusters whose pod CIDRs are routed from here; * for all.")
    add("--connect-timeout", type=seconds, default=2.0, help="For a connection to an endpoint.")
    add("--answer-timeout", type=seconds, default=60.0, help="For the head of an answer, and between its parts.")
    add("--max-body-mebibytes", type=int, default=10, help="Largest body of a request.")
    add("--max-connections", type=int, default=10_000, help="Connections of clients at most.")
    add("--ready-descriptor", type=int, default=-1, help=SUPPRESS)
    add_truth(
        made, "--print-member-rights", False, "Print what gives it access to a member, to be applied there, and end."
    )
    return made


if __name__ == "__main__":
    raise SystemExit(main())
