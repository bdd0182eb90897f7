"""Sessions and one-time codes, in memory only: bounded in number, in age, and in how often a wrong guess may be made.

What identifies a session or a code is random and 256 bits long; only its hash is kept, so that neither a dump of the
tables nor the time that a look-up takes tells a valid one.
"""

import hashlib
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from karmada.dashboard.credential import Credential
from karmada.machinery.clock import Clock

SECONDS = 12 * 3600.0
"""How long a session lasts."""
IDLE = 3600.0
"""How long it lasts without a request."""
MOST = 1000
MOST_OF_ONE = 20
"""Sessions of one user; one more ends the one that was used least recently."""
CODE = "once-"
"""How a one-time code begins, which tells it from a token."""
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


class _Code(NamedTuple):
    credential: Credential
    until: float


class Sessions:
    """All sign-ins of a process."""

    def __init__(self, clock: Clock, new: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> None:
        self._clock = clock
        self._new = new
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._codes: OrderedDict[str, _Code] = OrderedDict()
        self._secret = new()

    def open(self, credential: Credential) -> str:
        """Begin a session; what its cookie holds."""
        self._sweep()
        mine = [name for name, one in self._sessions.items() if one.credential.user.name == credential.user.name]
        for name in mine[: max(0, len(mine) - MOST_OF_ONE + 1)]:
            del self._sessions[name]
        if len(self._sessions) >= MOST:
            self._sessions.popitem(last=False)
        identifier, now = self._new(), self._clock.monotonic()
        self._sessions[_hashed(identifier)] = Session(credential, self._new(), now, now)
        return identifier

    def find(self, identifier: str, *, touch: bool = True) -> Session | None:
        """The session of a cookie; `touch` counts as use."""
        name = _hashed(identifier)
        session = self._sessions.get(name)
        if session is None:
            return None
        if not self._lives(session):
            del self._sessions[name]
            return None
        if touch:
            session.used = self._clock.monotonic()
            self._sessions.move_to_end(name)
        return session

    def close(self, identifier: str) -> None:
        """End a session."""
        self._sessions.pop(_hashed(identifier), None)

    def offer(self, credential: Credential) -> str:
        """A code with which somebody may sign in as a user, once and soon."""
        now = self._clock.monotonic()
        for name in [name for name, code in self._codes.items() if code.until <= now]:
            del self._codes[name]
        mine = [name for name, code in self._codes.items() if code.credential.user.name == credential.user.name]
        for name in mine[: max(0, len(mine) - CODES_OF_ONE + 1)]:
            del self._codes[name]
        if len(self._codes) >= CODES:
            self._codes.popitem(last=False)
        made = CODE + self._new()
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

    def _sweep(self) -> None:
        for name in [name for name, session in self._sessions.items() if not self._lives(session)]:
            del self._sessions[name]


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
