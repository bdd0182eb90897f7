"""The control plane's process: from flags to a serving control plane, until it is stopped."""

import asyncio
import contextlib
import gc
import logging
import sys
from argparse import SUPPRESS, Namespace
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path

from karmada.api.feature_gates import DEFAULTS, choices
from karmada.api.feature_gates import parse as parse_gates
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.auth.pki import write_file
from karmada.apiserver.controllers.namespaces import KUBERNETES_GRACE
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage, StoredSnapshot, Unwritable
from karmada.controllers.flags import add_controller_flags, options_of, without_effect
from karmada.controllers.resumption.program import fingerprint
from karmada.interpreter.plugins import GROUP as PLUGINS
from karmada.machinery import logging as logs
from karmada.machinery.flags import FlagParser, add_tracing, add_truth, checked
from karmada.machinery.flags import port as port_number
from karmada.machinery.httpserver.ports import listen_lastingly
from karmada.machinery.os_errors import spelled
from karmada.machinery.process import CannotRun, run, serving
from karmada.machinery.tracing import spans_to
from karmada.membership.component_roles import user_of
from karmada.standalone.children import report_ready
from karmada.standalone.control_plane import ADDONS, ControlPlane, ControlPlaneOptions
from karmada.standalone.layout import GATEWAY_ACCESS
from karmada.standalone.settled_store import SettledStore

ADMIN = "system:admin"
"""The name that Karmada's own installation lets reach into members."""
CONTEXT = "karmada-apiserver"
READY = "--ready-descriptor"
"""Its value differs from start to start."""
LOADING = 15.0
"""Seconds after which a control plane counts as ready whatever it has not loaded."""
MENDING = 5.0
"""Seconds between attempts to write to a database that could not be written."""


log = logging.getLogger(__name__)


def parser() -> FlagParser:
    """The flags of the process: the controllers' and its own. `karmada up` passes on what is none of its own."""
    made = FlagParser("karmada up", "Starts a control plane and simulated members.")
    add = made.add_argument
    add("--data", type=Path, required=True, help="Where database and keys are kept.")
    add("--port", type=port_number, default=0, help="Where to serve; the port of the last time if absent.")
    add("--bind-address", default="127.0.0.1", help="Address to serve on.")
    add("--memory", action="store_true", help="Keep objects in memory only.")
    add("--feature-gates", type=checked(parse_gates), default=DEFAULTS, help=choices())
    add("--v", "-v", dest="verbosity", type=int, default=0, help="How much to log.")
    add("--logging-format", choices=[form.value for form in logs.Format], default="text", help="Form of log lines.")
    add_tracing(made)
    add_truth(made, "--allow-no-execute-taint-policy", False, "Let ClusterTaintPolicies set NoExecute taints.")
    add("--gateway", action="store_true", help=SUPPRESS)
    add_truth(made, "--enable-scheduler-estimator", False, "Count members' nodes and pods for every division.")
    add_truth(made, "--enable-search", True, "Serve the objects of all members as one API (context karmada-search).")
    add_truth(made, "--enable-dashboard", True, "Serve the dashboard at /dashboard.")
    add("--addons", type=checked(_addons), default=frozenset(), help=f"Of {', '.join(ADDONS)}, comma-separated.")
    add_controller_flags(made)
    add(READY, type=int, default=-1, help=SUPPRESS)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; the exit status."""
    given = sys.argv[1:] if argv is None else argv
    flags = parser().parse(given)
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    try:
        options = _options(flags, given)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {spelled(error)}\n")
        return 1
    return run(lambda: _serve(flags, options))


def _options(flags: Namespace, given: Sequence[str]) -> ControlPlaneOptions:
    folder: Path = flags.data
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys = folder / "pki"
    keys.mkdir(exist_ok=True, mode=0o700)
    chosen = options_of(flags)
    return ControlPlaneOptions(
        storage=MemoryStorage() if flags.memory else SqliteStorage(_database(flags)),
        folder=keys,
        decisions=None if flags.memory else folder / "decisions.sqlite",
        records=settled_records(folder, given) if not flags.memory else None,
        gates=chosen.gates,
        selection=chosen.selection,
        options=chosen.options,
        allow_no_execute=flags.allow_no_execute_taint_policy,
        namespace_grace=KUBERNETES_GRACE,
        estimates=flags.enable_scheduler_estimator,
        search=flags.enable_search,
        search_cache=None if flags.memory else folder / "search.sqlite",
        dashboard=flags.enable_dashboard,
        sessions=None if flags.memory else folder / "dashboard-sessions",
        administrator=str(_administrator(flags).absolute()),
        gateway=flags.gateway,
        addons=flags.addons,
        spans=spans_to(flags.tracing_endpoint, "karmada") if flags.tracing_endpoint else None,
    )


def settled_records(folder: Path, given: Sequence[str]) -> SettledStore | None:
    """What a restart need not look at. None where interpreters of users are installed: their code may be edited in
    place, which nobody would notice."""
    if entry_points(group=PLUGINS):
        return None
    others = [value for flag, value in pairwise(("", *given)) if READY not in (flag, value)]
    return SettledStore(folder / "settled.sqlite", partial(fingerprint, others))


def _database(flags: Namespace) -> Path:
    return Path(flags.data).absolute() / "karmada.db"


def _administrator(flags: Namespace) -> Path:
    return Path(flags.data) / "admin.kubeconfig"


def _addons(text: str) -> frozenset[str]:
    """Optional components by name; `karmada-` may stand before it."""
    names = frozenset(name.strip().removeprefix("karmada-") for name in text.split(",") if name.strip())
    if unknown := sorted(names.difference(ADDONS)):
        raise ValueError(f"there is no addon {', '.join(unknown)}; there are: {', '.join(ADDONS)}")
    return names


async def _listen(plane: ControlPlane, host: str, flags: Namespace) -> int:
    """Serve on the port asked for, or on that of the last time, so that kubeconfigs stay true; the port."""

    async def listen(port: int) -> int:
        address = await plane.listen(host, port, [host, "localhost"])
        return int(address.rpartition(":")[2])

    wanted = flags.port or _last_port(flags.data)
    try:
        with serving(host, wanted, "--port"):
            port = await (listen(wanted) if wanted else listen_lastingly(listen))
    except CannotRun:
        if flags.port or not wanted:
            raise
        port = await listen_lastingly(listen)
    _remember_port(flags.data, port)
    return port


def _last_port(folder: Path) -> int:
    """The port of the last time; 0 if there was none."""
    try:
        return int((folder / "port").read_text())
    except (OSError, ValueError):
        return 0


def _remember_port(folder: Path, port: int) -> None:
    if _last_port(folder) != port:
        write_file(folder / "port", str(port).encode(), 0o600)


def _write_gateway_access(plane: ControlPlane, server: str, path: Path) -> None:
    """The kubeconfig of the gateway, which is a user of its own in a process of its own."""
    authority = plane.server.identity.authority
    certificate, key = authority.issue_client(user_of("karmada-gateway"), [])
    config = kubeconfig(
        server, authority.certificate_pem, cluster=CONTEXT, user="karmada-gateway", certificate=certificate, key=key
    )
    write_kubeconfig(path, config)


async def _serve(flags: Namespace, options: ControlPlaneOptions) -> None:
    """Serve; where nothing can be written, serve what is stored until that has changed, and end to be started again."""
    try:
        await _serve_all(flags, options)
    except Unwritable as refused:
        log.error("read-only: %s", refused)
        storage = StoredSnapshot(_database(flags), str(refused))
        serving = asyncio.ensure_future(_serve_all(flags, replace(options, storage=storage, read_only=str(refused))))
        mended = asyncio.ensure_future(_mended(storage))
        try:
            await asyncio.wait((serving, mended), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (mended, serving):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task


async def _mended(storage: StoredSnapshot) -> None:
    while True:
        await asyncio.sleep(MENDING)
        if await storage.mended():
            log.warning("the database can be written again: starting anew")
            return


async def _serve_all(flags: Namespace, options: ControlPlaneOptions) -> None:
    async with ControlPlane(options) as plane:
        if not options.read_only:
            for sentence in without_effect(flags, plane.supervisor.running):
                log.warning("%s", sentence)
        host = flags.bind_address
        port = await _listen(plane, host, flags)
        authority = plane.server.identity.authority
        certificate, key = authority.issue_client(ADMIN, ["system:masters"])
        config = kubeconfig(
            f"https://{host}:{port}",
            authority.certificate_pem,
            cluster=CONTEXT,
            user=CONTEXT,
            certificate=certificate,
            key=key,
        )
        path = _administrator(flags)
        try:
            write_kubeconfig(path, config)
        except OSError:
            if not options.read_only or not path.exists():
                raise
            # The one of the last time leads to the same port.
        if options.read_only:
            report_ready(flags.ready_descriptor, port=port, kubeconfig=str(path), read_only=options.read_only)
            await asyncio.Event().wait()
        if flags.gateway:
            _write_gateway_access(plane, f"https://{host}:{port}", flags.data / GATEWAY_ACCESS)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOADING):
                await plane.loaded()
        gc.collect()
        gc.freeze()
        report_ready(flags.ready_descriptor, port=port, kubeconfig=str(path))
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
