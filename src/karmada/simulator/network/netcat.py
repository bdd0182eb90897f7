"""`nc` in a simulated container: its arguments, what it listens for, and what it says of a connection. Pure.

`nc -l -p 42 -e echo hello` answers every connection to port 42 with the output of `echo hello`; `nc HOST 42` shows what
whoever listens there answers to its input.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from karmada.simulator.network.plane import UnknownHost, Unreachable

_VALUED = ("-p", "-w", "-i", "-s")
_PLAIN = "lkuvnz"


class Socket(NamedTuple):
    """What one `nc` was asked for."""

    listens: bool
    protocol: str
    host: str
    port: int
    program: tuple[str, ...]
    """What answers (`-e`); nobody when empty."""


class Connections(Protocol):
    """What can be connected to from a container."""

    def connect(self, host: str, port: int, protocol: str, data: str) -> str:
        """What the listener answers to some input; raises `Unreachable`."""
        ...


def parse(words: Sequence[str]) -> Socket | None:
    """The arguments of `nc`; None if they make no sense."""
    flags, values, others = set[str](), dict[str, str](), list[str]()
    program: tuple[str, ...] = ()
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "-e":
            program, waiting = tuple(waiting), []
        elif word in _VALUED:
            values[word] = waiting.pop(0) if waiting else ""
        elif word.startswith("-") and word[1:] and set(word[1:]) <= set(_PLAIN):
            flags |= set(word[1:])
        elif word.startswith("-"):
            return None
        else:
            others.append(word)
    listens = "l" in flags
    port = values.get("-p") if listens and "-p" in values else others.pop() if others else ""
    if not port or not port.isdecimal() or not 0 < int(port) < 1 << 16 or not (listens or others):
        return None
    return Socket(listens, "UDP" if "u" in flags else "TCP", others[0] if others else "", int(port), program)


def listener(command: Sequence[str]) -> Socket | None:
    """What a container's command listens for, if it is an `nc` that does."""
    if not command or command[0].rsplit("/", 1)[-1] != "nc":
        return None
    options = parse(command[1:])
    return options if options is not None and options.listens else None


def answer(options: Socket, web: Connections, data: str) -> tuple[str, str, int]:
    """What a connecting `nc` prints: output, errors and exit code. A lost datagram goes unnoticed."""
    try:
        return web.connect(options.host, options.port, options.protocol, data), "", 0
    except UnknownHost:
        return "", f"nc: bad address '{options.host}'\n", 1
    except Unreachable as error:
        if options.protocol == "UDP":
            return "", "", 0
        return "", f"nc: {options.host}:{options.port}: {error}\n", 1
