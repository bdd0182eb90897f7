"""Typed API errors: what a server's refusal, or its absence, means to the caller.

    ApiError
    ├── BadRequest 400        ├── Gone 410 (watch or list revision compacted)
    ├── Unauthorized 401      ├── Invalid 422 (with causes)
    ├── Forbidden 403         ├── TooManyRequests 429 (with retry_after)
    ├── NotFound 404          ├── ServerError 5xx
    ├── MethodNotAllowed 405  ├── Timeout (deadline passed, outcome unknown)
    ├── AlreadyExists 409     ├── Unavailable (no connection, or it broke)
    └── Conflict 409          └── BadAnswer (the server sent what no server may send)

A transient error is never a verdict: `transient` marks the ones that may go away by themselves.
"""

from typing import Any, ClassVar

from karmada.machinery.limits import MESSAGE, printable

Status = dict[str, Any]


class ApiError(Exception):
    """A request failed; `status` is the server's Status object where there is one."""

    code: ClassVar[int] = 0
    reason: ClassVar[str] = ""
    transient: ClassVar[bool] = False

    def __init__(self, message: str, status: Status | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status: Status = status or {}

    @property
    def causes(self) -> list[dict[str, str]]:
        """Field causes of the Status, empty when there are none."""
        details = self.status.get("details")
        causes = details.get("causes") if isinstance(details, dict) else None
        return [cause for cause in causes if isinstance(cause, dict)] if isinstance(causes, list) else []


class BadRequest(ApiError):
    """The request itself is malformed."""

    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    """The server does not know who is asking."""

    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    """The server knows who is asking and says no (authorisation, quota or admission)."""

    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    """No such object, or no such resource type."""

    code, reason = 404, "NotFound"


class MethodNotAllowed(ApiError):
    """The resource exists but does not support the verb."""

    code, reason = 405, "MethodNotAllowed"


class AlreadyExists(ApiError):
    """An object of that name exists."""

    code, reason = 409, "AlreadyExists"


class Conflict(ApiError):
    """The object changed since it was read, or an apply conflicts with another manager."""

    code, reason = 409, "Conflict"


class Gone(ApiError):
    """The asked revision is compacted: list again."""

    code, reason = 410, "Expired"


class Invalid(ApiError):
    """The object fails validation; see `causes`."""

    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    """The server is overloaded, or a disruption budget refuses an eviction."""

    code, reason, transient = 429, "TooManyRequests", True

    def __init__(self, message: str, status: Status | None = None, retry_after: float = 1.0) -> None:
        super().__init__(message, status)
        self.retry_after = retry_after


class ServerError(ApiError):
    """The server failed."""

    code, reason, transient = 500, "InternalError", True


class Timeout(ApiError):
    """The deadline passed; whether the request took effect is unknown."""

    code, reason, transient = 504, "Timeout", True


class Unavailable(ApiError):
    """No connection could be made, or it broke."""

    code, reason, transient = 503, "ServiceUnavailable", True


class BadAnswer(ServerError):
    """The server sent what cannot be read, or more than it may (`machinery.limits`); its connection was cut."""


class AnswerTooLarge(BadAnswer):
    """The answer is larger than any may be; a part of it may be asked for."""


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    410: Gone,
    422: Invalid,
    503: Unavailable,
    504: Timeout,
}


def from_status(code: int, status: Status, retry_after: float = 1.0) -> ApiError:
    """The typed error for an HTTP status code and a Status body."""
    message = printable(str(status.get("message") or f"the server answered {code}"), MESSAGE)
    if code == 409:
        kind = AlreadyExists if status.get("reason") == "AlreadyExists" else Conflict
        return kind(message, status)
    if code == 429:
        return TooManyRequests(message, status, retry_after)
    return _BY_CODE.get(code, ServerError if code >= 500 else ApiError)(message, status)
