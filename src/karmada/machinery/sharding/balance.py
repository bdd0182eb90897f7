"""Which shard a key belongs to, and how many shards a replica should hold. Pure, and the same in every replica.

A key belongs to one shard for as long as their number stays; only shards move between replicas. When a replica comes or
goes, others give up or take no more shards than its share: every other key stays where it is.
"""

from collections.abc import Collection
from zlib import crc32

MOST = 16
"""Shards that a component may have: its role names their leases."""


def shard_of(key: str, count: int, first: int = 0) -> int:
    """The shard of a key among `count`; those before `first` have no keys."""
    return first + crc32(key.encode()) % (count - first)


def share(identity: str, live: Collection[str], count: int) -> int:
    """How many of `count` shards a replica should hold: the shares of all live ones sum up to all shards."""
    ranked = sorted({identity, *live})
    least, more = divmod(count, len(ranked))
    return least + (ranked.index(identity) < more)


def preference(identity: str, count: int) -> list[int]:
    """The shards in the order in which a replica wants them: the first one before all others, these in an order that
    differs between replicas, so that they rarely want the same."""
    return [0, *sorted(range(1, count), key=lambda shard: crc32(f"{identity} {shard}".encode()))]
