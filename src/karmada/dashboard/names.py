"""Words of a request that become part of a path elsewhere, checked before they do."""

import re

from karmada.dashboard.answers import bad_request

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_OBJECT = re.compile(r"[^/%\x00-\x1f\x7f]{1,253}")
_VERSION = re.compile(r"([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?v[a-z0-9]{1,30}")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")


def is_name(text: str) -> bool:
    """Whether a text can be the name of a cluster, a namespace or a pod."""
    return _NAME.fullmatch(text) is not None and ".." not in text


def checked_name(text: str, what: str) -> str:
    """A name, or a refusal that says what it is not."""
    if not is_name(text):
        raise bad_request(f"{text!r} is not the name of {what}")
    return text


def checked_object(text: str) -> str:
    """The name of any object: those of RBAC hold colons."""
    if not _OBJECT.fullmatch(text) or text in (".", ".."):
        raise bad_request(f"name: {text!r} is not the name of an object")
    return text


def checked_kind(api_version: str, kind: str) -> tuple[str, str]:
    """A version and kind."""
    if not _VERSION.fullmatch(api_version):
        raise bad_request(f"apiVersion: {api_version!r} is no API version, such as apps/v1")
    if not _KIND.fullmatch(kind):
        raise bad_request(f"kind: {kind!r} is no kind, such as Deployment")
    return api_version, kind
