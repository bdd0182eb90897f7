"""The keys of one lane: one of each tenant in turn, those of one tenant first come first served."""

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Tenants(Generic[K]):
    """Who comes with one key is not behind those who came with thousands."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, deque[K]] = OrderedDict()
        """Tenants with keys, in the order of their turns."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def append(self, key: K, tenant: Hashable) -> None:
        """Add a key behind the others of its tenant."""
        keys = self._waiting.get(tenant)
        if keys is None:
            self._waiting[tenant] = deque((key,))
        else:
            keys.append(key)

    def popleft(self) -> K:
        """Take the next key."""
        tenant, keys = self._waiting.popitem(last=False)
        key = keys.popleft()
        if keys:
            self._waiting[tenant] = keys
        return key
