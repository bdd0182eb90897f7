"""The control plane's process: from flags to a serving control plane, until it is told to stop."""

import argparse
import asyncio
import gc
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from karmada.api import feature_gates
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.storage.choice import storage_at
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.manager import Selection
from karmada.machinery.process import run
from karmada.standalone.children import report_ready
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

ADMIN = "karmada-admin"
CONTEXT = "karmada-apiserver"


def parser() -> argparse.ArgumentParser:
    """The flags of the process; `karmada up` passes its own on."""
    flags = argparse.ArgumentParser(prog="karmada control-plane", description=__doc__)
    flags.add_argument("--data", type=Path, required=True)
    flags.add_argument("--bind-address", default="127.0.0.1")
    flags.add_argument("--port", type=int, default=0)
    flags.add_argument("--memory", action="store_true")
    flags.add_argument("--feature-gates", default="")
    flags.add_argument("--controllers", default="*")
    flags.add_argument("--skipped-propagating-apis", default="")
    flags.add_argument("--skipped-propagating-namespaces", default="kube-.*")
    flags.add_argument("--cluster-status-update-frequency", type=float, default=10.0)
    flags.add_argument("--cluster-success-threshold", type=float, default=30.0)
    flags.add_argument("--cluster-failure-threshold", type=float, default=30.0)
    flags.add_argument("--allow-no-execute-taint-policy", type=_truth, nargs="?", const=True, default=False)
    flags.add_argument("--ready-descriptor", type=int, default=-1)
    return flags


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; the exit status."""
    flags = parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        options = _options(flags)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return run(lambda: _serve(flags, options))


def _options(flags: argparse.Namespace) -> ControlPlaneOptions:
    folder: Path = flags.data
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    keys = folder / "pki"
    keys.mkdir(exist_ok=True, mode=0o700)
    return ControlPlaneOptions(
        storage=storage_at("memory:" if flags.memory else f"sqlite://{(folder / 'karmada.db').absolute()}"),
        folder=keys,
        gates=feature_gates.parse(flags.feature_gates),
        selection=Selection(tuple(flags.controllers.split(","))),
        status=StatusOptions(
            period=flags.cluster_status_update_frequency,
            success_threshold=flags.cluster_success_threshold,
            failure_threshold=flags.cluster_failure_threshold,
        ),
        allow_no_execute=flags.allow_no_execute_taint_policy,
        skipped_apis=flags.skipped_propagating_apis,
        skipped_namespaces=tuple(flags.skipped_propagating_namespaces.split(",")),
    )


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


async def _serve(flags: argparse.Namespace, options: ControlPlaneOptions) -> None:
    async with ControlPlane(options) as plane:
        port = await plane.server.listen(flags.bind_address, flags.port, [flags.bind_address, "localhost"])
        authority = plane.server.identity.authority
        certificate, key = authority.issue_client(ADMIN, ["system:masters"])
        config = kubeconfig(
            f"https://{flags.bind_address}:{port}",
            authority.certificate_pem,
            cluster=CONTEXT,
            user=CONTEXT,
            certificate=certificate,
            key=key,
        )
        path = flags.data / "admin.kubeconfig"
        write_kubeconfig(path, config)
        gc.collect()
        gc.freeze()
        report_ready(flags.ready_descriptor, port=port, kubeconfig=str(path))
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
