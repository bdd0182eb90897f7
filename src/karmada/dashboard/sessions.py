"""Sessions and one-time codes: bounded in number, in age, and in how often a wrong guess may be made.

What identifies a session or a code is random and 256 bits long; only its hash is kept, so that neither a dump of the
tables nor the time that a look-up takes gives away a valid one. Sessions outlive the process where there are files for
them (see `session_files`); codes never do.
"""

import hashlib
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from karmada.dashboard.credential import Credential
from karmada.dashboard.session_files import SessionFiles, kept
from karmada.machinery.clock import Clock

SECONDS = 12 * 3600.0
"""How long a session lasts."""
IDLE = 3600.0
"""How long it lasts without a request."""
NOTED = 60.0
"""Seconds after which a use is noted on the disk again."""
MOST = 1000
MOST_OF_ONE = 20
"""Sessions of one owner; one more ends the one that was used least recently."""
CODE = "once-"
"""How a one-time code begins, which distinguishes it from a token."""
CODE_LENGTH = 22
"""Characters of base64 after that: 132 bits for five minutes, and the link fits a terminal."""
CODE_SECONDS = 300.0
CODES = 100
CODES_OF_ONE = 8
GUESSES = 10
"""Wrong guesses of one address in `WINDOW` seconds; after that even a good one is refused."""
WINDOW = 60.0
ADDRESSES = 1000


@dataclass(slots=True)
class Session:
    """One sign-in."""

    credential: Credential
    csrf: str
    started: float
    used: float
    noted: float
    """When its use was last noted on the disk."""


class _Code(NamedTuple):
    credential: Credential
    until: float


class Sessions:
    """All sign-ins; with `files`, those of the process before as well."""

    def __init__(
        self,
        clock: Clock,
        new: Callable[[], str] = lambda: secrets.token_urlsafe(32),
        files: SessionFiles | None = None,
    ) -> None:
        self._clock = clock
        self._new = new
        self._files = files
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._codes: OrderedDict[str, _Code] = OrderedDict()
        self._secret = new()

    def open(self, credential: Credential) -> str:
        """Begin a session; what its cookie holds."""
        self._sweep()
        mine = [name for name, one in self._sessions.items() if one.credential.owner == credential.owner]
        for name in mine[: max(0, len(mine) - MOST_OF_ONE + 1)]:
            self._forget(name)
        if len(self._sessions) >= MOST:
            self._forget(next(iter(self._sessions)))
        identifier, now = self._new(), self._clock.monotonic()
        session = self._sessions[_hashed(identifier)] = Session(credential, self._new(), now, now, now)
        if self._files is not None:
            made = kept(credential, session.csrf, self._clock.now())
            self._files.put(_hashed(identifier), identifier, made, MOST)
        return identifier

    def find(self, identifier: str, *, touch: bool = True) -> Session | None:
        """The session of a cookie; `touch` counts as use."""
        name = _hashed(identifier)
        session = self._sessions.get(name) or self._take_up(name, identifier)
        if session is None:
            return None
        if not self._lives(session):
            self._forget(name)
            return None
        if touch:
            session.used = self._clock.monotonic()
            self._sessions.move_to_end(name)
            if self._files is not None and session.used - session.noted >= NOTED:
                session.noted = session.used
                self._files.used(name, self._clock.now())
        return session

    def close(self, identifier: str) -> None:
        """End a session."""
        self._forget(_hashed(identifier))

    def offer(self, credential: Credential) -> str:
        """A code with which somebody may sign in as a user, once and soon."""
        now = self._clock.monotonic()
        for name in [name for name, code in self._codes.items() if code.until <= now]:
            del self._codes[name]
        mine = [name for name, code in self._codes.items() if code.credential.owner == credential.owner]
        for name in mine[: max(0, len(mine) - CODES_OF_ONE + 1)]:
            del self._codes[name]
        if len(self._codes) >= CODES:
            self._codes.popitem(last=False)
        made = CODE + self._new()[:CODE_LENGTH]
        self._codes[_hashed(made)] = _Code(credential, now + CODE_SECONDS)
        return made

    def redeem(self, code: str) -> Credential | None:
        """Whom a code signs in; it counts no more after this."""
        found = self._codes.pop(_hashed(code), None)
        if found is None or found.until <= self._clock.monotonic() or found.credential.ends <= self._clock.now():
            return None
        return found.credential

    def csrf_of(self, credential: Credential) -> str:
        """What writes of somebody without a session must repeat: nobody else can know it."""
        text = "\0".join((self._secret, *credential.key))
        return hashlib.sha256(text.encode()).hexdigest()

    def __len__(self) -> int:
        return len(self._sessions)

    def _lives(self, session: Session) -> bool:
        now = self._clock.monotonic()
        young = now - session.started < SECONDS and now - session.used < IDLE
        return young and self._clock.now() < session.credential.ends

    def _take_up(self, name: str, identifier: str) -> Session | None:
        """A session of an earlier process."""
        found = self._files.get(name, identifier) if self._files is not None and identifier else None
        if found is None:
            return None
        what, used = found
        now, monotonic = self._clock.now(), self._clock.monotonic()
        age, idle = max(0.0, now - what.started), max(0.0, now - used)
        made = Session(what.credential, what.csrf, monotonic - age, monotonic - idle, monotonic - idle)
        if len(self._sessions) >= MOST:
            self._sessions.popitem(last=False)
        self._sessions[name] = made
        return made

    def _forget(self, name: str) -> None:
        self._sessions.pop(name, None)
        if self._files is not None:
            self._files.remove(name)

    def _sweep(self) -> None:
        for name in [name for name, session in self._sessions.items() if not self._lives(session)]:
            self._forget(name)
        if self._files is not None:
            self._files.sweep(self._clock.now() - IDLE)


class Guesses:
    """Counts wrong guesses by the address they come from."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._made: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds for which an address may not guess again; 0 if it may."""
        made = self._made.get(address)
        now = self._clock.monotonic()
        while made and made[0] <= now - WINDOW:
            made.popleft()
        return made[0] + WINDOW - now if made and len(made) >= GUESSES else 0.0

    def failed(self, address: str) -> None:
        """A wrong guess was made."""
        self._made.setdefault(address, deque(maxlen=GUESSES)).append(self._clock.monotonic())
        self._made.move_to_end(address)
        if len(self._made) > ADDRESSES:
            self._made.popitem(last=False)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
