"""karmada-aggregated-apiserver as a program: the group cluster.karmada.io on etcd, beside any conformant API server."""

import asyncio
import gc
import logging
from collections.abc import Sequence

from karmada.aggregated.server import ClusterServer
from karmada.apiserver.groupserver.flags import add_serving, add_storage, storage_of
from karmada.apiserver.groupserver.trust import serving_of, trust_of
from karmada.machinery import logging as logs
from karmada.machinery.client import Client
from karmada.machinery.flags import FlagParser, add_common
from karmada.machinery.http.kubeconfig import KubeconfigError, find_target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.os_errors import spelled
from karmada.machinery.process import run

PROGRAM = "karmada-aggregated-apiserver"
log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stopped; the exit code."""
    flags = parser().parse(argv)
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    kubeconfig = flags.kubeconfig or flags.authentication_kubeconfig or flags.authorization_kubeconfig
    try:
        target = find_target(kubeconfig, flags.context)
        storage = storage_of(flags, "clusters")
    except (KubeconfigError, ValueError, OSError) as error:
        raise SystemExit(f"error: {spelled(error)}") from error

    async def serve() -> None:
        hub = Client(HttpTransport(target, agent=PROGRAM))
        trust = await trust_of(flags, hub)
        serving = serving_of(flags)
        folder = flags.cert_dir if serving is None else None
        try:
            async with ClusterServer(
                storage, hub, trust, gates=flags.feature_gates, folder=folder, serving=serving
            ) as server:
                port = await server.listen(flags.bind_address or "0.0.0.0", int(flags.secure_port or 443))
                gc.collect()
                gc.freeze()
                log.info("serving on port %d", port)
                await asyncio.Event().wait()
        finally:
            await hub.close()

    return run(serve)


def parser() -> FlagParser:
    """The flags of the aggregated API server."""
    made = FlagParser(PROGRAM, "Serves the clusters of a federation.")
    add_common(made, "0")
    add_storage(made)
    add_serving(made)
    return made
