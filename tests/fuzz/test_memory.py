"""What callers invent is not kept: names, expressions, definitions."""

import gc
import sys
import tracemalloc
from collections.abc import AsyncIterator, Callable

import orjson
import psutil
import pytest
from tests.fuzz.server import Server, request, serving, status

from karmada.apiserver.crds.expressions import validate
from karmada.apiserver.crds.objects import has_expressions
from karmada.apiserver.schema.model import COMPILED, Schema

pytestmark = pytest.mark.usefixtures("what_is_older_is_kept")

KEPT = 1024 * 1024
"""Bytes that may be left of what a test sends, which is several times as much."""
_CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims?dryRun=All"
_PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as made:
        yield made


async def _kept(server: Server, build: Callable[[int], bytes], count: int, expected: int) -> int:
    """Bytes of Python objects that so many requests leave behind, after as many that fill what is bounded.

    The least of up to three rounds: a table that the whole process shares may grow by a megabyte during any of them.
    """
    tracemalloc.start()
    least = sys.maxsize
    try:
        for round_ in range(4):
            gc.collect()
            before, _ = tracemalloc.get_traced_memory()
            for number in range(count):
                assert status(await server.send(build(round_ * count + number), exact=False)) == expected
            gc.collect()
            if round_:
                least = min(least, tracemalloc.get_traced_memory()[0] - before)
            if least < KEPT:
                break
    finally:
        tracemalloc.stop()
    return least


def _length(data: bytes) -> bytes:
    """A length of up to four times seven bits, before what is so long."""
    size = len(data)
    return bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21]) + data


def _protobuf(number: int) -> bytes:
    kind = f"K{number}".encode().ljust(200_000, b"x")
    type_meta = b"\x0a" + _length(b"v1") + b"\x12" + _length(kind)
    return request("POST", _PODS, b"k8s\0\x0a" + _length(type_meta), "application/vnd.kubernetes.protobuf")


async def test_names_of_messages_that_do_not_exist_are_not_kept(server: Server) -> None:
    assert await _kept(server, _protobuf, 30, 400) < KEPT


def _claim(number: int) -> bytes:
    terms = " || ".join(f"device.driver == 'd{number}-{term}'" for term in range(300))
    device = {"name": "r", "exactly": {"deviceClassName": "c", "selectors": [{"cel": {"expression": terms}}]}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a"}}
    body = orjson.dumps({**claim, "spec": {"devices": {"requests": [device]}}})
    return request("POST", _CLAIMS, body, "application/json")


async def test_programs_of_expressions_that_tenants_write_are_kept_within_bounds(server: Server) -> None:
    """The engine's memory is not Python's: a program here takes most of a megabyte."""
    process, filling, more = psutil.Process(), 40, 100
    for number in range(filling):
        assert status(await server.send(_claim(number), exact=False)) == 201
    before = process.memory_info().rss
    for number in range(filling, filling + more):
        assert status(await server.send(_claim(number), exact=False)) == 201
    assert process.memory_info().rss - before < 40 * 1024 * 1024


@pytest.mark.parametrize(
    "use", [has_expressions, lambda schema: validate(schema, {"a": "x"}, None)], ids=["ask", "use"]
)
def test_schemas_of_definitions_that_are_gone_are_forgotten(use: Callable[[Schema], object]) -> None:
    rules = {"x-kubernetes-validations": [{"rule": "true"}]}
    before = _schemas()
    for _ in range(2 * COMPILED):
        use(Schema(type="object", properties={"a": Schema(type="string")}, rules=rules))
    assert _schemas() - before <= 2 * COMPILED + 2


def _schemas() -> int:
    gc.collect()
    return sum(type(obj) is Schema for obj in gc.get_objects())
