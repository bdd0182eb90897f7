"""`karmada up`, `down`, `backup` and `restore`: commands that change a federation."""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING

from karmada.api.counting import counted
from karmada.machinery.errors import ApiError
from karmada.membership.refusal import Refused
from karmada.standalone.children import ChildFailed
from karmada.standalone.federation import Federation, FederationOptions
from karmada.standalone.inspection import READ_ONLY, dashboard_link
from karmada.standalone.layout import BACKUPS, Layout, LayoutError
from karmada.standalone.progress import Reporter
from karmada.standalone.service import notify_systemd

if TYPE_CHECKING:
    from karmada.standalone.backups import Schedule

STOP_TIMEOUT = 40.0
MEMBERS = 3
_REMEDY = "start the federation with --members or --fleet as before, or remove it with `karmadactl unjoin {name}`"
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
        try:
            layout.pid_file.write_text(f"{os.getpid()}\n")
        except OSError as error:
            return _fail(f"cannot write {error.filename}: {error.strerror}")
        try:
            return asyncio.run(_supervise(flags, layout, tour))
        finally:
            layout.pid_file.unlink(missing_ok=True)


async def _supervise(flags: argparse.Namespace, layout: Layout, tour: Tour) -> int:
    options = FederationOptions(
        layout,
        flags.fleet,
        flags.members if flags.members is not None else layout.members_before() or MEMBERS,
        pull=flags.pull,
        report_secrets=flags.report_secrets,
        port=flags.port,
        memory=flags.memory,
        gateway_port=flags.gateway_port,
        control_flags=flags.rest,
    )
    with Reporter(sys.stderr) as reporter:
        federation = Federation(options, reporter.step, reporter.notice)
        task = asyncio.ensure_future(
            _start_and(federation, reporter, _beside(tour, _schedule(flags, layout, reporter)))
        )
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            notify_systemd("STOPPING=1")
            reporter.step("stopping")
        except (ChildFailed, ApiError, Refused) as error:
            reporter.close()
            return _fail(str(error))
        finally:
            await federation.stop()
    return 0


def _schedule(flags: argparse.Namespace, layout: Layout, reporter: Reporter) -> "Schedule | None":
    """The backups that were asked for."""
    if not getattr(flags, "backup_every", None):
        return None
    from karmada.standalone.backups import Schedule

    folder = (flags.backup_to or layout.root / "backups").absolute()
    return Schedule(layout, folder, flags.backup_every, flags.backup_keep or BACKUPS, reporter.notice)


def _beside(tour: Tour, schedule: "Schedule | None") -> Tour:
    """A tour during which backups are made."""
    if schedule is None:
        return tour

    async def both(federation: Federation) -> None:
        making = asyncio.ensure_future(schedule.run())
        try:
            await tour(federation)
        finally:
            making.cancel()

    return both


async def _start_and(federation: Federation, reporter: Reporter, tour: Tour) -> None:
    await federation.start()
    reporter.done("ready")
    for name in federation.left_out:
        reporter.notice(f"{name} is a member and was not started: {_REMEDY.format(name=name)}")
    await tour(federation)


async def _stay(federation: Federation) -> None:
    layout = federation.options.layout
    if federation.read_only:
        end = layout.command("down")
        print(f"\n{READ_ONLY}{federation.read_only}\nAfter that, stop it with `{end}` and start it again.")
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
    if federation.gateway:
        print(f"  MultiClusterIngresses are served at {federation.gateway}\n")
    await _print_dashboard(federation)
    sys.stdout.flush()
    notify_systemd("READY=1")
    await asyncio.Event().wait()


async def _print_dashboard(federation: Federation) -> None:
    """Print where the dashboard is: to a person with a link that signs in, never into a log."""
    if "--enable-dashboard=false" in federation.options.control_flags:
        return
    another = federation.options.layout.command("dashboard-token --link")
    if not sys.stdout.isatty():
        print(f"  The dashboard: {another}\n")
        return
    with suppress(ApiError, OSError, ValueError, KeyError):
        _, link = await dashboard_link(federation)
        print(f"  The dashboard (once, within five minutes):\n  {link}\n  Another link: {another}\n")


def _detached(flags: argparse.Namespace) -> int:
    """Start the same command in the background and wait until it says that it is ready."""
    layout = Layout(flags.data)
    try:
        layout.prepare()
        layout.lock().close()
    except LayoutError as error:
        return _fail(str(error))
    log = layout.log("supervisor")
    try:
        if log.exists():
            log.replace(log.with_name(f"{log.name}.1"))
        output = log.open("w")
    except OSError as error:
        return _fail(f"cannot write {error.filename}: {error.strerror}")
    with output:
        child = subprocess.Popen(
            [sys.executable, "-m", "karmada.standalone.main", *(a for a in flags.given if a != "--detach")],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    with Reporter(sys.stderr) as reporter:
        try:
            lines, ready = _until_ready(child, log, reporter)
        except KeyboardInterrupt:
            reporter.step("stopping")
            child.terminate()
            child.wait()
            raise
        if not ready:
            reporter.close()
            # The steps were shown as they came.
            said = "\n".join(dropwhile(lambda line: line.startswith("  "), lines))
            return _fail(said.removeprefix("error: ") or f"the federation did not start: see {log}")
    for line in lines:
        if line.startswith(READ_ONLY):
            print(line)
        elif " was not started: " in line:
            print(line, file=sys.stderr)
    print(f"ready: export KUBECONFIG={layout.kubeconfig}")
    return 0


def _until_ready(child: "subprocess.Popen[bytes]", log: Path, reporter: Reporter) -> tuple[list[str], bool]:
    """What a start in the background said until it was ready, or ended before."""
    printed = 0
    while True:
        ended, lines = child.poll() is not None, log.read_text().splitlines()
        if any("The federation is ready" in line for line in lines):
            return lines, True
        for line in lines[printed:]:
            if line.startswith("  "):
                reporter.step(line.strip())
        printed = len(lines)
        if ended:
            return lines, False
        time.sleep(0.05)


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


def backup(flags: argparse.Namespace) -> int:
    """Save a federation to one file."""
    from karmada.standalone.archive import save
    from karmada.standalone.backups import verified

    try:
        save(Layout(flags.data), flags.file, plain=flags.plain)
        found = verified(flags.file) if flags.verify else {}
    except LayoutError as error:
        return _fail(str(error))
    print(f"saved to {flags.file}; it holds keys: keep it where keys belong")
    for part, count in found.items():
        print(f"  {part}: {counted(count, 'object')}, restored and read")
    return 0


def restore(flags: argparse.Namespace) -> int:
    """Make a federation from a backup."""
    from karmada.standalone.archive import load

    layout = Layout(flags.data)
    try:
        load(layout, flags.file, new_ports=flags.new_ports, members=not flags.control_plane_only)
    except LayoutError as error:
        return _fail(str(error))
    print(f"restored to {flags.data}: start it with `{layout.command('up')}`")
    return 0


def recover(flags: argparse.Namespace) -> int:
    """Accept that acknowledged writes are lost."""
    from karmada.apiserver.storage.base import StorageFailed
    from karmada.apiserver.storage.sqlite import recover as accept

    layout = Layout(flags.data)
    try:
        losses = {path: accept(path) for path in layout.databases()}
    except StorageFailed as error:
        return _fail(f"{error}; a running federation is stopped with `{layout.command('down')}`")
    for path, loss in losses.items():
        if loss is not None:
            print(f"{path}: the writes of revisions {loss[0]} to {loss[1]} are given up")
    if not any(losses.values()):
        print(f"nothing is lost in {layout.root}")
    return 0


def _fail(message: str) -> int:
    print(f"error: {message}", file=sys.stderr)
    return 1
