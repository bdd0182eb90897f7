"""Which endpoint gets a request, and which are left out for a while because they fail. Pure but for the time given in.

Endpoints take turns, so a cluster gets requests in proportion to its ready endpoints; of two neighbours the one with
fewer requests under way is taken. An endpoint that fails several times in a row is ejected, longer each time; the last
one that is left never is. One that comes back is on probation: a single failure ejects it again.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from karmada.gateway.endpoints import Endpoint

FAILURES = 5
"""In a row, until an endpoint is ejected."""
EJECTED_SECONDS = 30.0
LONGEST_EJECTION = 300.0
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
ATTEMPTS = 3
GATEWAY_ERRORS = frozenset({502, 503, 504})


@dataclass(slots=True)
class Health:
    """How one endpoint has done."""

    failures: int = 0
    ejections: int = 0
    ejected_until: float = 0.0
    in_flight: int = 0


@dataclass(slots=True)
class Balancer:
    """The endpoints of one backend. `spare` ones are used only when there is no other."""

    endpoints: Sequence[Endpoint] = ()
    spare: Sequence[Endpoint] = ()
    ejections: int = 0
    """How many there were."""
    _health: dict[Endpoint, Health] = field(default_factory=dict)
    _turn: int = 0

    def update(self, endpoints: Sequence[Endpoint], spare: Sequence[Endpoint] = ()) -> None:
        """Take over what there is now; what is known of those that stay is kept, those that come back begin anew."""
        kept = {*self.endpoints} & {*endpoints} | {*spare}
        self.endpoints, self.spare = endpoints, spare
        for endpoint in [known for known in self._health if known not in kept]:
            del self._health[endpoint]

    def pick(self, now: float, tried: Container[Endpoint] = ()) -> Endpoint | None:
        """The endpoint for a request that has tried some already; None when there is none left."""
        for group in (self.endpoints, self.spare):
            fresh = [endpoint for endpoint in group if endpoint not in tried]
            usable = [endpoint for endpoint in fresh if not self.is_ejected(endpoint, now)] or fresh
            if usable:
                self._turn += 1
                first, second = (usable[(self._turn + step) % len(usable)] for step in (0, 1))
                return second if self._of(second).in_flight < self._of(first).in_flight else first
        return None

    def is_ejected(self, endpoint: Endpoint, now: float) -> bool:
        """Whether an endpoint is left out."""
        known = self._health.get(endpoint)
        return known is not None and known.ejected_until > now

    def began(self, endpoint: Endpoint) -> None:
        """A request is under way there."""
        self._of(endpoint).in_flight += 1

    def ended(self, endpoint: Endpoint, ok: bool, now: float) -> None:
        """A request is over; a good one clears the record."""
        known = self._of(endpoint)
        known.in_flight = max(0, known.in_flight - 1)
        if ok:
            known.failures = known.ejections = 0
            return
        known.failures += 1
        if known.failures >= FAILURES and not self._is_last(endpoint, now):
            known.ejections += 1
            known.failures = FAILURES - 1
            pause = min(EJECTED_SECONDS * 2 ** (known.ejections - 1), LONGEST_EJECTION)
            known.ejected_until = now + pause
            self.ejections += 1

    def _is_last(self, endpoint: Endpoint, now: float) -> bool:
        return not any(other != endpoint and not self.is_ejected(other, now) for other in self.endpoints)

    def _of(self, endpoint: Endpoint) -> Health:
        known = self._health.get(endpoint)
        if known is None:
            known = self._health[endpoint] = Health()
        return known


def may_retry(method: str, attempt: int, sent: bool) -> bool:
    """Whether a failed attempt may be repeated elsewhere: when it was never sent, or when repeating does no harm."""
    return attempt < ATTEMPTS and (not sent or method in IDEMPOTENT)
