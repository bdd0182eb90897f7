"""A cache of what was made from texts that others choose: it bounds the number of entries and the size of each."""

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, wraps
from hashlib import blake2b
from threading import Lock
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import orjson

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V", covariant=True)
Judge = Callable[[dict[str, Any], str], list[R]]
"""What there is to say about an object at a path."""
LONGEST = 512
"""Characters: what repeats is short, and what is longer is made anew each time."""


class Same(Generic[V]):
    """A value that is equal to itself only: to compare large ones takes as long as what is to be remembered of them."""

    __slots__ = ("value",)

    def __init__(self, value: V) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def text_cache(size: int) -> Callable[[Callable[[str], R]], Callable[[str], R]]:
    """Remember the results for the `size` texts that were last used, as far as they are short."""

    def decorate(function: Callable[[str], R]) -> Callable[[str], R]:
        remembered = lru_cache(maxsize=size)(function)

        @wraps(function)
        def call(text: str) -> R:
            return remembered(text) if len(text) <= LONGEST else function(text)

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


def clean_cache(size: int) -> Callable[[Judge[R]], Judge[R]]:
    """Remember the digests of objects about which there was nothing to say: the same come again and again.

    The result must depend on nothing but the object; the path only says where it is.
    """

    def decorate(judge: Judge[R]) -> Judge[R]:
        clean: set[bytes] = set()

        @wraps(judge)
        def call(obj: dict[str, Any], path: str) -> list[R]:
            try:
                digest = blake2b(orjson.dumps(obj), digest_size=16).digest()
            except orjson.JSONEncodeError:
                return judge(obj, path)
            if digest in clean:
                return []
            found = judge(obj, path)
            if not found:
                if len(clean) >= size:
                    clean.clear()
                clean.add(digest)
            return found

        return call

    return decorate
