"""karmada-agent as a program.

Its own API server is the member's (`--kubeconfig`, or the pod's account); the control plane is at `--karmada-
kubeconfig`. Replicas elect a leader in the member.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence

from karmada.agent.agent import Agent
from karmada.agent.hub import HubTransport
from karmada.agent.options import AgentOptions, LeaseOptions, RotationOptions
from karmada.api import names
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.context import Concurrency
from karmada.machinery.component import Process, component_flags, run_component
from karmada.machinery.flags import FlagParser, add_accepted, add_leader, add_truth, items, seconds
from karmada.machinery.http.kubeconfig import KubeconfigError, find_target
from karmada.machinery.http.target import Target
from karmada.membership.refusal import Refused
from karmada.membership.registration import check_name
from karmada.membership.reporting import parse_report_secrets

PROGRAM = "karmada-agent"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent; its exit code."""
    flags = parser().parse(argv)
    try:
        member = find_target(flags.kubeconfig, flags.context)
        find_target(flags.karmada_kubeconfig, flags.karmada_context)
        options = options_of(flags, member)
    except (KubeconfigError, Refused) as error:
        raise SystemExit(f"error: {error}") from error
    flags.leader_elect_resource_name = flags.leader_elect_resource_name or names.agent_lease(options.cluster)

    async def body(process: Process) -> None:
        # Read again: while this replica waited to lead, the one that led may have renewed the certificate.
        hub = find_target(flags.karmada_kubeconfig, flags.karmada_context)
        transport = HubTransport(hub, PROGRAM)
        agent = Agent(transport, process.client.transport, options, fence=process.fence, tracer=process.tracer)
        process.registry.register(agent.metrics)
        try:
            await agent.start(process.supervisor, member)
            await process.supervisor.wait()
        finally:
            await agent.close()
            await transport.close()

    return run_component(flags, PROGRAM, body)


def parser() -> FlagParser:
    """The flags of the agent."""
    made = component_flags(PROGRAM, ":10357", "Does in a pull cluster what the control plane asks for.")
    add_leader(made, "")
    add = made.add_argument
    add("--cluster-name", default="", help="Name of the cluster in the control plane.")
    add("--karmada-kubeconfig", default="", help="File that says how to reach the control plane.")
    add("--karmada-context", default="", help="Context of that file; the current one if absent.")
    add("--cluster-namespace", default=names.CLUSTER_NAMESPACE, help="Namespace of the cluster's Secrets and lease.")
    add("--cluster-api-endpoint", default="", help="Address of the cluster's API server; the kubeconfig's if absent.")
    add("--proxy-server-address", default="", help="Proxy through which the control plane reaches the cluster.")
    add("--cluster-provider", default="", help="Cloud of the cluster.")
    add("--cluster-region", default="", help="Region of the cluster.")
    add("--cluster-zones", type=items, default=(), help="Zones of the cluster, comma-separated.")
    add("--report-secrets", default="KubeCredentials,KubeImpersonator", help="What to report; None for nothing.")
    add("--controllers", type=items, default=("*",), help="Comma-separated: * for all, name for one, -name for not.")
    add("--cluster-status-update-frequency", type=seconds, default=10.0, help="How often to report.")
    add("--cluster-lease-duration", type=seconds, default=40.0, help="How long a lease lasts.")
    add("--cluster-lease-renew-interval-fraction", type=float, default=0.25, help="When, within that, it is renewed.")
    add("--cluster-success-threshold", type=seconds, default=30.0, help="How long it must be well to count as ready.")
    add(
        "--cluster-failure-threshold", type=seconds, default=30.0, help="How long it must be ill to count as not ready."
    )
    add("--concurrent-work-syncs", type=int, default=5, help="Works handled at the same time.")
    add("--cert-rotation-checking-interval", type=seconds, default=300.0, help="How often to look at the certificate.")
    add("--cert-rotation-remaining-time-threshold", type=float, default=0.2, help="Share of its life left at renewal.")
    add("--karmada-kubeconfig-namespace", default=names.SYSTEM_NAMESPACE, help="Where the renewed one is kept.")
    add_truth(made, "--enable-cluster-resource-modeling", True, "Count nodes by grade.")
    add_truth(made, "--enable-tunnel", False, "Let the control plane reach the cluster through this agent.")
    add_accepted(
        made,
        (
            "cluster-cache-sync-timeout",
            "cluster-api-burst",
            "cluster-api-qps",
            "concurrent-cluster-syncs",
            "resync-period",
        ),
    )
    return made


def options_of(flags: Namespace, member: Target) -> AgentOptions:
    """What the flags ask for."""
    check_name(flags.cluster_name)
    insecure = member.insecure or (member.server.startswith("https://") and not member.authority)
    return AgentOptions(
        flags.cluster_name,
        flags.cluster_api_endpoint or member.server,
        insecure,
        flags.cluster_namespace,
        flags.cluster_provider,
        flags.cluster_region,
        flags.cluster_zones,
        flags.proxy_server_address,
        parse_report_secrets(flags.report_secrets),
        flags.controllers,
        flags.enable_tunnel,
        StatusOptions(
            flags.cluster_status_update_frequency,
            flags.cluster_success_threshold,
            flags.cluster_failure_threshold,
            modeling=flags.enable_cluster_resource_modeling,
        ),
        LeaseOptions(flags.cluster_lease_duration, flags.cluster_lease_renew_interval_fraction),
        RotationOptions(
            flags.cert_rotation_checking_interval,
            flags.cert_rotation_remaining_time_threshold,
            flags.karmada_kubeconfig_namespace,
        ),
        Concurrency(works=flags.concurrent_work_syncs),
        flags.feature_gates,
    )


if __name__ == "__main__":
    sys.exit(main())
