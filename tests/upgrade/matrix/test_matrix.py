"""Up, down and up again between this version and earlier ones; and components of both at one control plane."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import psutil
import pytest
from tests.upgrade.conftest import MATRIX
from tests.upgrade.versions import MANIFESTS, MEMBERS, Version, eventually, kubectl, read, spread, unpack

pytestmark = pytest.mark.tools
commits = pytest.mark.parametrize("commit", MATRIX)
EVERY_GATE = "--feature-gates=AllAlpha=true,AllBeta=true,KeepLastCopy=true,AvoidEvictionLoops=true"


@contextmanager
def running(version: Version, data: Path, *flags: str) -> Iterator[None]:
    version.karmada(data, "up", "--detach", *flags)
    try:
        yield
    finally:
        version.karmada(data, "down")


def pods(data: Path) -> set[str]:
    """The uids of all pods in members: a workload that was left alone keeps them."""
    listed = (orjson.loads(kubectl(data, "get", "pods", "-n", "shop", "-o", "json", context=name)) for name in MEMBERS)
    return {pod["metadata"]["uid"] for found in listed for pod in found["items"]}


def scaled(data: Path, replicas: int) -> None:
    kubectl(data, "scale", "-n", "shop", "deployment/web", f"--replicas={replicas}")
    eventually(lambda: spread(data) == {"member1": replicas * 2 // 3, "member2": replicas // 3})


@commits
def test_up_down_and_up_again_without_disturbing_a_workload(commit: str, tmp_path: Path) -> None:
    data, present = unpack(commit, tmp_path), Version.present()
    earlier = Version.of(commit, tmp_path / "tree")
    with running(present, data):
        assert spread(data) == {"member1": 2, "member2": 1}
        before = pods(data)
        scaled(data, 6)
        assert before <= pods(data)
        kubectl(data, "create", "configmap", "upgraded", "-n", "shop", "--from-literal=a=b")
        before = pods(data)
    with running(earlier, data):
        assert read(data, "configmap/upgraded")["data"] == {"a": "b"}
        assert spread(data) == {"member1": 4, "member2": 2}
        assert pods(data) == before
        scaled(data, 9)
        kubectl(data, "create", "configmap", "downgraded", "-n", "shop", "--from-literal=a=b")
        before = pods(data)
    with running(present, data):
        assert read(data, "configmap/downgraded")["data"] == {"a": "b"}
        assert spread(data) == {"member1": 6, "member2": 3}
        assert pods(data) == before
        scaled(data, 3)


@commits
def test_feature_gates_can_be_turned_on_and_off_again(commit: str, tmp_path: Path) -> None:
    data, present = unpack(commit, tmp_path), Version.present()
    with running(present, data, EVERY_GATE):
        before = pods(data)
        scaled(data, 6)
        assert before <= pods(data)
        before = pods(data)
    with running(present, data):
        assert pods(data) == before
        scaled(data, 3)


@commits
@pytest.mark.parametrize("agent_is_older", [True, False], ids=["older agent", "older control plane"])
def test_an_agent_of_another_version_serves_its_member(commit: str, agent_is_older: bool, tmp_path: Path) -> None:
    present, earlier = Version.present(), Version.of(commit, tmp_path / "tree")
    hub, other = (present, earlier) if agent_is_older else (earlier, present)
    data = tmp_path / "federation"
    with running(hub, data, "--members", "2", "--pull", "member2"):
        own = next(process for process in psutil.process_iter() if _is_agent(process, data))
        own.send_signal(signal.SIGSTOP)  # it would be started again if it were killed
        agent = subprocess.Popen(
            own.cmdline(), env=other.environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        try:
            kubectl(data, "apply", "-f", str(MANIFESTS))
            eventually(lambda: spread(data) == {"member1": 2, "member2": 1})
            eventually(lambda: (read(data, "deployment/web").get("status") or {}).get("readyReplicas") == 3)
            assert agent.poll() is None
        finally:
            agent.terminate()
            agent.wait(30)
            own.send_signal(signal.SIGCONT)
        scaled(data, 6)


def _is_agent(process: psutil.Process, data: Path) -> bool:
    try:
        command = process.cmdline()
    except psutil.Error:
        return False
    return "karmada.agent.main" in command and any(str(data) in word for word in command)
