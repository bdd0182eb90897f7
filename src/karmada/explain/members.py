"""The members an explanation may ask, each with a deadline: one that hangs delays nobody for longer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from karmada.explain.errors import NoAnswer
from karmada.machinery.client import Client

T = TypeVar("T")


class Members(NamedTuple):
    """Clients of members by name."""

    client: Callable[[str], Client]
    patience: float
    """Seconds that a member may take for one question."""

    async def in_time(self, work: Awaitable[T]) -> T:
        """What a member answers; raises `NoAnswer` when the deadline has passed."""
        try:
            async with asyncio.timeout(self.patience):
                return await work
        except TimeoutError:
            raise NoAnswer(f"no answer within {self.patience:g} s") from None
