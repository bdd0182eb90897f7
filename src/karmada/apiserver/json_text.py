"""JSON as the reference's decoders read it: what is no UTF-8, or half a character, is replaced in strings."""

import re
from typing import Any

import orjson

_BYTE = re.compile("[\udc80-\udcff]")
"""A byte that is no UTF-8, as `surrogateescape` decodes it."""
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.", re.DOTALL
)
"""An escape in a string: two surrogates that are one character, one that stands alone, or any other."""


def loads(body: bytes) -> tuple[Any, bytes]:
    """The tree of a JSON text, and the text itself with what stands for no character replaced.

    Raises `orjson.JSONDecodeError`. Nobody looks for anything to replace in what can be read.
    """
    try:
        return orjson.loads(body), body
    except orjson.JSONDecodeError:
        readable = _readable(body)
        if readable == body:
            raise
        return orjson.loads(readable), readable


def _readable(body: bytes) -> bytes:
    text = _BYTE.sub("\ufffd", body.decode(errors="surrogateescape"))
    if "\\u" in text:
        text = _ESCAPE.sub(lambda found: "\ufffd" if found[1] else found[0], text)
    return text.encode()
