"""Sentences for people have the operating system's words in them, never its numbers."""

import ast
import asyncio
import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import karmada
from karmada.machinery.os_errors import spelled

SOURCES = Path(karmada.__file__).parent
KUBELET_SAYS_IT_TOO = {"simulator/processes/container.py"}
RAISED_BY_THE_SYSTEM = {"OSError", "ConnectionError", "ConnectionRefusedError", "PermissionError", "FileNotFoundError"}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "Connection refused"),
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), os.strerror(111)),
        (
            OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), [Errno 111] Connect call"),
            os.strerror(111),
        ),
        (PermissionError(errno.EACCES, "Permission denied", "/etc/shadow"), "/etc/shadow: Permission denied"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (ValueError("cannot read it: [Errno 2] No such file"), "cannot read it: No such file"),
        (ValueError("no number"), "no number"),
        (TimeoutError(), ""),
    ],
    ids=["refused", "in asyncio's words", "at several addresses", "a file", "no host", "wrapped", "another", "empty"],
)
def test_an_error_in_words(error, words):
    assert spelled(error) == words


async def test_a_port_that_nobody_listens_on():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(OSError) as raised:
            await asyncio.open_connection("127.0.0.1", taken.getsockname()[1])
    assert spelled(raised.value) == "Connection refused"


def test_no_sentence_has_an_error_of_the_system_as_it_is():
    found = [
        f"{path.relative_to(SOURCES)}:{line}"
        for path in sorted(SOURCES.rglob("*.py"))
        if path.relative_to(SOURCES).as_posix() not in KUBELET_SAYS_IT_TOO and "testing" not in path.parts
        for line in unspelled(ast.parse(path.read_text()))
    ]
    assert found == []


def test_such_a_sentence_is_found():
    bad = "try:\n    x()\nexcept (ValueError, OSError) as error:\n    raise Refused(f'no: {error}') from error\n"
    good = bad.replace("{error}", "{spelled(error)}")
    assert list(unspelled(ast.parse(bad))) == [4]
    assert list(unspelled(ast.parse(good))) == []


def unspelled(tree: ast.Module) -> Iterator[int]:
    """Lines where a caught error of the system becomes text by itself."""
    for handler in ast.walk(tree):
        if isinstance(handler, ast.ExceptHandler) and handler.name and RAISED_BY_THE_SYSTEM & names(handler.type):
            for node in ast.walk(ast.Module(handler.body, [])):
                match node:
                    case ast.FormattedValue(value=ast.Name(id=name)) if name == handler.name:
                        yield node.lineno
                    case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]) if name == handler.name:
                        yield node.lineno


def names(types: ast.expr | None) -> set[str]:
    return {node.id for node in ast.walk(types) if isinstance(node, ast.Name)} if types else set()
