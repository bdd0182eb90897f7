"""`karmada up`, `down` and `status`."""

import argparse
import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from karmada.machinery.errors import ApiError
from karmada.membership.refusal import Refused
from karmada.standalone.children import ChildFailed
from karmada.standalone.federation import CLUSTERS, CONTEXT, Federation, FederationOptions
from karmada.standalone.layout import Layout, LayoutError
from karmada.standalone.logfile import tail_of
from karmada.standalone.progress import Reporter

STOP_TIMEOUT = 40.0
READ_ONLY = "read-only: "
Tour = Callable[[Federation], Awaitable[None]]


def up(flags: argparse.Namespace) -> int:
    """Start a federation; stay, or detach."""
    if flags.detach:
        return _detached(flags)
    return run(flags, _stay)


def run(flags: argparse.Namespace, tour: Tour) -> int:
    """Start a federation, do something with it, stop it; the exit status."""
    layout = Layout(flags.data)
    try:
        layout.prepare()
        lock = layout.lock()
    except LayoutError as error:
        return _fail(str(error))
    with lock:
        layout.pid_file.write_text(f"{os.getpid()}\n")
        try:
            return asyncio.run(_supervise(flags, layout, tour))
        finally:
            layout.pid_file.unlink(missing_ok=True)


async def _supervise(flags: argparse.Namespace, layout: Layout, tour: Tour) -> int:
    options = FederationOptions(
        layout,
        flags.fleet,
        flags.members,
        pull=flags.pull,
        report_secrets=flags.report_secrets,
        port=flags.port,
        memory=flags.memory,
        control_flags=flags.rest,
    )
    with Reporter(sys.stderr) as reporter:
        federation = Federation(options, reporter.step)
        task = asyncio.ensure_future(_start_and(federation, reporter, tour))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            reporter.step("stopping")
        except (ChildFailed, ApiError, Refused) as error:
            reporter.close()
            return _fail(str(error))
        finally:
            await federation.stop()
    return 0


async def _start_and(federation: Federation, reporter: Reporter, tour: Tour) -> None:
    await federation.start()
    reporter.done("ready")
    await tour(federation)


async def _stay(federation: Federation) -> None:
    layout = federation.options.layout
    if federation.read_only:
        print(f"\n{READ_ONLY}{federation.read_only}\nAfter that, stop it with `karmada down` and start it again.")
    print(
        f"\nThe federation is ready.\n\n"
        f"  export KUBECONFIG={layout.kubeconfig}\n"
        f"  kubectl get clusters\n"
        f"  kubectl --context karmada-search get pods -A\n"
        f"  kubectl --context member1 get pods -A\n\n"
        f"Ctrl-C stops it; its state stays in {layout.root}."
        if not federation.options.memory
        else f"\nThe federation is ready.\n\n  export KUBECONFIG={layout.kubeconfig}\n  kubectl get clusters\n"
    )
    sys.stdout.flush()
    await asyncio.Event().wait()


def _detached(flags: argparse.Namespace) -> int:
    """Start the same command in the background and wait until it says that it is ready."""
    layout = Layout(flags.data)
    try:
        layout.prepare()
        layout.lock().close()
    except LayoutError as error:
        return _fail(str(error))
    log = layout.log("supervisor")
    with log.open("w") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "karmada.standalone.main", *(a for a in flags.given if a != "--detach")],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    while "The federation is ready" not in log.read_text():
        if child.poll() is not None:
            return _fail(f"the federation did not start:\n{tail_of(log)}")
        time.sleep(0.05)
    for line in log.read_text().splitlines():
        if line.startswith(READ_ONLY):
            print(line)
    print(f"ready: export KUBECONFIG={layout.kubeconfig}")
    return 0


def down(flags: argparse.Namespace) -> int:
    """Stop the running federation."""
    layout = Layout(flags.data)
    pid = layout.supervisor()
    if pid is None:
        print(f"nothing runs in {layout.root}")
        return 0
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT
    while layout.supervisor() is not None:
        if time.monotonic() > deadline:
            return _fail(f"process {pid} does not stop: see {layout.log('control-plane')}")
        time.sleep(0.05)
    print("stopped")
    return 0


def status(flags: argparse.Namespace) -> int:
    """Say what runs, and how the members are."""
    layout = Layout(flags.data)
    pid = layout.supervisor()
    if pid is None:
        print(f"nothing runs in {layout.root}: start it with `karmada up`")
        return 1
    print(f"running (process {pid}), state in {layout.root}")
    try:
        read_only, clusters = asyncio.run(_state(layout))
    except (ApiError, OSError, ValueError) as error:
        return _fail(f"the control plane does not answer: {error} (see `karmada logs control-plane`)")
    if read_only:
        print(f"{READ_ONLY}{read_only}")
    for name, ready, version in clusters:
        print(f"  {name:<20} {'ready' if ready else 'NOT READY':<10} {version}")
    return 0


def kubeconfig(flags: argparse.Namespace) -> int:
    """Print where the federation's kubeconfig is."""
    print(Layout(flags.data).kubeconfig)
    return 0


def logs(flags: argparse.Namespace) -> int:
    """Print the end of the processes' logs."""
    found = sorted((flags.data / "logs").glob("*.log"))
    chosen = [log for log in found if flags.part in ("", log.stem)]
    if not chosen:
        known = ", ".join(log.stem for log in found) or "none yet"
        return _fail(f"there is no log {flags.part!r} in {flags.data}; there are: {known}")
    for log in chosen:
        if len(chosen) > 1:
            print(f"==> {log.stem} <==")
        print(tail_of(log, flags.lines))
    return 0


def backup(flags: argparse.Namespace) -> int:
    """Save a federation to one file."""
    from karmada.standalone.archive import save

    try:
        save(Layout(flags.data), flags.file)
    except LayoutError as error:
        return _fail(str(error))
    print(f"saved to {flags.file}; it holds keys: keep it where keys belong")
    return 0


def restore(flags: argparse.Namespace) -> int:
    """Make a federation from a backup."""
    from karmada.standalone.archive import load

    try:
        load(Layout(flags.data), flags.file)
    except LayoutError as error:
        return _fail(str(error))
    print(f"restored to {flags.data}: start it with `karmada up --data {flags.data}`")
    return 0


def recover(flags: argparse.Namespace) -> int:
    """Accept that acknowledged writes are lost."""
    from karmada.apiserver.storage.base import StorageFailed
    from karmada.apiserver.storage.sqlite import recover as accept

    layout = Layout(flags.data)
    try:
        losses = {path: accept(path) for path in layout.databases()}
    except StorageFailed as error:
        return _fail(f"{error}; a running federation is stopped with `karmada down`")
    for path, loss in losses.items():
        if loss is not None:
            print(f"{path}: the writes of revisions {loss[0]} to {loss[1]} are given up")
    if not any(losses.values()):
        print(f"nothing is lost in {layout.root}")
    return 0


async def _state(layout: Layout) -> tuple[str, list[tuple[str, bool, str]]]:
    """Why nothing can be written, if so; and the clusters."""
    hub = Federation(FederationOptions(layout), lambda step: None).client(CONTEXT)
    try:
        configuration = orjson.loads(await hub.transport.raw("GET", "/configuration"))
        found: list[dict[str, Any]] = (await hub.resource(CLUSTERS).list()).items
    finally:
        with contextlib.suppress(Exception):
            await hub.close()
    return configuration.get("readOnly", ""), [
        (
            cluster["metadata"]["name"],
            any(
                c["type"] == "Ready" and c["status"] == "True" for c in cluster.get("status", {}).get("conditions", ())
            ),
            cluster.get("status", {}).get("kubernetesVersion", ""),
        )
        for cluster in found
    ]


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1
