"""Small documents mean the same whichever parser reads them."""

import json
import subprocess
import sys

import orjson
import pytest

PROGRAM = """
import json, sys
from karmada.machinery import small_json
for line in sys.stdin.buffer.read().split(b"\\0"):
    try:
        print(json.dumps(small_json.loads(line)))
    except ValueError:
        print("refused")
    if "orjson" in sys.modules:
        print("orjson was imported")
"""
DOCUMENTS = {
    "an object": b'{"a": [1, 2.5, true, null, "\xc3\xa4"]}',
    "no number": b"NaN",
    "an infinite number": b"[-Infinity]",
    "broken off": b'{"a": ',
    "no text": b'"\xff"',
    "nothing": b"",
    "a mark of byte order": b"\xef\xbb\xbf{}",
    "nesting without end": b"[" * 100_000,
}


def without_orjson(*documents: bytes) -> list[str]:
    command = [sys.executable, "-c", PROGRAM]
    return (
        subprocess.run(command, input=b"\0".join(documents), capture_output=True, check=True)
        .stdout.decode()
        .split("\n")
    )


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_standard_library_reads_it_like_orjson(document):
    try:
        expected = json.dumps(orjson.loads(document))
    except orjson.JSONDecodeError:
        expected = "refused"
    assert without_orjson(document) == [expected, ""]


@pytest.mark.parametrize(
    "document", [b'"\\ud800"', b'"' + b"a" * (1 << 20) + b'"'], ids=["half a character", "a large document"]
)
def test_what_they_read_differently_or_slowly_is_left_to_orjson(document):
    assert without_orjson(document)[1] == "orjson was imported"
