"""Finds readers that change what they share with others.

Structs are frozen, but the dictionaries in them are not. After a test, ask whether every decoded value in an informer's
cache is still what its bytes say.
"""

from typing import TypeVar

from karmada.machinery.informers.cache import Key
from karmada.machinery.informers.informer import Informer

T = TypeVar("T")


def changed_in_cache(informer: Informer[T]) -> list[Key]:
    """The objects that somebody changed through a value read from the cache."""
    codec = informer.codec

    def untouched(body: bytes) -> T:
        # From a copy: a codec may remember what it made of these very bytes.
        return codec.decode(bytes(memoryview(body)))

    return [item.key for item in informer.all_items() if codec.encode(item.value) != codec.encode(untouched(item.body))]
