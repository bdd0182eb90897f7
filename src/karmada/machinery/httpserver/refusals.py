"""The answers with which a server refuses by itself, before or after its handler."""

import orjson

from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpResponse
from karmada.machinery.httpserver.parsing import Refusal

_REASONS = {405: "MethodNotAllowed", 413: "RequestEntityTooLarge"}
"""Refusals that clients expect as a Status."""
FAILED = HttpResponse(500, b"Internal Server Error", "text/plain; charset=utf-8")
CROWDED = HttpResponse(
    429,
    orjson.dumps(
        Failure(
            429,
            "TooManyRequests",
            "too many bytes of answers wait until clients read them: read those you asked for, then try again",
            {"retryAfterSeconds": 1},
        ).status()
    ),
    headers={"Retry-After": "1"},
)


def refused(refusal: Refusal) -> HttpResponse:
    """The answer to what could not be parsed, or is not taken."""
    reason = _REASONS.get(refusal.status)
    if reason is not None:
        failure = Failure(refusal.status, reason, refusal.message, {} if refusal.status == 405 else None)
        return HttpResponse(refusal.status, orjson.dumps(failure.status()))
    return HttpResponse(refusal.status, refusal.message.encode(), "text/plain; charset=utf-8")
