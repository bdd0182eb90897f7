"""Notifies observers of what an authoriser was asked and decided.

Tests add an observer to the process to learn which rights components use and which they lack. Without an observer a
server keeps its authoriser as it is, so nothing is paid for this.
"""

from collections.abc import Callable

from karmada.apiserver.auth.model import Attributes, Authorizer, Decision, UserInfo

Observer = Callable[[UserInfo, Attributes, bool], None]
OBSERVERS: list[Observer] = []
"""Called with every decision about a request by servers that are made from now on in this process."""


def observed(authorizer: Authorizer) -> Authorizer:
    """The authoriser, watched by the observers there are."""
    return _Observed(authorizer, tuple(OBSERVERS)) if OBSERVERS else authorizer


class _Observed:
    def __init__(self, authorizer: Authorizer, observers: tuple[Observer, ...]) -> None:
        self._authorizer = authorizer
        self._observers = observers

    def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        """What the authoriser decides."""
        decision = self._authorizer.authorize(user, attributes)
        for observe in self._observers:
            observe(user, attributes, decision.allowed)
        return decision
