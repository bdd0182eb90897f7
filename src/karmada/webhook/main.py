"""karmada-webhook as a program."""

import logging
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from OpenSSL import SSL

from karmada.machinery.clock import REAL, Clock
from karmada.machinery.component import Process, component_flags, run_component
from karmada.machinery.flags import FlagParser, add_accepted, add_truth
from karmada.machinery.httpserver.tls import server_context
from karmada.machinery.os_errors import spelled
from karmada.webhook.lookup import ClientLookup
from karmada.webhook.reviews import Settings
from karmada.webhook.server import WebhookServer

log = logging.getLogger(__name__)

PROGRAM = "karmada-webhook"
RENEWAL = 60.0
"""Seconds between two looks at the certificate's files."""
_VERSIONS = {"1.2": SSL.TLS1_2_VERSION, "1.3": SSL.TLS1_3_VERSION}
_UNUSABLE = (OSError, ValueError, SSL.Error)
"""What a certificate or key that cannot be served with raises."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve admission and conversion until stopped; the exit code."""
    flags = parser().parse(argv)
    host, port = flags.bind_address or "0.0.0.0", int(flags.secure_port or 8443)
    # What is shared by all components calls these the address of health; here they are the webhooks' own.
    flags.bind_address = flags.secure_port = ""
    try:
        tls = context_of(flags)
    except _UNUSABLE as error:
        certificate, _ = files_of(flags)
        raise SystemExit(f"error: no certificate to serve with at {certificate}: {spelled(error)}") from error

    async def body(process: Process) -> None:
        lookup = _lookup(process)
        settings = Settings(lookup, flags.feature_gates, flags.allow_no_execute_taint_policy, lookup)
        server = WebhookServer(settings)
        process.registry.register(server.figures)
        log.info("webhooks at https://%s:%d", host, await server.listen(host, port, tls))
        process.supervisor.start("certificate renewal", lambda: renew(server.renew, flags))
        try:
            await process.supervisor.wait()
        finally:
            await server.close()

    return run_component(flags, PROGRAM, body)


def parser() -> FlagParser:
    """The flags of the webhook server."""
    made = component_flags(PROGRAM, ":8000", "Completes and judges Karmada's objects, and converts bindings.")
    add = made.add_argument
    add("--cert-dir", default="/tmp/k8s-webhook-server/serving-certs", help="Directory of certificate and key.")
    add("--tls-cert-file-name", default="tls.crt", help="Name of the certificate's file.")
    add("--tls-private-key-file-name", default="tls.key", help="Name of the key's file.")
    add("--tls-min-version", choices=sorted(_VERSIONS), default="1.3", help="Oldest version of TLS that is spoken.")
    add_truth(made, "--allow-no-execute-taint-policy", False, "Let ClusterTaintPolicies set taints that evict.")
    add_accepted(made, ("tls-cipher-suites",))
    return made


def files_of(flags: Namespace) -> tuple[Path, Path]:
    """Certificate and key."""
    folder = Path(flags.cert_dir)
    return folder / flags.tls_cert_file_name, folder / flags.tls_private_key_file_name


def context_of(flags: Namespace) -> SSL.Context:
    """How to serve."""
    certificate, key = files_of(flags)
    tls = server_context(certificate.read_bytes(), key.read_bytes())
    tls.set_min_proto_version(_VERSIONS[flags.tls_min_version])
    return tls


async def renew(serve_with: Callable[[SSL.Context], None], flags: Namespace, clock: Clock = REAL) -> None:
    """Serve with a new certificate once its files change; a pair that does not fit leaves the last one in use."""
    files = files_of(flags)
    loaded = _stamp(files)
    while True:
        await clock.sleep(RENEWAL)
        present = _stamp(files)
        if present == loaded:
            continue
        try:
            serve_with(context_of(flags))
            loaded = present
        except _UNUSABLE as error:
            log.warning("the new certificate cannot be used yet: %s", error)


def _stamp(files: tuple[Path, Path]) -> list[int]:
    return [path.stat().st_mtime_ns if path.exists() else 0 for path in files]


def _lookup(process: Process) -> ClientLookup:
    lookup = ClientLookup()
    lookup.client = process.client
    return lookup


if __name__ == "__main__":
    sys.exit(main())
