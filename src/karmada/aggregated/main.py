"""karmada-aggregated-apiserver as a program: the group cluster.karmada.io on etcd, beside any conformant API server."""

import asyncio
import gc
import logging
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import orjson

from karmada.aggregated.server import ClusterServer, Serving, Trust
from karmada.apiserver.main import etcd_storage
from karmada.apiserver.storage.base import Storage
from karmada.apiserver.storage.choice import storage_at
from karmada.machinery import logging as logs
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.flags import FlagParser, add_accepted, add_common
from karmada.machinery.http.kubeconfig import KubeconfigError, find_target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.process import run
from karmada.membership.objects import CONFIG_MAPS

PROGRAM = "karmada-aggregated-apiserver"
log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stopped; the exit code."""
    flags = parser().parse(argv)
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    kubeconfig = flags.kubeconfig or flags.authentication_kubeconfig or flags.authorization_kubeconfig
    try:
        target = find_target(kubeconfig, flags.context)
        storage = _storage(flags)
    except (KubeconfigError, ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error

    async def serve() -> None:
        hub = Client(HttpTransport(target, agent=PROGRAM))
        trust = await _trust(flags, hub)
        serving = _serving(flags)
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
    add = made.add_argument
    add("--authentication-kubeconfig", default="", help="As --kubeconfig, where that is not given.")
    add("--authorization-kubeconfig", default="", help="As --kubeconfig, where that is not given.")
    add("--etcd-servers", default="", help="Addresses of etcd, comma-separated.")
    add("--etcd-prefix", default="/karmada", help="Prefix of all keys in etcd; nobody else may use it.")
    add("--etcd-cafile", type=Path, help="CA of the etcd servers.")
    add("--etcd-certfile", type=Path, help="Client certificate for etcd.")
    add("--etcd-keyfile", type=Path, help="Key of that certificate.")
    add("--storage", default="", help="memory:, sqlite:///path or etcd://host:port, in place of --etcd-servers.")
    add("--tls-cert-file", type=Path, help="Serving certificate.")
    add("--tls-private-key-file", type=Path, help="Key of the serving certificate.")
    add("--cert-dir", type=Path, default=Path("apiserver.local.config/certificates"), help="Where made ones are kept.")
    add("--client-ca-file", type=Path, help="CA of clients; what the API server publishes if absent.")
    add("--requestheader-client-ca-file", type=Path, help="CA of the front proxy; as above.")
    add("--requestheader-allowed-names", default="", help="Names of the front proxy, comma-separated; as above.")
    add_accepted(
        made,
        (
            "audit-log-format",
            "audit-log-maxage",
            "audit-log-maxbackup",
            "audit-log-path",
            "audit-policy-file",
            "authentication-skip-lookup",
            "authentication-tolerate-lookup-failure",
            "authorization-always-allow-paths",
            "enable-priority-and-fairness",
            "requestheader-extra-headers-prefix",
            "requestheader-group-headers",
            "requestheader-username-headers",
            "tls-cipher-suites",
            "tls-min-version",
        ),
    )
    return made


def _storage(flags: Namespace) -> Storage:
    if flags.etcd_servers:
        return etcd_storage(flags)
    if not flags.storage:
        raise ValueError("--etcd-servers (or --storage) says where clusters are kept: one must be given")
    return storage_at(flags.storage)


def _serving(flags: Namespace) -> Serving | None:
    certificate, key = flags.tls_cert_file, flags.tls_private_key_file
    return None if certificate is None or key is None else lambda: (certificate.read_bytes(), key.read_bytes())


async def _trust(flags: Namespace, hub: Client) -> Trust:
    """Whom to believe: what flags say, else what the API server publishes for servers beside it."""
    published = await _published(hub)
    names = [name for name in flags.requestheader_allowed_names.split(",") if name]
    if not names:
        names = orjson.loads(published.get("requestheader-allowed-names") or "[]")
    return Trust(
        _given(flags.client_ca_file) or published.get("client-ca-file", "").encode(),
        _given(flags.requestheader_client_ca_file) or published.get("requestheader-client-ca-file", "").encode(),
        names,
    )


async def _published(hub: Client) -> dict[str, str]:
    try:
        found = await hub.resource(CONFIG_MAPS).get("extension-apiserver-authentication", "kube-system")
    except NotFound:
        return {}
    return dict(found.get("data") or {})


def _given(path: Path | None) -> bytes:
    return path.read_bytes() if path is not None else b""
