"""Snapshots of an etcd by its own tools, as docs/production.md says: taken while it serves, restored into another."""

import asyncio
from pathlib import Path

from karmada.testing.stage.programs import program
from karmada.testing.stage.servers import Etcd

BUMP = 1_000_000_000
"""Revisions are continued this far above the snapshot's: no client has seen any of them."""


async def save(etcd: Etcd, file: Path) -> None:
    """Take a snapshot of a running etcd."""
    keys = (f"--cacert={etcd.folder}/ca.crt", f"--cert={etcd.folder}/client.crt", f"--key={etcd.folder}/client.key")
    await _run(program("etcdctl"), f"--endpoints={etcd.url}", *keys, "snapshot", "save", str(file))


async def restore(file: Path, etcd: Etcd) -> None:
    """Fill an etcd that was never started; watches of before must list again, as no revision means two things."""
    member = (f"--initial-cluster=default={etcd.peer}", f"--initial-advertise-peer-urls={etcd.peer}")
    bump = (f"--bump-revision={BUMP}", "--mark-compacted")
    await _run(program("etcdutl"), "snapshot", "restore", str(file), f"--data-dir={etcd.data}", *member, *bump)


async def _run(*command: str | Path) -> None:
    pipes = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
    process = await asyncio.create_subprocess_exec(*map(str, command), stdout=pipes[0], stderr=pipes[1])
    output, _ = await process.communicate()
    if process.returncode:
        raise OSError(f"{' '.join(map(str, command))}: {output.decode(errors='replace')}")
