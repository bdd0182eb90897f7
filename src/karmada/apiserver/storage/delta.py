"""An encoded object as what makes it different from another one that is built alike.

The Works of one workload are the same but for a namespace, identities, times and perhaps replicas. Both encodings are
cut at their quotes; where they have the same number of pieces, the pieces that differ are kept, each with its place.
The object is put together again by joining slices of the base with them: nothing is decoded.
"""

from functools import lru_cache
from itertools import accumulate, compress
from operator import ne

import msgspec

_QUOTE = b'"'
_SIZE = 4
"""Bytes of the object's own size, which stands before the changes."""
_TRIMMED = 256
"""Pieces up to this long lose what they have in common with the base at both ends."""
_encode = msgspec.msgpack.Encoder().encode
_Change = tuple[int, int, bytes | int]
"""How much of the base is taken, how much of it is left out then, and what stands there instead, or which one of the
earlier ones that was."""
_decode = msgspec.msgpack.Decoder(list[_Change]).decode


class Delta(msgspec.Struct, frozen=True, gc=False):
    """An object that is stored as its difference from another one."""

    base: bytes
    """Shared by all that resemble it."""
    changes: bytes

    @property
    def size(self) -> int:
        """Of the whole object."""
        return int.from_bytes(self.changes[:_SIZE], "big")

    def whole(self) -> bytes:
        """The encoded object."""
        base, at = self.base, 0
        parts: list[bytes] = []
        pieces: list[bytes] = []
        for taken, left_out, piece in _decode(memoryview(self.changes)[_SIZE:]):
            if isinstance(piece, int):
                piece = pieces[piece]
            else:
                pieces.append(piece)
            parts += (base[at : at + taken], piece)
            at += taken + left_out
        parts.append(base[at:])
        return b"".join(parts)


Stored = bytes | Delta
"""An encoded object, or its difference from another one."""


def whole(stored: Stored) -> bytes:
    """The encoded object."""
    return stored if isinstance(stored, bytes) else stored.whole()


def size_of(stored: Stored) -> int:
    """How large the encoded object is."""
    return len(stored) if isinstance(stored, bytes) else stored.size


def pieces_of(body: bytes) -> int:
    """How many pieces an object is made of: only objects of as many are compared."""
    return body.count(_QUOTE)


def difference(base: bytes, body: bytes) -> bytes | None:
    """The changes that make a base the object; None if they are not built alike."""
    (before, places), after = _cut(base), body.split(_QUOTE)
    if len(before) != len(after):
        return None
    changes: list[_Change] = []
    known: dict[bytes, int] = {}
    reached = 0
    for old, new, at in compress(zip(before, after, places, strict=True), map(ne, before, after)):
        head, tail = _common(old, new) if len(old) <= _TRIMMED else (0, 0)
        piece = new[head : len(new) - tail]
        earlier = known.get(piece)
        if earlier is None:
            known[piece] = len(known)
        changes.append((at + head - reached, len(old) - head - tail, piece if earlier is None else earlier))
        reached = at + len(old) - tail
    return len(body).to_bytes(_SIZE, "big") + _encode(changes)


@lru_cache(maxsize=16)
def _cut(base: bytes) -> tuple[list[bytes], list[int]]:
    """The pieces of a base, and where they begin."""
    pieces = base.split(_QUOTE)
    return pieces, [0, *accumulate(len(piece) + 1 for piece in pieces[:-1])]


def _common(old: bytes, new: bytes) -> tuple[int, int]:
    """How many bytes two pieces have in common at their beginning, and at their end beyond that."""
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail
