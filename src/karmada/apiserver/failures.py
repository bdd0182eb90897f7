"""The refusals of an API server: failures with the reason, details and wording of a kube-apiserver."""

from typing import Any

from karmada.apiserver.resources import FieldError
from karmada.machinery.httpserver.failure import Details, Failure

MAX_CAUSES = 500
MAX_CAUSE_CHARACTERS = 1024 * 1024
"""How much a refusal says of what is wrong with an object."""


def _resource(plural: str, group: str) -> str:
    return f"{plural}.{group}" if group else plural


def _details(name: str, group: str, kind: str, **more: Any) -> Details:
    details: Details = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details.update(more)
    return details


def not_found(group: str, plural: str, name: str) -> Failure:
    """No object of that name."""
    message = f'{_resource(plural, group)} "{name}" not found'
    return Failure(404, "NotFound", message, _details(name, group, plural))


def already_exists(group: str, plural: str, name: str) -> Failure:
    """An object of that name exists."""
    message = f'{_resource(plural, group)} "{name}" already exists'
    return Failure(409, "AlreadyExists", message, _details(name, group, plural))


def conflict(group: str, plural: str, name: str, why: str) -> Failure:
    """The operation cannot be carried out on the object as it is."""
    message = f'Operation cannot be fulfilled on {_resource(plural, group)} "{name}": {why}'
    return Failure(409, "Conflict", message, _details(name, group, plural))


def forbidden(group: str, plural: str, name: str, why: str) -> Failure:
    """The caller or the object may not do that."""
    subject = f'{_resource(plural, group)} "{name}"' if name else _resource(plural, group)
    return Failure(403, "Forbidden", f"{subject} is forbidden: {why}", _details(name, group, plural))


def invalid(group: str, kind: str, name: str, errors: list[FieldError]) -> Failure:
    """The object fails validation; of very many or very long causes the first are kept."""
    errors = _bounded(errors)
    texts = [f"{e.field}: {e.message}" for e in errors]
    unique = list(dict.fromkeys(texts))
    text = unique[0] if len(unique) == 1 else "[" + ", ".join(unique) + "]"
    subject = f"{kind}.{group}" if group else kind
    causes = [{"reason": e.reason, "message": e.message, "field": e.field} for e in errors]
    return Failure(422, "Invalid", f'{subject} "{name}" is invalid: {text}', _details(name, group, kind, causes=causes))


def _bounded(errors: list[FieldError]) -> list[FieldError]:
    """The first complaints: an object can have as many as it has fields, each of which may quote much of it."""
    size = 0
    for index, error in enumerate(errors):
        size += len(error.message)
        if index and (index >= MAX_CAUSES or size > MAX_CAUSE_CHARACTERS):
            more = f"too many errors: {len(errors) - index} more are not shown"
            return [*errors[:index], FieldError("FieldValueTooMany", "", more)]
    return errors


def internal(message: str) -> Failure:
    """The server failed."""
    return Failure(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def unsupported_media_type(message: str) -> Failure:
    """The body's content type is not understood."""
    return Failure(415, "UnsupportedMediaType", message)


def gone(message: str) -> Failure:
    """The asked revision is compacted."""
    return Failure(410, "Expired", message)


def too_many_requests(message: str, retry_after: int = 1) -> Failure:
    """Overload, or a disruption budget."""
    details = {"retryAfterSeconds": retry_after}
    return Failure(429, "TooManyRequests", message, details, {"Retry-After": str(retry_after)})


def unavailable(message: str, retry_after: int = 1) -> Failure:
    """503: the server cannot say yet."""
    details = {"retryAfterSeconds": retry_after}
    return Failure(503, "ServiceUnavailable", message, details, {"Retry-After": str(retry_after)})
