"""Disks that are full, read-only or somebody else's: a clear word, nothing left running, nothing corrupt.

Disks are small file systems in memory, mounted where only the started command sees them.
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from karmada.apiserver.storage.sqlite.database import Row, append, connect
from karmada.standalone.archive import save
from karmada.standalone.layout import Layout

pytestmark = pytest.mark.tools
PROGRAM = f"{sys.executable} -m karmada.standalone.main"
KARMADACTL = f'{sys.executable} -c "import sys; from karmada.cli.entry import karmadactl; sys.exit(karmadactl())"'
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


def on_a_disk(folder: Path, options: str, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the shell with a file system of its own at a folder."""
    if shutil.which("unshare") is None:
        pytest.skip("needs mount namespaces")
    mount = f"mount -t tmpfs -o {options} tmpfs {folder}"
    return subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", f"set -e; {mount}; {script}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_read_only_disk_is_reported(tmp_path: Path) -> None:
    outcome = on_a_disk(tmp_path, "ro", f"{PROGRAM} up --data {tmp_path}/federation")
    assert outcome.returncode == 1
    assert f"cannot write {tmp_path}/federation: Read-only file system" in outcome.stderr


@pytest.mark.parametrize("size", ["100k", "1100k"], ids=["too small for members", "too small for the control plane"])
def test_a_full_disk_is_reported_and_does_no_harm(tmp_path: Path, size: str) -> None:
    """Once there is room the same directory is used, and what was begun is finished."""
    up = f"{PROGRAM} up --detach --members 1 --data {tmp_path}/federation"
    script = f"""
        {up} 2>&1 && {{ {PROGRAM} down --data {tmp_path}/federation; exit 9; }}
        mount -o remount,size=64m {tmp_path}
        {up}
        {PROGRAM} status --data {tmp_path}/federation
        {PROGRAM} down --data {tmp_path}/federation
    """
    outcome = on_a_disk(tmp_path, f"size={size}", script)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "the disk is full; free some space" in outcome.stdout, outcome.stdout + outcome.stderr
    assert "Traceback" not in outcome.stdout
    assert "member1              ready" in outcome.stdout
    assert outcome.stdout.endswith("stopped\n")


def test_a_disk_that_fills_up_refuses_writes_until_there_is_room(tmp_path: Path) -> None:
    kubectl = f"kubectl --kubeconfig {tmp_path}/federation/kubeconfig"
    script = f"""
        {PROGRAM} up --detach --members 1 --data {tmp_path}/federation
        {kubectl} create configmap before >/dev/null
        head -c 64m /dev/zero > {tmp_path}/ballast 2>/dev/null || true
        head -c 300k /dev/zero | tr '\\0' x > {tmp_path}/../large
        {kubectl} create configmap large --from-file={tmp_path}/../large 2>&1 && exit 9
        {KARMADACTL} check --kubeconfig {tmp_path}/federation/kubeconfig 2>&1 && exit 9
        {kubectl} get configmap before
        rm {tmp_path}/ballast
        {kubectl} create configmap after
        {PROGRAM} down --data {tmp_path}/federation
        {PROGRAM} up --detach --members 1 --data {tmp_path}/federation
        {kubectl} get configmap before after
        {PROGRAM} down --data {tmp_path}/federation
    """
    outcome = on_a_disk(tmp_path, "size=32m", script)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "the disk is full" in outcome.stdout
    assert re.search(r"✗ readiness +fails: the control plane cannot write to its storage", outcome.stdout)


def test_a_control_plane_that_is_killed_on_a_full_disk_is_back_read_only_until_there_is_room(tmp_path: Path) -> None:
    kubectl = f"kubectl --kubeconfig {tmp_path}/federation/kubeconfig"
    status = f"{PROGRAM} status --data {tmp_path}/federation"
    script = f"""
        {PROGRAM} up --detach --members 1 --data {tmp_path}/federation
        {kubectl} create configmap before >/dev/null
        head -c 64m /dev/zero > {tmp_path}/ballast 2>/dev/null || true
        kill -KILL $(pgrep --parent $(cat {tmp_path}/federation/supervisor.pid) --full control_plane_main)
        for i in $(seq 100); do {status} 2>/dev/null | grep read-only && break; sleep 0.2; done
        {kubectl} get configmap before
        {kubectl} create configmap meanwhile 2>&1 && exit 9
        rm {tmp_path}/ballast
        for i in $(seq 100); do {kubectl} create configmap after && break; sleep 0.2; done
        {status}
        {PROGRAM} down --data {tmp_path}/federation
    """
    outcome = on_a_disk(tmp_path, "size=32m", script)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    line, *_ = [line for line in outcome.stdout.splitlines() if line.startswith("read-only: ")]
    assert line.startswith(f"read-only: {tmp_path}/federation/control-plane/karmada.db: the disk is full; free some")
    assert "configmap/meanwhile" not in outcome.stdout
    assert "configmap/after created" in outcome.stdout
    assert outcome.stdout.endswith("stopped\n")


@pytest.mark.parametrize("flag", ["--detach", ""])
def test_a_start_on_a_full_disk_is_refused_in_one_sentence(tmp_path: Path, flag: str) -> None:
    script = f"""
        mkdir -p {tmp_path}/federation/control-plane {tmp_path}/federation/members {tmp_path}/federation/logs
        echo 1 > {tmp_path}/federation/format; touch {tmp_path}/federation/lock
        head -c 64m /dev/zero > {tmp_path}/ballast 2>/dev/null || true
        {PROGRAM} up {flag} --data {tmp_path}/federation
    """
    outcome = on_a_disk(tmp_path, "size=1m", script)
    assert outcome.returncode == 1
    assert outcome.stderr == f"error: cannot write {tmp_path}/federation: No space left on device\n"


def test_a_restore_onto_a_disk_that_is_too_small_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    (disk := tmp_path / "disk").mkdir()
    federation = Layout(tmp_path / "federation")
    federation.prepare()
    db = connect(federation.control_plane / "karmada.db")
    append(db, [Row(revision, f"/{revision}", 0, False, os.urandom(10_000)) for revision in range(3, 203)])
    db.close()
    save(federation, tmp_path / "saved.tar.gz")
    restore = f"{PROGRAM} restore {tmp_path}/saved.tar.gz --data {disk}/restored"
    script = f"""
        {restore} 2>&1 && exit 9
        find {disk}/restored/control-plane {disk}/restored/members -mindepth 1
        test ! -e {disk}/restored/restoring
        mount -o remount,size=64m {disk}
        {restore}
        ls {disk}/restored/control-plane
    """
    outcome = on_a_disk(disk, "size=1100k", script)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    refusal, success, *found = outcome.stdout.splitlines()
    message = f"error: {tmp_path}/saved.tar.gz was not restored: there is not enough space in {disk}/restored"
    assert refusal == message
    assert success.startswith(f"restored to {disk}/restored")
    assert "karmada.db" in found


def test_a_directory_of_somebody_else_is_reported(tmp_path: Path) -> None:
    """Also to an administrator, who in this test is held to the same rules as everybody."""
    tmp_path.chmod(0o500)
    outcome = subprocess.run(
        [*PROGRAM.split(), "up", "--data", str(tmp_path / "federation")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=_held_to_permissions,
    )
    tmp_path.chmod(0o700)
    assert outcome.returncode == 1
    assert f"no permission to write {tmp_path}/federation: choose another directory with --data" in outcome.stderr


def _held_to_permissions() -> None:
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)
