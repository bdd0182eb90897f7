"""karmada-scheduler-estimator as a program: one per member."""

import logging
from collections.abc import Callable, Sequence

from karmada.estimator.estimate import NODE_PLUGIN, QUOTA_PLUGIN, Answers, unschedulable
from karmada.estimator.metrics import EstimatorMetrics
from karmada.estimator.server import EstimatorServer, Tls
from karmada.estimator.state import MemberState
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.component import Process, component_flags, run_component
from karmada.machinery.flags import FlagParser, add_truth
from karmada.machinery.informers.factory import InformerFactory
from karmada.scheduler.estimators.messages import UnschedulableRequest

log = logging.getLogger(__name__)

EVERYWHERE, LOOPBACK = "0.0.0.0", "127.0.0.1"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the estimator; its exit code."""
    flags = parser().parse(argv)
    is_enabled = switches(flags.plugins)
    tls = Tls(
        flags.grpc_auth_cert_file,
        flags.grpc_auth_key_file,
        flags.grpc_client_ca_file,
        flags.insecure_skip_grpc_client_verify,
    )

    async def body(process: Process) -> None:
        informers = InformerFactory(process.client, process.supervisor)
        state = MemberState(informers.resource)
        process.diagnostics.readiness["caches"] = lambda: all(informer.has_synced for informer in state.informers)
        await informers.synced(state.informers)
        metrics = EstimatorMetrics()
        process.registry.register(metrics)
        answers = Answers(flags.cluster_name, state.member, flags.feature_gates, is_enabled, metrics)
        server = EstimatorServer(answers.replicas, answers.sets, Waiting(state, flags.cluster_name), metrics)
        await server.listen(f"{listening(flags.bind_address, tls)}:{flags.server_port}", tls)
        try:
            await process.supervisor.wait()
        finally:
            await server.close()

    return run_component(flags, "karmada-scheduler-estimator", body)


def listening(chosen: str, tls: Tls) -> str:
    """Where the service listens: it answers everybody who reaches it unless clients show a certificate, so that only
    then it serves other hosts without `--bind-address`."""
    if chosen and not tls.verifies_clients and chosen not in (LOOPBACK, "::1", "localhost"):
        log.warning("the service at %s answers everybody: give --grpc-auth-cert-file and --grpc-client-ca-file", chosen)
    host = chosen or (EVERYWHERE if tls.verifies_clients else LOOPBACK)
    return f"[{host}]" if ":" in host else host


class Waiting:
    """Unschedulable replicas of a Deployment, from the caches of the member."""

    def __init__(self, state: MemberState, cluster: str, clock: Clock = REAL) -> None:
        self._state = state
        self._cluster = cluster
        self._clock = clock

    def __call__(self, request: UnschedulableRequest) -> int:
        resource = request.resource
        deployment = None
        if resource is not None and resource.kind == "Deployment":
            deployment = self._state.deployment(resource.namespace, resource.name)
        sets = self._state.replica_sets(deployment) if deployment is not None else []
        return unschedulable(request, self._cluster, deployment, sets, self._state.pods(sets), self._clock.now())


def parser() -> FlagParser:
    """The flags of the estimator."""
    made = component_flags("karmada-scheduler-estimator", ":10351", "Says how much more fits into a member cluster.")
    add = made.add_argument
    add("--cluster-name", required=True, help="The member this estimator is for.")
    port = (
        "Port of the gRPC service. It listens on loopback only, unless askers show a certificate "
        "(--grpc-auth-cert-file and --grpc-client-ca-file) or --bind-address says otherwise."
    )
    add("--server-port", type=int, default=10352, help=port)
    add("--parallelism", type=int, default=16, help="Accepted; answers are computed on columns, not in parallel.")
    add("--plugins", default="*", help="Comma-separated: * for all, Name for one, -Name for all but one.")
    add("--grpc-auth-cert-file", default="", help="Certificate of the service; without one it is not encrypted.")
    add("--grpc-auth-key-file", default="", help="Key of that certificate.")
    add("--grpc-client-ca-file", default="", help="Authority that signed the certificates of askers.")
    add_truth(made, "--insecure-skip-grpc-client-verify", False, "Do not check the certificates of askers.")
    return made


def switches(text: str) -> Callable[[str], bool]:
    """Which plugins `--plugins` leaves."""
    items = frozenset(item.strip() for item in text.split(",") if item.strip())
    known = {"*", NODE_PLUGIN, QUOTA_PLUGIN}
    for item in items:
        if item.removeprefix("-") not in known:
            raise SystemExit(f"error: --plugins: there is no plugin {item.removeprefix('-')!r}")
    return lambda name: name in items or ("*" in items and f"-{name}" not in items)
