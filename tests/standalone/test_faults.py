"""What can go wrong around a federation: a clear message, never a corrupt store, never an orphan."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from karmada.apiserver.storage.sqlite.database import last_revision
from karmada.apiserver.storage.sqlite.mark import read_mark

PROGRAM = [sys.executable, "-m", "karmada.standalone.main"]
pytestmark = pytest.mark.tools


def karmada(*arguments: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def processes_of(folder: Path) -> list[int]:
    """Everything that runs for a federation."""
    found = []
    for process in psutil.process_iter():
        try:
            command = process.cmdline()
        except psutil.Error:
            continue
        if any(str(folder) in word for word in command) and "karmada" in " ".join(command):
            found.append(process.pid)
    return found


def wait_until(check, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


def test_a_port_in_use_is_named_with_a_remedy(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = karmada("up", "--data", str(tmp_path), "--members", "1", "--port", port)
    assert outcome.returncode == 1
    assert f"cannot serve on 127.0.0.1:{port}" in outcome.stderr
    assert "--port" in outcome.stderr
    wait_until(lambda: processes_of(tmp_path) == [])


def test_a_directory_without_permission_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    outcome = karmada("up", "--data", str(blocked / "federation"))
    assert outcome.returncode == 1
    assert "cannot write" in outcome.stderr


@pytest.mark.parametrize(
    ("argument", "complaint"),
    [
        ("--feature-gate=Failover=true", "did you mean --feature-gates?"),
        ("--membres=3", "did you mean --members?"),
        ("--feature-gates=Failovr=true", "Failovr"),
        ("--cluster-status-update-frequency=soon", "such as 10s"),
        ("--controllers=bindng", "bindng"),
    ],
    ids=["misspelt flag", "misspelt flag of its own", "misspelt gate", "not a duration", "misspelt controller"],
)
def test_a_mistake_on_the_command_line_is_reported_before_anything_runs(
    tmp_path: Path, argument: str, complaint: str
) -> None:
    outcome = karmada("up", "--data", str(tmp_path / "federation"), argument)
    assert outcome.returncode == 2
    assert complaint in outcome.stderr
    assert not (tmp_path / "federation").exists()


def test_a_demo_that_should_go_on_alone_is_refused() -> None:
    outcome = karmada("demo", "--detach")
    assert outcome.returncode == 2
    assert "karmada demo: error: unknown flag: --detach" in outcome.stderr


def test_a_pull_member_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    outcome = karmada("up", "--data", str(tmp_path), "--members", "1", "--memory", "--pull", "member9")
    assert outcome.returncode == 1
    assert "--pull member9: there is no such member; there are member1" in outcome.stderr
    wait_until(lambda: processes_of(tmp_path) == [])


def test_a_member_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text("members: [{name: broken, faults: {down: true}}]")
    outcome = karmada("up", "--data", str(tmp_path / "federation"), "--memory", "--fleet", str(fleet))
    assert outcome.returncode == 1
    assert "Traceback" not in outcome.stderr
    assert "broken" in outcome.stderr.rpartition("error: ")[2]
    wait_until(lambda: processes_of(tmp_path) == [])


def test_killed_in_the_middle_of_its_start_it_starts_again(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path), "--members", "1")
    supervisor = subprocess.Popen([*PROGRAM, "up", *data], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: (tmp_path / "control-plane" / "karmada.db").exists())
    supervisor.kill()
    supervisor.wait()
    wait_until(lambda: processes_of(tmp_path) == [])
    try:
        assert karmada("up", "--detach", *data).returncode == 0
    finally:
        karmada("down", "--data", str(tmp_path))
    wait_until(lambda: processes_of(tmp_path) == [])


def test_stopped_while_it_starts_it_leaves_nothing_behind(tmp_path: Path) -> None:
    supervisor = subprocess.Popen(
        [*PROGRAM, "up", "--data", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until((tmp_path / "logs" / "members.log").exists)
    assert karmada("down", "--data", str(tmp_path)).stdout == "stopped\n"
    assert supervisor.wait(30) == 0
    wait_until(lambda: processes_of(tmp_path) == [])


def test_ctrl_c_of_a_start_in_the_background_stops_what_it_began(tmp_path: Path) -> None:
    starting = subprocess.Popen(
        [*PROGRAM, "up", "--detach", "--data", str(tmp_path)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until((tmp_path / "logs" / "members.log").exists)
    starting.send_signal(signal.SIGINT)
    assert starting.wait(60) != 0
    assert processes_of(tmp_path) == []


def test_what_a_dead_supervisor_left_behind_names_nobody(tmp_path: Path) -> None:
    """Its process id may be somebody else's by now: they are not stopped."""
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (tmp_path / "lock").touch()
        (tmp_path / "supervisor.pid").write_text(f"{stranger.pid}\n")
        assert "nothing runs in" in karmada("down", "--data", str(tmp_path)).stdout
        assert karmada("status", "--data", str(tmp_path)).returncode == 1
        assert stranger.poll() is None
        stranger.kill()


def test_a_backup_of_a_running_federation_becomes_the_same_federation(tmp_path: Path) -> None:
    first, second, saved = tmp_path / "first", tmp_path / "second", tmp_path / "saved.tar.gz"
    kubectl = ("kubectl", "--kubeconfig")
    assert karmada("up", "--detach", "--members", "1", "--data", str(first)).returncode == 0
    try:
        subprocess.run([*kubectl, first / "kubeconfig", "create", "configmap", "kept"], check=True, capture_output=True)
        assert karmada("backup", str(saved), "--data", str(first)).returncode == 0
        assert saved.stat().st_mode & 0o777 == 0o600
    finally:
        karmada("down", "--data", str(first))
    again = karmada("restore", str(saved), "--data", str(first))
    assert again.returncode == 1
    assert "has a federation already" in again.stderr

    assert karmada("restore", str(saved), "--data", str(second)).returncode == 0
    try:
        assert karmada("up", "--detach", "--members", "1", "--data", str(second)).returncode == 0
        found = subprocess.run(
            [*kubectl, second / "kubeconfig", "get", "configmap/kept", "cluster/member1"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert "kept" in found.stdout
        assert "True" in found.stdout
    finally:
        karmada("down", "--data", str(second))


def test_logs_are_printed_and_a_wrong_name_is_reported(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "members.log").write_text("one\ntwo\nthree\n")
    assert karmada("logs", "--data", str(tmp_path), "--lines", "2").stdout == "two\nthree\n"
    wrong = karmada("logs", "member", "--data", str(tmp_path))
    assert wrong.returncode == 1
    assert "there are: members" in wrong.stderr


def test_a_child_that_is_killed_comes_back_on_the_same_port(tmp_path: Path) -> None:
    assert karmada("up", "--detach", "--members", "1", "--data", str(tmp_path)).returncode == 0
    try:
        before = (tmp_path / "control-plane" / "port").read_text()
        [control] = [
            pid for pid in processes_of(tmp_path) if "control-plane" in " ".join(psutil.Process(pid).cmdline())
        ]
        os.kill(control, signal.SIGKILL)

        def answers() -> bool:
            return karmada("status", "--data", str(tmp_path)).stdout.count("ready") == 1

        wait_until(answers)
        assert (tmp_path / "control-plane" / "port").read_text() == before
    finally:
        karmada("down", "--data", str(tmp_path))


def lose_marked_writes(database: Path, copy: Path) -> None:
    """Cut a database's log until it ends below its mark: what was written last may not be marked yet."""
    log, copied_log = (path.with_name(f"{path.name}-wal") for path in (database, copy))
    size, left = log.stat().st_size, read_mark(database)
    while left >= read_mark(database):
        size -= 4096
        os.truncate(log, size)
        shutil.copy(database, copy)
        shutil.copy(log, copied_log)
        with contextlib.closing(sqlite3.connect(copy)) as opened:
            left = last_revision(opened)


def test_a_federation_that_lost_acknowledged_writes_is_served_read_only_until_that_is_accepted(tmp_path: Path) -> None:
    data = ("--members", "1", "--data", str(tmp_path))
    database = tmp_path / "control-plane" / "karmada.db"

    def kubectl(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["kubectl", "--kubeconfig", tmp_path / "kubeconfig", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    try:
        assert karmada("up", "--detach", *data).returncode == 0
        assert kubectl("create", "configmap", "lost").returncode == 0
        for pid in processes_of(tmp_path):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: processes_of(tmp_path) == [])
        lose_marked_writes(database, tmp_path / "copy.db")

        reason = f"{database}: acknowledged writes up to revision "
        started = karmada("up", "--detach", *data)
        assert started.returncode == 0
        assert started.stdout.startswith(f"read-only: {reason}")
        assert f"read-only: {reason}" in karmada("status", "--data", str(tmp_path)).stdout
        assert kubectl("get", "clusters").returncode == 0
        assert "`karmada recover`" in kubectl("create", "configmap", "refused").stderr
        refused = karmada("recover", "--data", str(tmp_path))
        assert "karmada down" in refused.stderr
        karmada("down", "--data", str(tmp_path))

        accepted = karmada("recover", "--data", str(tmp_path))
        assert accepted.stdout.startswith(f"{database}: the writes of revisions ")
        assert karmada("recover", "--data", str(tmp_path)).stdout == f"nothing is lost in {tmp_path}\n"
        assert karmada("up", "--detach", *data).stdout.startswith("ready: ")
        assert kubectl("create", "configmap", "new").returncode == 0
    finally:
        karmada("down", "--data", str(tmp_path))


def test_a_member_joins_by_an_agent_of_its_own(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    try:
        reporting = "--report-secrets=KubeCredentials,KubeImpersonator"
        started = karmada("up", "--detach", "--memory", "--members", "2", "--pull", "member2", reporting, *data)
        assert started.returncode == 0
        found = subprocess.run(
            ["kubectl", "--kubeconfig", tmp_path / "kubeconfig", "get", "clusters", "-o", "json"],
            check=True,
            capture_output=True,
            text=True,
        )
        specs = {cluster["metadata"]["name"]: cluster["spec"] for cluster in json.loads(found.stdout)["items"]}
        assert {name: spec["syncMode"] for name, spec in specs.items()} == {"member1": "Push", "member2": "Pull"}
        assert specs["member2"]["secretRef"]["name"] == "member2"
    finally:
        karmada("down", *data)
    wait_until(lambda: processes_of(tmp_path) == [])
