"""The worker's own side of the socket: what it answers, and what it can do no more. It is a fork of this process."""

import contextlib
import os
import runpy
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from karmada.interpreter.lua import worker
from karmada.interpreter.lua.protocol import LENGTH, WITH_PRIORITY, Result, frame

SCRIPT = "function GetReplicas(obj) return obj.n end"
PATIENCE = 60.0
"""Seconds that nobody waits for unless something is broken."""


class Forked:
    """A worker in a fork, as its pool sees it."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid = pid
        self.connection = connection
        self._received = connection.makefile("rb")

    def answer(self) -> Any:
        """The next thing it says; None when it has hung up."""
        header = self._received.read(LENGTH.size)
        return orjson.loads(self._received.read(LENGTH.unpack(header)[0])) if header else None

    def ask(self, *request: Any) -> Any:
        self.connection.sendall(frame(orjson.dumps(request)))
        return self.answer()

    def limit(self, name: str) -> list[str]:
        """Soft and hard limit, as the kernel says."""
        lines = Path(f"/proc/{self.pid}/limits").read_text().splitlines()
        return next(line for line in lines if line.startswith(name)).removeprefix(name).split()[:2]

    def ended(self) -> int:
        """Hang up; the result is the exit status."""
        self._received.close()
        self.connection.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextlib.contextmanager
def forked(work: Callable[[socket.socket], int | None]) -> Iterator[Forked]:
    """Something that runs in a fork with one end of a connection; the other end is here."""
    ours, theirs = socket.socketpair()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # The runner's threads are not wanted there.
        pid = os.fork()
    if pid == 0:
        status = 99
        try:
            ours.close()
            found = work(theirs)
            status = 98 if found is None else found
        finally:
            os._exit(status)
    theirs.close()
    ours.settimeout(PATIENCE)
    with ours:
        yield Forked(pid, ours)


def running(*arguments: str) -> contextlib.AbstractContextManager[Forked]:
    """A worker that was started with arguments."""
    return forked(lambda connection: worker.main([str(connection.detach()), *arguments]))


def serving(engine: Any) -> contextlib.AbstractContextManager[Forked]:
    """A worker around an engine of the test's."""

    def serve(connection: socket.socket) -> int:
        worker.serve(connection, engine)
        return 0

    return forked(serve)


def test_a_worker_is_ready_takes_scripts_calls_them_and_ends_well_when_its_pool_hangs_up() -> None:
    with running() as one:
        assert one.answer() == []
        assert one.ask("k", SCRIPT) == ["", None]
        for n in (3, 4):
            assert one.ask("k", ["GetReplicas"], [{"n": n}], 0, Result.REPLICAS) == ["", [n, None]]
        assert one.ended() == 0


def test_the_program_is_started_with_the_connection_that_it_is_given() -> None:
    def start(connection: socket.socket) -> int:
        sys.argv = ["worker", str(connection.detach())]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The module is imported already.
            try:
                runpy.run_module(worker.__name__, run_name="__main__")
            except SystemExit as ended:
                return 97 if ended.code is None else int(ended.code)
        return 96

    with forked(start) as one:
        assert one.answer() == []
        assert one.ended() == 0


@pytest.mark.parametrize("arguments", [(), (WITH_PRIORITY,)], ids=["without priority", "with priority"])
def test_the_priority_class_is_named_where_it_is_asked_for(arguments: tuple[str, ...]) -> None:
    script = """
    local kube = require("kube")
    function GetReplicas(obj) return 1, kube.accuratePodRequirements(obj.template) end
    """
    pod = {"spec": {"priorityClassName": "high", "containers": [{"resources": {"requests": {"cpu": "1"}}}]}}
    with running(*arguments) as one:
        assert one.answer() == []
        assert one.ask("k", script) == ["", None]
        ok, (_, needs) = one.ask("k", ["GetReplicas"], [{"template": pod}], 0, Result.REPLICAS)
        assert (ok, needs.get("priorityClassName")) == ("", "high" if arguments else None)
        assert one.ended() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads what the kernel says of a process")
def test_a_worker_gives_up_what_scripts_do_not_need_and_each_call_has_its_share_of_the_processor() -> None:
    with running() as one:
        assert one.answer() == []
        assert one.limit("Max address space") == [str(512 << 20)] * 2
        assert one.limit("Max open files") == ["32", "32"]
        for name in ("Max file size", "Max core file size", "Max processes"):
            assert one.limit(name) == ["0", "0"]
        assert "NoNewPrivs:\t1" in Path(f"/proc/{one.pid}/status").read_text().splitlines()
        assert one.ask("k", SCRIPT) == ["", None]
        assert one.limit("Max cpu time") == ["unlimited", "unlimited"]
        assert one.ask("k", ["GetReplicas"], [{"n": 1}], 0, Result.REPLICAS) == ["", [1, None]]
        assert one.limit("Max cpu time") == ["3", "unlimited"], "it has used less than one until now"
        assert one.ended() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="processes outlive who started them elsewhere")
def test_a_worker_dies_with_who_started_it() -> None:
    def start_another(connection: socket.socket) -> int:
        child = os.fork()
        if child == 0:
            worker.main([str(connection.detach())])
            os._exit(0)
        connection.recv(1)
        return 0

    with forked(start_another) as one:
        assert one.answer() == []
        os.kill(one.pid, signal.SIGKILL)
        os.waitpid(one.pid, 0)
        assert one.connection.recv(1) == b"", "nobody has the other end any more"


def test_a_request_may_come_in_parts() -> None:
    with running() as one:
        assert one.answer() == []
        for byte in frame(orjson.dumps(["k", SCRIPT])):
            one.connection.sendall(bytes([byte]))
        assert one.answer() == ["", None]
        assert one.ended() == 0


@pytest.mark.parametrize("sent", [b"\0\0", LENGTH.pack(40) + b"[1,"], ids=["in the length", "in the request"])
def test_a_pool_that_hangs_up_in_the_middle_ends_its_worker_well(sent: bytes) -> None:
    with running() as one:
        assert one.answer() == []
        one.connection.sendall(sent)
        assert one.ended() == 0


def test_a_script_that_cannot_be_compiled_and_one_that_fails_are_answers_and_the_worker_goes_on() -> None:
    with running() as one:
        assert one.answer() == []
        assert one.ask("bad", "function (")[0] == "syntax"
        assert one.ask("k", SCRIPT) == ["", None]
        assert one.ask("k", ["Nothing"], [{}], 0, Result.REPLICAS) == [
            "function-not-found",
            "not found function Nothing",
        ]
        assert one.ask("k", ["GetReplicas"], [{"n": 1}], 0, Result.REPLICAS) == ["", [1, None]]
        assert one.ended() == 0


class Failing:
    """An engine whose calls end as a test says."""

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome

    def call(self, key: str, call: Any) -> Any:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


@pytest.mark.parametrize(
    ("outcome", "answer"),
    [
        (MemoryError(), ["memory", "not enough memory"]),
        (RecursionError("too deep"), ["encode", "too deep"]),
        (object(), ["encode", "Type is not JSON serializable: object"]),
    ],
    ids=["out of memory", "too deep", "no JSON"],
)
def test_what_goes_wrong_around_a_script_is_an_answer(outcome: Any, answer: list[str]) -> None:
    with serving(Failing(outcome)) as one:
        assert one.answer() == []
        for _ in range(2):
            assert one.ask("k", ["F"], [{}], 0, Result.TABLE) == answer
        assert one.ended() == 0
