"""Continue tokens of paged lists: the revision of the first page and the position after the last item.

The format is the reference's, as its clients and tools look into it: base64url of `{"v":…,"rv":…,"start":…}`.
A revision of -1 asks for the rest of an expired list at whatever revision is current.
"""

import base64
import binascii
from typing import NamedTuple

import orjson

from karmada.machinery.httpserver.failure import Failure, bad_request

_VERSION = "meta.k8s.io/v1"


class Position(NamedTuple):
    """Where a list goes on."""

    revision: int
    after: str


def encode(position: Position) -> str:
    """The token of a position."""
    payload = {"v": _VERSION, "rv": position.revision, "start": position.after + "\0"}
    return base64.urlsafe_b64encode(orjson.dumps(payload)).rstrip(b"=").decode()


def decode(token: str) -> Position:
    """The position of a token; tokens of other servers or made up ones are refused."""
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        raise _invalid(f"illegal base64 data at input byte {len(token)}") from None
    try:
        payload = orjson.loads(raw)
        version, revision, start = payload["v"], int(payload["rv"]), str(payload["start"])
    except (ValueError, TypeError, KeyError):
        first = raw[:1].decode("latin-1")
        shown = first if first.isprintable() and first.isascii() else f"\\u{ord(first or ' '):04x}"
        raise _invalid(f"invalid character '{shown}' looking for beginning of value") from None
    if version != _VERSION:
        raise _invalid(f"server does not recognize this encoded version {version}")
    if not start or ".." in start.split("/") or start.startswith("/"):
        raise _invalid(start)
    return Position(revision, start.rstrip("\0"))


def expired(after: str) -> Failure:
    """The list's first revision is compacted; the status carries a token for an inconsistent rest."""
    message = (
        "The provided continue parameter is too old to display a consistent list result. "
        "You can start a new list without the continue parameter, or use the continue token in this response to "
        "retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - "
        "objects that were created, modified, or deleted between the time the first chunk was returned and now may "
        "show up in the list."
    )
    return Failure(410, "Expired", message, metadata={"continue": encode(Position(-1, after))})


def _invalid(text: str) -> Failure:
    return bad_request(f"invalid continue token: continue key is not valid: {text}")
