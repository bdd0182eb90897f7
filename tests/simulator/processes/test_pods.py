"""Pods that are processes: they run, are reached, fail, are restarted, changed and ended like containers."""

import asyncio
import base64
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from karmada.machinery.errors import AlreadyExists, NotFound
from karmada.machinery.httpserver.backends import ForwardingFailed, LogRequest
from karmada.machinery.transport import GroupVersionResource
from karmada.simulator.member import Member
from karmada.simulator.processes.container import ContainerProcess
from karmada.simulator.spec import MemberSpec, ProcessSpec
from karmada.simulator.workloads.kinds import PODS, SERVICES

SPACE = "karmada-system"
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
SECRETS = GroupVersionResource("", "v1", "secrets")
SERVER = ["karmada-apiserver", "--bind-address=0.0.0.0", "--storage=memory:", "--data-dir=/var/lib/karmada"]
READY = {"httpGet": {"path": "/readyz", "port": "https", "scheme": "HTTPS"}}
PATIENCE = 40.0
Pod = dict[str, Any]


@pytest.fixture
async def member(tmp_path: Path) -> AsyncIterator[Member]:
    spec = MemberSpec("host", processes=ProcessSpec((SPACE,)))
    async with Member(spec, folder=tmp_path) as made:
        await made.listen()
        for name in (SPACE, "other"):
            await made.inside.resource(NAMESPACES).create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        yield made


def pod_of(command: list[str], namespace: str = SPACE, **more: Any) -> Pod:
    spec: Pod = {
        "automountServiceAccountToken": False,
        "containers": [
            {
                "name": "main",
                "image": "karmada:0.1.0",
                "command": command,
                "ports": [{"name": "https", "containerPort": 5443}],
                "volumeMounts": [{"name": "data", "mountPath": "/var/lib/karmada"}],
                **more.pop("container", {}),
            }
        ],
        "volumes": [{"name": "data", "hostPath": {"path": "/var/lib/karmada"}}, *more.pop("volumes", ())],
        **more,
    }
    about = {"name": "server", "namespace": namespace, "labels": {"app": "server"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}


async def until(member: Member, holds: Callable[[Pod], Any], namespace: str = SPACE) -> Pod:
    """The pod as soon as something holds of it."""
    pod: Pod = {}
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                pod = await member.inside.resource(PODS).get("server", namespace)
                with contextlib.suppress(KeyError, IndexError):
                    if holds(pod):
                        return pod
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(pod.get("status")) from None


async def gone(member: Member) -> None:
    async with asyncio.timeout(PATIENCE):
        with contextlib.suppress(NotFound):
            while True:
                await member.inside.resource(PODS).get("server", SPACE)
                await asyncio.sleep(0.05)


class Line:
    """A forwarded connection that sends one thing and takes whatever comes back."""

    def __init__(self, sends: bytes) -> None:
        self._sends = [sends]
        self.received = b""
        self.closed = False

    async def read(self) -> bytes:
        if self._sends:
            return self._sends.pop()
        await asyncio.Event().wait()
        raise AssertionError

    async def write(self, data: bytes) -> None:
        self.received += data

    async def close(self) -> None:
        self.closed = True


def is_ready(pod: Pod) -> bool:
    return bool(pod["status"]["containerStatuses"][0]["ready"])


def process_of(member: Member, pod: Pod) -> ContainerProcess:
    assert member.processes is not None
    return member.processes.running[pod["metadata"]["uid"]].containers["main"]


def is_alive(pid: int | None) -> bool:
    return pid is not None and Path(f"/proc/{pid}").exists()


def text_of(path: str | Path) -> str:
    return Path(path).read_text()


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            with contextlib.suppress(OSError):
                if holds():
                    return
            await asyncio.sleep(0.05)


async def log_of(member: Member, **request: Any) -> str:
    pieces = member.server.options.backends.logs
    assert pieces is not None
    return b"".join([piece async for piece in pieces.logs(LogRequest(SPACE, "server", "main", **request))]).decode()


async def version_at(host: str, port: int) -> bytes:
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    reader, writer = await asyncio.open_connection(host, port, ssl=tls)
    writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    with contextlib.suppress(OSError, ssl.SSLError):
        await writer.wait_closed()
    return answer


async def test_a_known_program_runs_serves_behind_its_service_and_ends_with_its_pod(member: Member) -> None:
    ports = [{"name": "https", "port": 443, "targetPort": "https", "nodePort": 30443}]
    service = {"type": "NodePort", "selector": {"app": "server"}, "ports": ports}
    about = {"name": "server", "namespace": SPACE}
    made = await member.inside.resource(SERVICES).create(
        {"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": service}
    )
    await member.inside.resource(PODS).create(pod_of(SERVER, container={"readinessProbe": READY}))
    pod = await until(member, is_ready)
    assert pod["status"]["podIP"].startswith("127.")
    assert b'"gitVersion"' in await version_at(pod["status"]["podIP"], 5443)
    assert b'"gitVersion"' in await version_at(made["spec"]["clusterIP"], 443)
    assert b'"gitVersion"' in await version_at(pod["status"]["hostIP"], 30443)
    assert "serving on https://" in await log_of(member)
    line = Line(b"GET / HTTP/1.0\r\n\r\n")
    forwarding = member.server.options.backends.forward
    assert forwarding is not None
    await forwarding.forward(SPACE, "server", 5443, line)
    assert line.closed
    assert line.received.startswith(b"\x15\x03") or b"400" in line.received  # what a TLS server says to plain text
    with pytest.raises(ForwardingFailed, match="Connection refused"):
        await forwarding.forward(SPACE, "server", 1, line)
    stamped = await log_of(member, timestamps=True, tail=1)
    assert stamped.startswith("20")
    assert stamped.split(" ")[0].endswith("Z")
    pid = process_of(member, pod).pid
    assert pid is not None
    assert f"{made['spec']['clusterIP']} server server.{SPACE} server.{SPACE}.svc " in text_of(
        Path("/proc", str(pid), "root", "etc", "hosts")
    )
    await member.inside.resource(PODS).delete("server", SPACE)
    await gone(member)
    assert not is_alive(pid)


async def test_what_ends_is_restarted_with_its_volumes_and_what_keeps_failing_is_backed_off(
    member: Member, tmp_path: Path
) -> None:
    await member.inside.resource(PODS).create(pod_of(SERVER, container={"readinessProbe": READY}))
    pod = await until(member, is_ready)
    pid = process_of(member, pod).pid
    assert pid is not None
    assert text_of(tmp_path / "processes/shared/host/var/lib/karmada/admin.kubeconfig")
    os.kill(pid, 9)
    pod = await until(member, lambda pod: pod["status"]["containerStatuses"][0]["restartCount"] == 1 and is_ready(pod))
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137
    assert "serving on https://" in await log_of(member, previous=True)
    await member.inside.resource(PODS).delete("server", SPACE)
    await gone(member)
    await member.inside.resource(PODS).create(pod_of(["karmada-scheduler", "--kubeconfig=/nowhere"]))
    pod = await until(
        member,
        lambda pod: pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff",
    )
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1
    assert "/nowhere" in await log_of(member)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"command": ["sh", "-c", "touch /tmp/was-here"]}, "does not run 'sh'"),
        ({"command": ["/var/lib/karmada/karmada-scheduler-2"]}, "does not run"),
        ({"env": [{"name": "LD_PRELOAD", "value": "/var/lib/karmada/x.so"}]}, "LD_PRELOAD is not passed on"),
        ({"env": [{"name": "PYTHONPATH", "value": "/var/lib/karmada"}]}, "PYTHONPATH is not passed on"),
        ({"volumeMounts": [{"name": "access", "mountPath": "/etc/a"}]}, "config is a kubeconfig that starts a program"),
    ],
)
async def test_nothing_but_known_programs_is_ever_started(member: Member, changes: Pod, why: str) -> None:
    text = b"users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sh}}}]"
    secret = {"config": base64.b64encode(text).decode()}
    about = {"name": "access", "namespace": SPACE}
    await member.inside.resource(SECRETS).create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": about, "data": secret}
    )
    volumes = [{"name": "access", "secret": {"secretName": "access"}}] if "volumeMounts" in changes else []
    await member.inside.resource(PODS).create(pod_of(SERVER, container=changes, volumes=volumes))
    waits = "CreateContainerError"
    pod = await until(member, lambda pod: pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == waits)
    assert why in pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"]
    assert process_of(member, pod).pid is None


async def test_pods_of_other_namespaces_and_of_other_images_are_simulated(member: Member) -> None:
    await member.inside.resource(PODS).create(pod_of(SERVER, "other"))
    await until(member, is_ready, "other")
    await member.inside.resource(PODS).create(pod_of(["nginx"], container={"image": "nginx"}))
    await until(member, is_ready)
    assert member.processes is not None
    assert not member.processes.running


async def test_files_of_a_secret_follow_it_while_the_program_runs(member: Member) -> None:
    tree: Pod = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "late", "namespace": SPACE}}
    mounts = [{"name": "data", "mountPath": "/var/lib/karmada"}, {"name": "late", "mountPath": "/etc/late"}]
    volumes = [{"name": "late", "secret": {"secretName": "late"}}]
    await member.inside.resource(PODS).create(pod_of(SERVER, container={"volumeMounts": mounts}, volumes=volumes))
    waits = "CreateContainerConfigError"
    pod = await until(member, lambda pod: pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == waits)
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"] == 'secret "late" not found'
    await member.inside.resource(SECRETS).create(tree | {"stringData": {"a": "one", "b": "x"}})
    pod = await until(member, is_ready)
    assert member.processes is not None
    folder = member.processes.running[pod["metadata"]["uid"]].folder / "volumes" / "late"
    assert (folder / "a").read_text() == "one"
    assert (folder / "a").stat().st_mode & 0o777 == 0o600
    await member.inside.resource(SECRETS).patch(
        "late", {"data": {"a": base64.b64encode(b"two").decode(), "b": None}}, SPACE
    )
    await eventually(lambda: [(path.name, text_of(path)) for path in folder.iterdir()] == [("a", "two")])


async def test_processes_end_with_their_node_and_with_the_cluster(tmp_path: Path) -> None:
    async with Member(MemberSpec("host", processes=ProcessSpec((SPACE,))), folder=tmp_path) as member:
        with contextlib.suppress(AlreadyExists):
            await member.inside.resource(NAMESPACES).create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
            )
        await member.inside.resource(PODS).create(pod_of(SERVER))
        pod = await until(member, is_ready)
        pid = process_of(member, pod).pid
        member.set_node_down("host-node-1")
        await eventually(lambda: not is_alive(pid))
        member.set_node_down("host-node-1", down=False)
        # The first process is gone before the loop hears of it: until then its pod still names it.
        pod = await until(member, lambda pod: is_ready(pod) and process_of(member, pod).pid not in (None, pid))
        again = process_of(member, pod).pid
        assert is_alive(again)
    assert not is_alive(again)


async def test_a_folder_may_be_named_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("members")  # a program in a pod has a working directory of its own
    tokens: Pod = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tokens", "namespace": SPACE}}
    mounts = [{"name": "data", "mountPath": "/var/lib/karmada"}, {"name": "tokens", "mountPath": "/etc/tokens"}]
    volumes = [{"name": "tokens", "secret": {"secretName": "tokens"}}]
    command = [*SERVER, "--token-auth-file=/etc/tokens/all.csv"]
    async with Member(MemberSpec("host", processes=ProcessSpec((SPACE,))), folder=folder) as member:
        await member.inside.resource(NAMESPACES).create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
        )
        await member.inside.resource(SECRETS).create(tokens | {"stringData": {"all.csv": "secret,ann,1"}})
        container = {"volumeMounts": mounts, "readinessProbe": READY}
        await member.inside.resource(PODS).create(pod_of(command, container=container, volumes=volumes))
        await until(member, is_ready)
