"""The few parts of protobuf the estimator's messages use: varints, strings, bytes, nested messages, maps.

Writers append to a bytearray and leave out zero values, as proto3 does. `fields` yields numbers and raw values; unknown
fields are the reader's to skip. Whatever is wrong with the input, the error is `ProtobufError`.
"""

from collections.abc import Iterator

from karmada.api.protobuf_wire import BYTES, VARINT, ProtobufError, as_bytes, entries


def put_varint(out: bytearray, number: int) -> None:
    """Append a number; negative ones as 64-bit two's complement."""
    number &= 0xFFFFFFFFFFFFFFFF
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def put_int(out: bytearray, field: int, number: int) -> None:
    """Append an integer field unless it is zero."""
    if number:
        put_varint(out, field << 3 | VARINT)
        put_varint(out, number)


def put_bytes(out: bytearray, field: int, data: bytes | bytearray) -> None:
    """Append a bytes or message field, also when it is empty."""
    put_varint(out, field << 3 | BYTES)
    put_varint(out, len(data))
    out += data


def put_text(out: bytearray, field: int, text: str) -> None:
    """Append a string field unless it is empty."""
    if text:
        put_bytes(out, field, text.encode())


def put_entry(out: bytearray, field: int, key: str, value: bytes) -> None:
    """Append an entry of a map from strings."""
    entry = bytearray()
    put_text(entry, 1, key)
    if value:
        put_bytes(entry, 2, value)
    put_bytes(out, field, entry)


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message: numbers for varints, bytes for everything that has a length; no message has others."""
    return ((number, value) for number, wire, value in entries(data) if wire in (VARINT, BYTES))


def as_int(value: int | bytes, bits: int = 64) -> int:
    """A signed integer."""
    if not isinstance(value, int):
        raise ProtobufError("a number was expected")
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def as_text(value: int | bytes) -> str:
    """A string."""
    try:
        return as_bytes(value).decode()
    except UnicodeDecodeError as error:
        raise ProtobufError("a string is not UTF-8") from error


def entry(value: int | bytes) -> tuple[str, bytes]:
    """An entry of a map from strings."""
    key, content = "", b""
    for number, part in fields(as_bytes(value)):
        if number == 1:
            key = as_text(part)
        elif number == 2:
            content = as_bytes(part)
    return key, content
