"""Sessions over a restart: a file for each, sealed with what only the browser's cookie holds.

The name of a file is the hash of the cookie, its key is derived from the cookie, and the cookie is kept nowhere on this
side: whoever steals the files has neither tokens nor a way to sign in. `realm` says for whom they were made; files of
another realm do not open. A file's own time is when the session was used last. A disk that fails costs sessions, never
requests.
"""

import logging
import os
import secrets
from pathlib import Path

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.auth.pki import write_file
from karmada.dashboard.credential import Credential

_log = logging.getLogger(__name__)
_NONCE = 12
_LARGEST = 64 * 1024


class Kept(msgspec.Struct, frozen=True):
    """What is kept of a session; times are seconds since the epoch."""

    user: str
    groups: tuple[str, ...]
    uid: str
    extra: dict[str, tuple[str, ...]]
    token: str
    ends: float | None
    csrf: str
    started: float

    @property
    def credential(self) -> Credential:
        """Who is signed in."""
        ends = {} if self.ends is None else {"ends": self.ends}
        return Credential(UserInfo(self.user, self.groups, self.uid, self.extra), self.token, **ends)


def kept(credential: Credential, csrf: str, started: float) -> Kept:
    """A session as it is kept."""
    user = credential.user
    ends = credential.ends if credential.ends < float("inf") else None
    return Kept(user.name, user.groups, user.uid, dict(user.extra), credential.token, ends, csrf, started)


class SessionFiles:
    """A folder of sealed sessions."""

    def __init__(self, folder: Path, realm: bytes) -> None:
        self._folder = folder
        self._realm = realm

    def put(self, name: str, cookie: str, session: Kept, most: int) -> None:
        """Keep a session under a name; of more than `most`, those that were used least recently go."""
        nonce = secrets.token_bytes(_NONCE)
        sealed = nonce + AESGCM(self._key(cookie)).encrypt(nonce, msgspec.json.encode(session), self._realm)
        try:
            write_file(self._folder / name, sealed, 0o600)
            os.utime(self._folder / name, (session.started, session.started))
            for old in sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-most]:
                old.unlink(missing_ok=True)
        except OSError as error:
            _log.warning("a session will not outlive this process: %s", error)

    def get(self, name: str, cookie: str) -> tuple[Kept, float] | None:
        """A session and when it was used last; None when there is none that the cookie opens."""
        try:
            with (self._folder / name).open("rb") as file:
                sealed, used = file.read(_LARGEST), os.fstat(file.fileno()).st_mtime
            opened = AESGCM(self._key(cookie)).decrypt(sealed[:_NONCE], sealed[_NONCE:], self._realm)
            return msgspec.json.decode(opened, type=Kept), used
        except FileNotFoundError:
            return None
        except (OSError, InvalidTag, ValueError) as error:
            _log.warning("a session cannot be taken up again: %s", type(error).__name__)
            return None

    def used(self, name: str, now: float) -> None:
        """Note that a session is in use."""
        try:
            os.utime(self._folder / name, (now, now))
        except OSError:
            return

    def remove(self, name: str) -> None:
        """Forget a session."""
        try:
            (self._folder / name).unlink(missing_ok=True)
        except OSError as error:
            _log.error("a session that has ended cannot be removed from the disk: %s", error)

    def sweep(self, before: float) -> None:
        """Forget those that were not used since then."""
        try:
            for path in self._folder.iterdir():
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)
        except OSError:
            return

    def _key(self, cookie: str) -> bytes:
        return HKDF(SHA256(), 32, None, b"karmada-dashboard-session").derive(cookie.encode())
