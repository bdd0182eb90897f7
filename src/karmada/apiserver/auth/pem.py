"""PEM as Go reads it: blocks are found wherever they begin, text around them and broken blocks are skipped."""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

_BLOCK = re.compile(
    rb"(?:^|(?<=\n))-----BEGIN ([^\n]*?)-----[ \t]*\r?\n(.*?)(?:^|(?<=\n))-----END \1-----[ \t]*(?:\r?\n|$)", re.DOTALL
)
_HEADER = re.compile(rb"([^:\n]+):([^\n]*)\n")


class Block(NamedTuple):
    """One block: what it holds, by name, whether it has headers, and its content."""

    kind: str
    headed: bool
    content: bytes


def blocks(data: bytes) -> Iterator[Block]:
    """The blocks that can be read."""
    for found in _BLOCK.finditer(data):
        body, headed = found[2], False
        while header := _HEADER.match(body):
            body, headed = body[header.end() :], True
        try:
            content = base64.b64decode(re.sub(rb"\s", b"", body), validate=True)
        except binascii.Error:
            continue
        yield Block(found[1].decode(errors="replace"), headed, content)
