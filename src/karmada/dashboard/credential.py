"""Who is signed in, and by what."""

import hashlib
from math import inf
from typing import NamedTuple

from karmada.apiserver.auth.model import UserInfo

ACCOUNT = "system:serviceaccount:"


class Credential(NamedTuple):
    """A user as the API server knows them; without a token, by a client certificate that this process has verified."""

    user: UserInfo
    token: str = ""
    ends: float = inf
    """Seconds since the epoch from which on it counts no more."""

    def __repr__(self) -> str:
        return f"Credential({self.user.name!r})"

    @property
    def owner(self) -> str:
        """Who answers for it: all accounts of a namespace count as one, as whoever may make one may make any number."""
        name = self.user.name
        return name.rpartition(":")[0] if name.startswith(ACCOUNT) else name

    @property
    def key(self) -> tuple[str, ...]:
        """What two requests have in common that may share caches: the very same token, or the very same user."""
        if self.token:
            return ("token", hashlib.sha256(self.token.encode()).hexdigest())
        user = self.user
        extra = (f"{name}={'|'.join(values)}" for name, values in sorted(user.extra.items()))
        return ("user", user.name, user.uid, "\0".join(user.groups), "\0".join(extra))
