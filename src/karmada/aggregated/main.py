"""karmada-aggregated-apiserver as a program: the group cluster.karmada.io on etcd, beside any conformant API server."""

from collections.abc import Sequence

from karmada.aggregated.server import ClusterServer
from karmada.apiserver.groupserver.flags import add_serving, add_storage, storage_of
from karmada.apiserver.groupserver.program import control_plane_of, reading_flags, serve
from karmada.apiserver.groupserver.trust import serving_of, trust_of
from karmada.machinery import logging as logs
from karmada.machinery.client import Client
from karmada.machinery.flags import FlagParser, add_common
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.process import run

PROGRAM = "karmada-aggregated-apiserver"


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stopped; the exit code."""
    flags = parser().parse(argv)
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    with reading_flags():
        target = control_plane_of(flags)
        storage = storage_of(flags, "clusters")

    async def work() -> None:
        hub = Client(HttpTransport(target, agent=PROGRAM))
        trust = await trust_of(flags, hub)
        serving = serving_of(flags)
        folder = flags.cert_dir if serving is None else None
        try:
            async with ClusterServer(
                storage, hub, trust, gates=flags.feature_gates, folder=folder, serving=serving
            ) as server:
                await serve(server, flags)
        finally:
            await hub.close()

    return run(work)


def parser() -> FlagParser:
    """The flags of the aggregated API server."""
    made = FlagParser(PROGRAM, "Serves the clusters of a federation.")
    add_common(made, "0")
    add_storage(made)
    add_serving(made)
    return made
