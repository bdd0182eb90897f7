"""The audit log: who did what, one JSON line per request, at the level Metadata.

Bodies are never recorded, so no secret can be. Every request that reached authentication has its line before its answer
is sent: those of changes and refusals are in the file by then, those of reads are gathered and written in batches. The
file is 0600 and is rotated by size. No request fails because of its line: what cannot be written is dropped and
counted, once loudly.
"""

import asyncio
import json
import logging
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from karmada.apiserver.auth.model import Attributes, UserInfo

_log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.5
BATCH = 1000
KEEP = 5
ROTATE_BYTES = 100 * 1024 * 1024
UNRECORDED = ("/healthz", "/livez", "/readyz", "/metrics")
READS = ("get", "list", "watch", "head")
TEXT_LIMIT = 4096
"""Characters of what a client chose freely; more says no more about who did what."""


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One answered request."""

    identifier: str
    uri: str
    attributes: Attributes
    user: UserInfo
    impersonated: UserInfo | None
    peer: str
    agent: str
    code: int
    received: float
    completed: float
    reason: str = ""
    """Why it was allowed or refused."""


class AuditLog:
    """Writes records to a file."""

    def __init__(self, path: Path, rotate_bytes: int = ROTATE_BYTES, keep: int = KEEP) -> None:
        self._path = path
        self._rotate_bytes = rotate_bytes
        self._keep = keep
        self._lines: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None
        self._file: int | None = None
        self._size = 0
        self.dropped = 0

    def record(self, record: AuditRecord) -> None:
        """Note a request; never raises."""
        attributes, refused = record.attributes, record.code >= 400
        if not attributes.is_resource and not refused and attributes.path.startswith(UNRECORDED):
            return
        self._lines.append(_line(to_event(record)))
        if len(self._lines) >= BATCH or refused or attributes.verb not in READS:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)

    def flush(self) -> None:
        """Write what was noted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lines, self._lines = self._lines, []
        if not lines:
            return
        try:
            self._write(b"".join(lines))
        except OSError as error:
            if not self.dropped:
                _log.error("the audit log %s cannot be written: %s", self._path, error)
            self.dropped += len(lines)

    def close(self) -> None:
        """Write everything and close."""
        self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, data: bytes) -> None:
        if self._file is not None and self._size + len(data) > self._rotate_bytes:
            self._rotate()
        if self._file is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._size = os.fstat(self._file).st_size
        os.write(self._file, data)
        self._size += len(data)

    def _rotate(self) -> None:
        assert self._file is not None
        os.close(self._file)
        self._file = None
        for number in range(self._keep - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            if older.exists():
                older.replace(self._path.with_name(f"{self._path.name}.{number + 1}"))
        self._path.replace(self._path.with_name(f"{self._path.name}.1"))


def _line(event: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
    except orjson.JSONEncodeError:
        # Text that is no Unicode.
        return json.dumps(event, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"


def to_event(record: AuditRecord) -> dict[str, Any]:
    """A record as an Event of audit.k8s.io/v1."""
    attributes = record.attributes
    event: dict[str, Any] = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": record.identifier,
        "stage": "ResponseComplete",
        "requestURI": record.uri[:TEXT_LIMIT],
        "verb": attributes.verb,
        "user": _user(record.user),
        "sourceIPs": [record.peer],
        "userAgent": record.agent[:TEXT_LIMIT],
    }
    if record.impersonated is not None:
        event["impersonatedUser"] = _user(record.impersonated)
    if attributes.is_resource:
        reference = {
            "resource": attributes.resource,
            "namespace": attributes.namespace,
            "name": attributes.name,
            "apiGroup": attributes.group,
            "apiVersion": attributes.version,
            "subresource": attributes.subresource,
        }
        event["objectRef"] = {key: value[:TEXT_LIMIT] for key, value in reference.items() if value}
    event["responseStatus"] = {"metadata": {}, "code": record.code}
    event["requestReceivedTimestamp"] = _time(record.received)
    event["stageTimestamp"] = _time(record.completed)
    if record.code != 401:
        event["annotations"] = {
            "authorization.k8s.io/decision": "forbid" if record.code == 403 else "allow",
            "authorization.k8s.io/reason": record.reason,
        }
    return event


def _user(user: UserInfo) -> dict[str, Any]:
    shown: dict[str, Any] = {"username": user.name} if user.name else {}
    if user.uid:
        shown["uid"] = user.uid
    if user.groups:
        shown["groups"] = list(user.groups)
    return shown


def _time(seconds: float) -> str:
    return f"{_second(int(seconds))}.{int(seconds % 1 * 1e6):06d}Z"


@lru_cache(4)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
