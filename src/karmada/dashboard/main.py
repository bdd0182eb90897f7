"""karmada-dashboard as a program, beside any API server with Karmada's kinds."""

import asyncio
import logging
import sys
from argparse import SUPPRESS, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from karmada.dashboard.answers import secured
from karmada.dashboard.remote import RemoteUpstream
from karmada.dashboard.routes import ROOT
from karmada.dashboard.server import Dashboard
from karmada.dashboard.session_files import SessionFiles
from karmada.machinery import logging as logs
from karmada.machinery.clock import REAL
from karmada.machinery.flags import FlagParser, add_truth, items
from karmada.machinery.flags import port as port_number
from karmada.machinery.http.kubeconfig import KubeconfigError, find_target
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.os_errors import spelled
from karmada.machinery.process import CannotRun, run, serving

if TYPE_CHECKING:
    from OpenSSL import SSL

COMPONENT = "karmada-dashboard"
READ_ONLY = "this dashboard was started with --read-only"
log = logging.getLogger(__name__)


class Site:
    """The dashboard on a server of its own: the way to it, and whether it lives."""

    def __init__(self, dashboard: Dashboard) -> None:
        self._dashboard = dashboard

    def admit(self, request: HttpRequest) -> HttpResponse | int:
        """As the dashboard judges it."""
        return self._dashboard.admit(request)

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answer one request."""
        if request.path == ROOT or request.path.startswith(f"{ROOT}/"):
            return await self._dashboard(request)
        if request.path == "/":
            return secured(HttpResponse(303, b"", "text/plain", {"Location": f"{ROOT}/"}))
        if request.path in ("/healthz", "/readyz", "/livez"):
            return secured(HttpResponse(200, b"ok", "text/plain"))
        return secured(HttpResponse(404, b"404 page not found\n", "text/plain"))


def parser() -> FlagParser:
    """The flags of the program."""
    made = FlagParser(
        COMPONENT, "Serves the dashboard of a Karmada control plane; users sign in with their own tokens."
    )
    add = made.add_argument
    add("--kubeconfig", default="", help="Says where the API server is and how to trust it; its user is not used.")
    add("--context", default="", help="Context of the kubeconfig; the current one if absent.")
    add("--bind-address", default="127.0.0.1", help="Address to serve on.")
    add("--port", type=port_number, default=8443, help="Port to serve on; 0 for any free one.")
    add("--tls-cert-file", type=Path, help="Certificate to serve with; one is made at every start if absent.")
    add("--tls-private-key-file", type=Path, help="Its key.")
    add("--hosts", type=items, default=(), help="Names by which browsers reach it, by commas; addresses always do.")
    add(
        "--session-dir", type=Path, help="Folder in which sessions outlive a restart, sealed; in memory only if absent."
    )
    add_truth(made, "--read-only", False, "Refuse all writes and terminals.")
    add_truth(made, "--enable-search", True, "Show the search, where the control plane has karmada-search.")
    add("--v", "-v", dest="verbosity", type=int, default=0, help="How much to log.")
    add("--logging-format", choices=[form.value for form in logs.Format], default="text", help="Form of log lines.")
    add("--ready-descriptor", type=int, default=-1, help=SUPPRESS)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; the exit status."""
    flags = parser().parse(argv)
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    try:
        target = find_target(flags.kubeconfig, flags.context)
    except (KubeconfigError, OSError) as error:
        sys.stderr.write(f"error: {spelled(error)}\n")
        return 1

    async def body() -> None:
        dashboard = Dashboard(
            RemoteUpstream(target, REAL),
            read_only=READ_ONLY if flags.read_only else "",
            hosts=(flags.bind_address, *flags.hosts),
            search=flags.enable_search,
            files=SessionFiles(flags.session_dir, target.server.encode()) if flags.session_dir else None,
        )
        site = Site(dashboard)
        server = HttpServer(site, admit=site.admit, tls=_tls(flags))
        with serving(flags.bind_address, flags.port, "--port"):
            port = await server.listen(flags.bind_address, flags.port)
        log.warning("the dashboard is at https://%s:%d%s/", flags.bind_address, port, ROOT)
        if flags.ready_descriptor >= 0:
            _report(flags.ready_descriptor, port)
        try:
            await asyncio.Event().wait()
        finally:
            await dashboard.close()
            await server.stop()

    return run(body)


def _report(descriptor: int, port: int) -> None:
    import os

    os.write(descriptor, b'{"port": %d}\n' % port)
    os.close(descriptor)


def _tls(flags: Namespace) -> "SSL.Context":
    from karmada.machinery.httpserver.tls import server_context

    if bool(flags.tls_cert_file) != bool(flags.tls_private_key_file):
        raise CannotRun("--tls-cert-file and --tls-private-key-file go together: give both or neither")
    if flags.tls_cert_file:
        try:
            return server_context(flags.tls_cert_file.read_bytes(), flags.tls_private_key_file.read_bytes())
        except (OSError, ValueError) as error:
            raise CannotRun(f"--tls-cert-file and --tls-private-key-file cannot be used: {spelled(error)}") from error
    from karmada.apiserver.auth.pki import Authority, server_names

    names = server_names(("localhost", "127.0.0.1", "::1", flags.bind_address, *flags.hosts))
    return server_context(*Authority.create(f"{COMPONENT}-ca").issue_server(COMPONENT, names))


if __name__ == "__main__":
    sys.exit(main())
