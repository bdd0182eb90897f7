"""What runs behind exec, attach, port-forward and logs: protocols that whoever has workloads implements."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from karmada.machinery.httpserver.model import ByteStream


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """A command in a container (`command` is empty for attach) and the streams the client wants."""

    namespace: str
    pod: str
    container: str
    command: tuple[str, ...]
    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


class TerminalSize(NamedTuple):
    """A client's window."""

    width: int
    height: int


class ProcessStreams(Protocol):
    """A process' side of its streams."""

    async def read(self) -> bytes:
        """Next input; empty at its end."""
        ...

    async def write(self, data: bytes) -> None:
        """Standard output, with back-pressure."""
        ...

    async def write_error(self, data: bytes) -> None:
        """Standard error, with back-pressure."""
        ...

    async def resized(self) -> TerminalSize:
        """Wait for the next change of the client's window."""
        ...


class ExitStatus(NamedTuple):
    """How a command ended; `message` is set when it could not be run at all."""

    code: int = 0
    message: str = ""


class ExecBackend(Protocol):
    """Runs commands in containers."""

    async def execute(self, request: ExecRequest, streams: ProcessStreams) -> ExitStatus:
        """Run to the end; cancelled when the client goes away."""
        ...


class PortForwardBackend(Protocol):
    """Connects to ports of pods."""

    async def forward(self, namespace: str, pod: str, port: int, stream: ByteStream) -> None:
        """Serve one connection to its end; raise `ForwardingFailed` when the port cannot be reached."""
        ...


class ForwardingFailed(Exception):
    """A port cannot be reached; the text goes to the client."""


@dataclass(frozen=True, slots=True)
class LogRequest:
    """Which lines of a container's log; zero or None mean all."""

    namespace: str
    pod: str
    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail: int | None = None
    since_seconds: int | None = None
    since_time: str = ""
    limit_bytes: int | None = None


class LogBackend(Protocol):
    """Reads logs of containers."""

    def logs(self, request: LogRequest) -> AsyncIterator[bytes]:
        """The log in pieces; without end when following. Raises a `Failure` at once, while it can be an answer."""
        ...
