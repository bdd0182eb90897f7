"""A running server with a fake workload backend, and the real kubectl."""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests import programs

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.requests.subresources.connect import Backends
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.httpserver.backends import ExecRequest, ExitStatus, ForwardingFailed, LogRequest


class FakeWorkloads:
    """Runs `cat`, `echo` and `exit`, answers HTTP on port 80, has three lines of log."""

    async def execute(self, request: ExecRequest, streams) -> ExitStatus:
        command, *arguments = request.command or ("attached",)
        if command == "cat":
            while data := await streams.read():
                await streams.write(data)
        elif command == "exit":
            await streams.write_error(b"leaving\n")
            return ExitStatus(int(arguments[0]))
        else:
            await streams.write((" ".join((command, *arguments)) + "\n").encode())
        return ExitStatus()

    async def forward(self, namespace: str, pod: str, port: int, stream) -> None:
        if port != 80:
            raise ForwardingFailed("connection refused")
        head = b""
        while b"\r\n\r\n" not in head:
            data = await stream.read()
            if not data:
                return
            head += data
        body = head.split(b"\r\n")[0]
        await stream.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    async def logs(self, request: LogRequest) -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"line %d\n" % number


@dataclass
class Result:
    code: int
    out: str
    err: str


@dataclass
class Kubectl:
    folder: Path
    port: int
    websockets: bool = True
    """Whether streams use WebSocket; otherwise SPDY, as older clients do."""

    async def __call__(self, *arguments: str, stdin: str = "", editor: str = "") -> Result:
        process = await self.start(*arguments, editor=editor)
        out, err = await asyncio.wait_for(process.communicate(stdin.encode()), 60)
        return Result(process.returncode or 0, out.decode(), err.decode())

    async def start(self, *arguments: str, editor: str = "") -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        environment = {
            "KUBECONFIG": str(self.folder / "kubeconfig"),
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "EDITOR": editor,
            "KUBECTL_REMOTE_COMMAND_WEBSOCKETS": str(self.websockets).lower(),
            "KUBECTL_PORT_FORWARD_WEBSOCKETS": str(self.websockets).lower(),
        }
        return await asyncio.create_subprocess_exec(
            programs.kubectl(), *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        )


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ApiServer]:
    fake = FakeWorkloads()
    async with ApiServer(ApiServerOptions(folder=tmp_path, backends=Backends(fake, fake, fake))) as started:
        yield started


@pytest.fixture
async def kubectl(server: ApiServer, tmp_path: Path) -> Kubectl:
    await asyncio.to_thread(programs.kubectl)
    port = await server.listen()
    authority = server.identity.authority
    certificate, key = authority.issue_client("admin", ["system:masters"])
    config = kubeconfig(f"https://127.0.0.1:{port}", authority.certificate_pem, certificate=certificate, key=key)
    write_kubeconfig(tmp_path / "kubeconfig", config)
    return Kubectl(tmp_path, port)
