"""Answers: JSON, refusals as Status objects, and the headers that go with every one of them."""

from collections.abc import Mapping
from typing import Any

import orjson

from karmada.explain.errors import ExplainError, NoAnswer
from karmada.machinery.errors import ApiError
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.httpserver.model import HttpAnswer, HttpResponse, StreamResponse

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Nothing inline, nothing from elsewhere, in nobody's frame."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PRIVATE = {"Cache-Control": "no-store"}
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


class Refusal(Exception):
    """A request that is not answered; `message` names what is wrong and what to do."""

    def __init__(self, code: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.headers = dict(headers or {})


def bad_request(message: str) -> Refusal:
    """A request that cannot be understood."""
    return Refusal(400, "BadRequest", message)


def unauthorized(message: str = "sign in first: nobody is known by this request") -> Refusal:
    """A request of nobody."""
    return Refusal(401, "Unauthorized", message)


def forbidden(message: str) -> Refusal:
    """A request that somebody may not make."""
    return Refusal(403, "Forbidden", message)


def found(body: Any, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """An answer of data."""
    return HttpResponse(200, orjson.dumps(body), headers={**PRIVATE, **(headers or {})})


def refused(error: Exception) -> HttpResponse | None:
    """A refusal as a Status; None for what is no refusal."""
    match error:
        case Refusal():
            return _status(error.code, error.reason, error.message, error.headers)
        case Failure():
            return HttpResponse(error.code, orjson.dumps(error.status()), headers=dict(PRIVATE))
        case ApiError() if error.status.get("kind") == "Status":
            return HttpResponse(_code(error), orjson.dumps(error.status), headers=dict(PRIVATE))
        case ApiError():
            return _status(_code(error), error.reason or "InternalError", str(error))
        case NoAnswer():
            return _status(504, "Timeout", f"the cluster does not answer: {error}")
        case ExplainError():
            return _status(422, "Invalid", str(error))
        case TimeoutError():
            return _status(504, "Timeout", "the request took too long; try again")
    return None


def secured(answer: HttpAnswer) -> HttpAnswer:
    """An answer with the headers that all have; what a member says about itself is none of the browser's business."""
    if isinstance(answer, (HttpResponse, StreamResponse)):
        answer.headers = {**answer.headers, **HEADERS}
    return answer


def _code(error: ApiError) -> int:
    code = error.status.get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else error.code or 500


def _status(code: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> HttpResponse:
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return HttpResponse(code, orjson.dumps(body), headers={**PRIVATE, **(headers or {})})
