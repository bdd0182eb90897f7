"""Rules of paths in volumes and containers."""

from karmada.api.field_errors import invalid
from karmada.apiserver.builtin.strategies.common import Errors


def absolute(path: str, value: str) -> Errors:
    """A path from the root."""
    return [] if value.startswith("/") else [invalid(path, value, "must be an absolute path")]


def no_backsteps(path: str, value: str) -> Errors:
    """A path that stays below where it starts."""
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def descending(path: str, value: str) -> Errors:
    """A path inside of a volume."""
    errors: Errors = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return errors + no_backsteps(path, value)


def non_reserved(path: str, value: str) -> Errors:
    """A path inside of a volume whose first name is not one that the kubelet uses."""
    errors = descending(path, value)
    if value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors
