"""Looking through any number of objects of any size while the event loop serves others."""

import asyncio

from karmada.apiserver.watchcache import Item

_TURN = 1_000_000
"""Bytes of objects that are looked through before others have their turn: some milliseconds."""
_LEAST = 5_000
"""Bytes that a small object counts for: 200 of them are a turn."""


class Pauses:
    """Gives others a turn whenever a megabyte of objects has been looked through."""

    def __init__(self) -> None:
        self._seen = 0

    async def after(self, item: Item) -> None:
        """Count an object; pause if that was enough."""
        self._seen += max(item.size, _LEAST)
        if self._seen >= _TURN:
            self._seen = 0
            await asyncio.sleep(0)
