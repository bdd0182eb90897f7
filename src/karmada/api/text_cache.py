"""A cache of results by text, for texts that anybody may send: long ones are never kept, so its memory is bounded."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

Result = TypeVar("Result")
LONGEST = 512
"""Characters of a text that is worth keeping."""


def remembered(maxsize: int) -> Callable[[Callable[[str], Result]], Callable[[str], Result]]:
    """Keep the results of a function of one text, for the last `maxsize` texts of at most `LONGEST` characters."""

    def decorate(function: Callable[[str], Result]) -> Callable[[str], Result]:
        cached = lru_cache(maxsize=maxsize)(function)

        def call(text: str) -> Result:
            return cached(text) if len(text) <= LONGEST else function(text)

        call.__doc__ = function.__doc__
        return call

    return decorate
