"""A cache of what was made from texts that others choose: it bounds the number of entries and the size of each."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

R = TypeVar("R")
LONGEST = 512
"""Characters: what repeats is short, and what is longer is made anew each time."""


def text_cache(size: int, longest: int = LONGEST) -> Callable[[Callable[[str], R]], Callable[[str], R]]:
    """Remember the results for the `size` texts that were last used, as far as they are short."""

    def decorate(function: Callable[[str], R]) -> Callable[[str], R]:
        remembered = lru_cache(maxsize=size)(function)

        @wraps(function)
        def call(text: str) -> R:
            return remembered(text) if len(text) <= longest else function(text)

        return call

    return decorate
