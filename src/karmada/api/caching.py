"""A cache of what was made from texts that others choose: it bounds the number of entries and the size of each."""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
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


def weighed_cache(most: int, weigh: Callable[Concatenate[R, P], int]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remember the results that were last used, as long as they weigh no more than `most` together.

    `weigh` is given a result and what it was made from; arguments are positional, and errors are not kept.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        results: OrderedDict[tuple[object, ...], tuple[R, int]] = OrderedDict()
        lock = Lock()
        total = 0

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            nonlocal total
            with lock:
                found = results.get(args)
                if found is not None:
                    results.move_to_end(args)
                    return found[0]
            made = function(*args, **kwargs)
            weight = weigh(made, *args, **kwargs)
            if weight > most:
                return made
            with lock:
                if args not in results:
                    results[args] = made, weight
                    total += weight
                while total > most:
                    total -= results.popitem(last=False)[1][1]
            return made

        return call

    return decorate
