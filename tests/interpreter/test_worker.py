"""The process that runs scripts, part by part: what it answers, what it gives up, and when it ends."""

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

import karmada
from karmada.interpreter.lua.engine import Call, Engine
from karmada.interpreter.lua.protocol import LENGTH, READY, frame
from karmada.interpreter.lua.worker import lock_down, main, serve

PR_GET_PDEATHSIG, PR_GET_NO_NEW_PRIVS = 2, 39
SCRIPT = "function GetReplicas(obj) return obj.n end function Deep(obj) obj.self = obj return obj end"


@pytest.fixture(autouse=True)
def processor_time() -> Iterator[None]:
    """A call limits the processor time of its process, which here is that of all tests."""
    before = resource.getrlimit(resource.RLIMIT_CPU)
    yield
    resource.setrlimit(resource.RLIMIT_CPU, before)


class Dribbling(socket.socket):
    """A connection that gives a few bytes at a time."""

    def recv(self, size: int, flags: int = 0) -> bytes:
        return super().recv(min(size, 3), flags)


def frames(received: bytes) -> list[Any]:
    found = []
    while received:
        (size,) = LENGTH.unpack_from(received)
        found.append(orjson.loads(received[LENGTH.size : LENGTH.size + size]))
        received = received[LENGTH.size + size :]
    return found


def served(*requests: Any, engine: Engine | None = None) -> list[Any]:
    """What a worker answers to requests, without what it says first."""
    ours, theirs = socket.socketpair()
    with ours, Dribbling(fileno=theirs.detach()) as connection:
        ours.sendall(b"".join(frame(orjson.dumps(request)) for request in requests))
        ours.shutdown(socket.SHUT_WR)
        serve(connection, engine or Engine())
        connection.shutdown(socket.SHUT_WR)
        with ours.makefile("rb") as file:
            first, *answers = frames(file.read())
    assert first == orjson.loads(READY)
    return answers


def call(name: str, key: str = "k", result: str = "replicas") -> list[Any]:
    return [key, [name], [{"n": 3}], 0, result]


def test_each_request_has_its_answer() -> None:
    good, *answers = served(["k", SCRIPT], call("GetReplicas"), call("GetReplicas"), call("None"), ["b", "function"])
    assert (good, answers[:2]) == (["", None], [["", [3, None]]] * 2)
    assert [error_class for error_class, _ in answers[2:]] == ["function-not-found", "syntax"]
    assert served(["k", SCRIPT], call("Deep", result="table"))[1][0] == "encode"


class Broken(Engine):
    """An engine whose calls fail in a way of their own."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def call(self, key: str, call: Call) -> Any:
        raise self._error


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (MemoryError(), ["memory", "not enough memory"]),
        (RecursionError("deep"), ["encode", "deep"]),
        (orjson.JSONEncodeError("odd"), ["encode", "odd"]),
    ],
)
def test_a_call_that_breaks_python_is_a_failure_of_a_known_class(error: BaseException, answer: list[str]) -> None:
    assert served(call("GetReplicas"), engine=Broken(error)) == [answer]


def test_a_call_has_a_share_of_processor_time_that_a_script_to_be_compiled_has_not() -> None:
    def used() -> int:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return int(usage.ru_utime + usage.ru_stime)

    before = resource.getrlimit(resource.RLIMIT_CPU)
    served(["k", SCRIPT])
    assert resource.getrlimit(resource.RLIMIT_CPU) == before
    began = used()
    served(["k", SCRIPT], call("GetReplicas"))
    share, most = resource.getrlimit(resource.RLIMIT_CPU)
    assert began + 3 <= share <= used() + 3
    assert most == resource.RLIM_INFINITY


def in_a_child(work: Callable[[], str]) -> str:
    """What work says in a process of its own, which sees all that this one has."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as file:
        found = file.read()
    os.waitpid(child, 0)
    return found


def test_a_worker_gives_up_what_it_does_not_need_and_dies_with_its_parent() -> None:
    names = ("RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_NPROC", "RLIMIT_NOFILE")

    def limits() -> str:
        death = ctypes.c_int()
        lock_down()
        libc = ctypes.CDLL(None)
        libc.prctl(PR_GET_PDEATHSIG, ctypes.byref(death), 0, 0, 0)
        found = [resource.getrlimit(getattr(resource, name)) for name in names]
        return f"{found} {death.value} {libc.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)}"

    space = 512 * 2**20
    expected = [(space, space), (0, 0), (0, 0), (0, 0), (32, 32)]
    assert in_a_child(limits) == f"{expected} {int(signal.SIGKILL)} 1"


def test_a_worker_is_locked_down_when_it_says_that_it_is_ready_and_ends_when_its_parent_hangs_up() -> None:
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        try:
            os._exit(0 if main([str(theirs.fileno())]) == 0 else 3)
        finally:
            os._exit(4)
    theirs.close()
    with ours:
        assert ours.recv(100) == frame(READY)
        limits = Path(f"/proc/{child}/limits").read_text()
    assert [line.split()[3:5] for line in limits.splitlines() if line.startswith("Max file size")] == [["0", "0"]]
    assert os.waitpid(child, 0)[1] == 0


def test_the_program_serves_the_connection_that_it_is_given() -> None:
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "karmada.interpreter.lua.worker", str(theirs.fileno()), "with-priority"]
    sources = str(Path(karmada.__file__).parents[1])
    with subprocess.Popen(command, pass_fds=[theirs.fileno()], env={"PYTHONPATH": sources}) as process:
        theirs.close()
        with ours:
            assert ours.recv(100) == frame(READY)
        assert process.wait(60) == 0
