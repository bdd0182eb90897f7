"""Reads that ask for a revision the server has not reached: wait a little, then say so."""

import asyncio
import re
from collections.abc import Mapping

from karmada.apiserver.requests.model import Context
from karmada.machinery.httpserver.failure import Failure

_PATIENCE = 3.0
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")


class DeadlinePassed(Exception):
    """The request's own timeout ended before its answer was ready; it is answered as plain text."""


async def wait_for(context: Context, version: int, params: Mapping[str, str]) -> None:
    """Return as soon as the store has reached a revision; refuse when it does not in time."""
    if version <= context.store.revision:
        return
    own = duration(params.get("timeout", ""))
    limit = _PATIENCE if own is None else min(own, _PATIENCE)
    try:
        async with asyncio.timeout(limit):
            await context.store.reached(version)
    except TimeoutError:
        if own is not None and own <= _PATIENCE:
            raise DeadlinePassed from None
        raise too_large(version, context.store.revision) from None


def too_large(version: int, current: int) -> Failure:
    """The asked revision is in the future."""
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Failure(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1}, {"Retry-After": "1"})


def duration(text: str) -> float | None:
    """A duration such as 1m30s in seconds; None when absent or malformed."""
    match = _DURATION.fullmatch(text) if text else None
    if match is None:
        return None
    hours, minutes, seconds = (float(group or 0) for group in match.groups())
    return hours * 3600 + minutes * 60 + seconds
