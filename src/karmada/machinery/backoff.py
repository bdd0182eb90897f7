"""Growing pauses between attempts, with jitter from an injected source of randomness."""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class BackoffPolicy:
    """Pauses grow from `initial` by `factor` up to `maximum`; each is lengthened by up to `jitter` of itself."""

    initial: float
    maximum: float
    factor: float = 2.0
    jitter: float = 0.0

    def pause(self, failures: int, random: Random | None = None) -> float:
        """The pause after the given number of failures before this one."""
        # Beyond 2^60 the power only costs time: the maximum has long been reached.
        pause = min(self.initial * self.factor ** min(failures, 60), self.maximum)
        return pause if random is None else pause * (1 + self.jitter * random.random())


class Backoff:
    """The failures of one thing in a row, and how long to pause after the next."""

    def __init__(self, policy: BackoffPolicy, random: Random) -> None:
        self._policy = policy
        self._random = random
        self.failures = 0

    def next(self) -> float:
        """Count a failure; how long to pause now."""
        pause = self._policy.pause(self.failures, self._random)
        self.failures += 1
        return pause

    def reset(self) -> None:
        """It worked: start small again next time."""
        self.failures = 0
