"""karmada-metrics-adapter as a program: serves the metrics of all members beside any conformant API server."""

import asyncio
import gc
import logging
from collections.abc import Sequence

from karmada.apiserver.groupserver import GroupServer
from karmada.apiserver.groupserver.flags import add_serving
from karmada.apiserver.groupserver.trust import serving_of, trust_of
from karmada.machinery import logging as logs
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.flags import FlagParser, add_accepted, add_common
from karmada.machinery.http.kubeconfig import KubeconfigError, find_target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.process import run
from karmada.membership.access import SecretAccess
from karmada.membership.connections import PushMembers
from karmada.metrics_adapter.api import COMPONENT, MetricsApi

log = logging.getLogger(__name__)
_ACCEPTED = ("cluster-api-qps", "cluster-api-burst")


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stopped; the exit code."""
    flags = parser().parse(argv)
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    try:
        target = find_target(flags.kubeconfig or flags.authentication_kubeconfig, flags.context)
    except (KubeconfigError, ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error

    async def serve() -> None:
        hub = Client(HttpTransport(target, agent=COMPONENT))
        trust = await trust_of(flags, hub)
        serving = serving_of(flags)
        folder = flags.cert_dir if serving is None else None
        api = MetricsApi()
        members = PushMembers(SecretAccess(hub, agent=COMPONENT), REAL)
        try:
            async with GroupServer([api.local], hub, trust, name=COMPONENT, folder=folder, serving=serving) as server:
                api.connect(InformerFactory(hub, server.supervisor), members)
                port = await server.listen(flags.bind_address or "0.0.0.0", int(flags.secure_port or 443))
                gc.collect()
                gc.freeze()
                log.info("serving on port %d", port)
                await asyncio.Event().wait()
        finally:
            await api.close()
            await members.close()
            await hub.close()

    return run(serve)


def parser() -> FlagParser:
    """The flags of the metrics adapter."""
    made = FlagParser(COMPONENT, "Serves the metrics of all members.")
    add_common(made, "0")
    add_serving(made)
    add_accepted(made, _ACCEPTED)
    return made
