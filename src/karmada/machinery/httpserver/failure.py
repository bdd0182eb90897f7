"""A `Failure` is an error that becomes a Status answer with the reason, causes and wording clients print."""

from typing import Any

Details = dict[str, Any]


class Failure(Exception):
    """Ends a request with a Status.

    `headers` go with the answer (Retry-After, WWW-Authenticate), `metadata` is the Status' list metadata.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Details | None = None,
        headers: dict[str, str] | None = None,
        metadata: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers or {}
        self.metadata = metadata or {}

    def status(self) -> dict[str, Any]:
        """The Status object."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": _encodable(self.message),
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
            if "name" in self.details:
                body["details"] = {**self.details, "name": _encodable(self.details["name"])}
        body["code"] = self.code
        return body


def _encodable(text: str) -> str:
    """Text that may come from a header, whose bytes need not be UTF-8."""
    return text if text.isascii() else text.encode(errors="replace").decode()


def bad_request(message: str) -> Failure:
    """The request itself makes no sense."""
    return Failure(400, "BadRequest", message)
