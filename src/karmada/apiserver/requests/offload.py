"""Work on large requests, away from the event loop.

Reading, changing and checking an object takes time that grows with it: a tenth of a second for a megabyte and more.
The interpreter switches between threads every few milliseconds, so others are served meanwhile. One thread does all of
it: whoever sends large bodies waits for others that do. Callers in the same process trust each other and have the
loop's own time.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, TypeVarTuple, Unpack

from karmada.apiserver.requests.model import Call

LARGE = 32 * 1024
"""Bytes of a body, or of objects that are read, which take longer than a few milliseconds."""
EXPENSIVE = 16
"""What a byte of YAML, or of an expression, counts for."""
_COMPILING = ("apiextensions.k8s.io", "admissionregistration.k8s.io")
"""Groups whose objects hold regular expressions and CEL."""
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")
_thread: list[Any] = []


def size_of(call: Call) -> int:
    """The bytes that a call from outside brought; YAML and expressions that are compiled count for more."""
    body = call.body
    if call.http is None or not isinstance(body, bytes):
        return 0
    if call.served.type.group in _COMPILING or _is_yaml(call.content_type, body):
        return EXPENSIVE * len(body)
    return len(body)


def _is_yaml(media: str, body: bytes) -> bool:
    """Whether a body is read as YAML: of what is applied only what is no JSON."""
    return "yaml" in media.lower() and not (body[:1] == b"{" and media.startswith("application/apply-patch"))


async def run(size: int, work: Callable[[Unpack[Arguments]], Result], *args: *Arguments) -> Result:
    """The result of work on something of this size; the loop goes on meanwhile if it is large."""
    if size < LARGE:
        return work(*args)
    if not _thread:
        _thread.append(ThreadPoolExecutor(1, "large-requests"))
    return await asyncio.get_running_loop().run_in_executor(_thread[0], work, *args)
