"""Ports that can be had again."""

import errno
from random import Random

import pytest

from karmada.machinery.httpserver.ports import FIRST, LAST, listen_lastingly


async def test_a_port_is_never_one_that_connections_are_given():
    async def listen(port):
        return port

    assert FIRST <= await listen_lastingly(listen, Random(1)) <= LAST


async def test_ports_in_use_are_passed_over():
    tried = []

    async def listen(port):
        tried.append(port)
        if len(tried) < 3:
            raise OSError(errno.EADDRINUSE, "in use")
        return port

    assert await listen_lastingly(listen, Random(1)) == tried[-1]
    assert len(tried) == 3


async def test_when_none_is_free_any_other_will_do():
    async def listen(port):
        if port:
            raise OSError(errno.EADDRINUSE, "in use")
        return 40_000

    assert await listen_lastingly(listen, Random(1)) == 40_000


async def test_another_failure_is_reported_at_once():
    async def listen(port):
        raise OSError(errno.EACCES, "not allowed")

    with pytest.raises(OSError, match="not allowed"):
        await listen_lastingly(listen, Random(1))
