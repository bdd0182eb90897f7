"""The process that runs scripts: `python -m karmada.interpreter.lua.worker FD [with-priority]`.

It trusts nothing it is given to run. Before the first script it gives up what it does not need: it cannot start
processes, write files, dump its memory or use more memory than its share; each call gets a share of processor time, so
that a worker whose parent is gone ends by itself; and it dies with its parent.
"""

import contextlib
import ctypes
import os
import resource
import signal
import socket
import sys
from typing import Any

import orjson

from karmada.interpreter.lua.engine import Call, CallFailed, Engine
from karmada.interpreter.lua.protocol import LENGTH, READY, WITH_PRIORITY, ErrorClass, Result, frame

ADDRESS_SPACE = 512 * 2**20
CPU_SECONDS = 3
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


def main(arguments: list[str]) -> int:
    with socket.socket(fileno=int(arguments[0])) as connection:
        engine = Engine(with_priority=WITH_PRIORITY in arguments)
        lock_down()
        serve(connection, engine)
    return 0


def serve(connection: socket.socket, engine: Engine) -> None:
    """Answer requests until the other side hangs up."""
    connection.sendall(frame(READY))
    while (request := _receive(connection)) is not None:
        connection.sendall(frame(_answer(engine, orjson.loads(request))))


def lock_down() -> None:
    """Limits that cannot be raised again."""
    _limit(resource.RLIMIT_AS, ADDRESS_SPACE)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_NOFILE, 32)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if os.getppid() == 1:
            sys.exit(0)


def _limit(what: int, value: int) -> None:
    # Some systems do not know every limit; the others still hold.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (value, value))


def _limit_cpu() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def _answer(engine: Engine, request: list[Any]) -> bytes:
    try:
        if len(request) == 2:
            engine.load(*request)
            return orjson.dumps(["", None])
        key, names, arguments, references, result = request
        _limit_cpu()
        return orjson.dumps(["", engine.call(key, Call(names, arguments, references, Result(result)))])
    except CallFailed as failure:
        return orjson.dumps([failure.error_class, str(failure)])
    except MemoryError:
        return orjson.dumps([ErrorClass.MEMORY, "not enough memory"])
    except (orjson.JSONEncodeError, RecursionError) as error:
        return orjson.dumps([ErrorClass.ENCODE, str(error)])


def _receive(connection: socket.socket) -> bytes | None:
    header = _exactly(connection, LENGTH.size)
    return None if header is None else _exactly(connection, LENGTH.unpack(header)[0])


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    received = bytearray()
    while len(received) < size:
        part = connection.recv(size - len(received))
        if not part:
            return None
        received += part
    return bytes(received)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
