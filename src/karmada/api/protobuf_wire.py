"""Protobuf's wire format: a message is a run of numbered values, whatever they mean."""

VARINT = 0
BYTES = 2
"""The wire type of everything that has a length: texts, messages, packed numbers."""
_FIXED64, _FIXED32 = 1, 5
_64_BITS = (1 << 64) - 1


class ProtobufError(ValueError):
    """Bytes that are no protobuf of a known kind."""


def entries(data: bytes) -> list[tuple[int, int, int | bytes]]:
    """(number, wire type, value) of every field."""
    found: list[tuple[int, int, int | bytes]] = []
    position, end = 0, len(data)
    while position < end:
        key, position = _varint(data, position)
        number, wire = key >> 3, key & 7
        if not number:
            raise ProtobufError("a field has the number 0")
        value: int | bytes
        if wire == VARINT:
            value, position = _varint(data, position)
        else:
            if wire == BYTES:
                size, position = _varint(data, position)
            elif wire in (_FIXED64, _FIXED32):
                size = 8 if wire == _FIXED64 else 4
            else:
                raise ProtobufError(f"unknown wire type {wire}")
            if size > end - position:
                raise ProtobufError("a field is longer than its message")
            value = data[position : position + size]
            position += size
        found.append((number, wire, value))
    return found


def _varint(data: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ProtobufError("a number is cut off or too long")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & _64_BITS, position  # The tenth byte has room for more than a number has.
        shift += 7


def packed(data: bytes) -> list[int]:
    """The numbers in a packed field."""
    numbers, position = [], 0
    while position < len(data):
        number, position = _varint(data, position)
        numbers.append(number)
    return numbers


def as_bytes(value: int | bytes) -> bytes:
    """A value that must be of a length-delimited field."""
    if isinstance(value, int):
        raise ProtobufError("bytes are expected, not a number")
    return value


def written(number: int, wire: int, value: int | bytes) -> bytes:
    """A field, as `entries` reads it."""
    key = _number(number << 3 | wire)
    if isinstance(value, int):
        return key + _number(value)
    return key + (_number(len(value)) + value if wire == BYTES else value)


def _number(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
