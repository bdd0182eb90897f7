"""How long a client may take, and how long it may let writing wait. Free of I/O."""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds a client may take."""

    handshake: float = 10.0
    head: float = 32.0
    """From the first byte of a request to the end of its headers."""
    body: float = 60.0
    idle: float = 90.0
    """Between requests of a kept-alive connection."""
    write: float = 60.0
    """In arrears with reading while the server has something to send."""
    slowest: float = 64 * 1024
    """Bytes a second that a client has to read at least, in the long run."""


class Patience:
    """The seconds for which writing to one client may still wait: time in which it need not wait gives them back, and
    so does what the client reads."""

    __slots__ = ("_left", "_sent", "_timeouts", "_turned")

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._left = timeouts.write
        self._turned = 0.0
        """When writing last paused or went on."""
        self._sent = 0
        """Bytes given to the socket since the last pause."""

    def note_sent(self, size: int) -> None:
        """So many bytes were given to the socket: once it waits for the client again, these have been read."""
        self._sent += size

    def paused(self, now: float, any_reading_will_do: bool = False) -> float:
        """Writing waits from now on; when the client is cut off."""
        regained = inf if any_reading_will_do else now - self._turned + self._sent / self._timeouts.slowest
        self._left = min(self._left + regained, self._timeouts.write)
        self._turned, self._sent = now, 0
        return now + self._left

    def resumed(self, now: float) -> None:
        """Writing goes on."""
        self._left -= now - self._turned
        self._turned = now
