"""What is said when a command fails: the words scripts look for, one line per cause, never a traceback."""

from collections.abc import Iterable

from karmada.cli.failures import INTERRUPTED, CommandError, SeveralErrors, UsageError
from karmada.cli.session import Session


def report(error: BaseException, session: Session) -> int:
    """Say what went wrong; the exit status."""
    if session.debug and not isinstance(error, UsageError):
        import traceback

        traceback.print_exception(error, file=session.err)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return 1
    for line in lines(error, session):
        session.warn(line)
    return 1


def lines(error: BaseException, session: Session) -> Iterable[str]:
    """The lines for a failure."""
    if isinstance(error, SeveralErrors):
        return error.messages if len(error.messages) > 1 else [f"error: {error.messages[0]}"]
    if isinstance(error, UsageError):
        name = f"{session.program} {error.command}".rstrip()
        return [f"error: {error}", *([f"See '{name} --help' for usage."] if error.command else [])]
    if isinstance(error, CommandError):
        return [f"error: {error}"]
    return _from_below(error)


def _from_below(error: BaseException) -> Iterable[str]:
    """Failures of the layers below, which are imported only now: a command that works need not know them."""
    from karmada.machinery.errors import ApiError
    from karmada.machinery.http.kubeconfig import KubeconfigError

    if isinstance(error, ApiError):
        return [api_error(error)]
    if isinstance(error, KubeconfigError):
        return [f"error: {' '.join(str(error).split())}"]
    if isinstance(error, OSError):
        from karmada.machinery.os_errors import spelled

        return [f"error: {spelled(error)}"]
    if type(error).__name__ in _REFUSALS:
        return [f"error: {error}"]
    return [f"error: unexpected {type(error).__name__}: {error} (--debug shows where it came from)"]


_REFUSALS = frozenset({"Refused", "Unfinished", "DecodeError", "YAMLError", "JSONPathError", "LabelSelectorError"})
"""Errors of packages below whose words are for people already."""


def api_error(error: Exception, doing: str = "") -> str:
    """A server's refusal, or its absence, as kubectl says it; `doing` is what was refused."""
    from karmada.machinery.errors import ApiError, BadRequest, Invalid, Timeout, Unauthorized, Unavailable

    assert isinstance(error, ApiError)
    if isinstance(error, Invalid):
        details = error.status.get("details") or {}
        kind, name = details.get("kind", ""), details.get("name", "")
        subject = f'The {kind} "{name}"' if kind or name else "The request"
        return f"{subject} is invalid: {_causes(error)}"
    if isinstance(error, Unauthorized) or (isinstance(error, BadRequest | Unavailable | Timeout) and not error.status):
        return f"error: {plain(error)}"
    reason = error.status.get("reason") or error.reason
    return f"Error from server ({reason}): {doing}{error.message}"


def plain(error: Exception) -> str:
    """A failure as part of a line, with what to do where it is about the way to the server."""
    from karmada.explain.connection import connection
    from karmada.machinery.errors import Timeout, Unauthorized, Unavailable

    if isinstance(error, Unauthorized):
        remedy = "check the credentials of the kubeconfig, they may have expired"
        return f"You must be logged in to the server ({error.message}): {remedy}"
    return connection(error) if isinstance(error, Unavailable | Timeout) and not error.status else str(error)


def _causes(error: Exception) -> str:
    from karmada.machinery.errors import ApiError

    assert isinstance(error, ApiError)
    # A server may find the same mistake more than once: while it merges and when it validates.
    causes = list(dict.fromkeys(f"{cause.get('field', '')}: {cause.get('message', '')}" for cause in error.causes))
    if not causes:
        return error.message
    return causes[0] if len(causes) == 1 else "\n" + "\n".join(f"* {cause}" for cause in causes)
