"""JSON texts with what is no character; what a kube-apiserver 1.36.3 makes of them."""

import orjson
import pytest

from karmada.apiserver.json_text import loads


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (b"a\xff\xfeb", "a\ufffd\ufffdb"),
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),
        (b"\xf0\x9f\x98", "\ufffd\ufffd\ufffd"),
        (b"\xe2\x82x", "\ufffd\ufffdx"),
        (rb"a\ud800b", "a\ufffdb"),
        (rb"\ud800\u0041", "\ufffdA"),
        (rb"\udc00\ud800", "\ufffd\ufffd"),
        (rb"\ud83d\ude00\uD83D", "\U0001f600\ufffd"),
        (rb"\\ud800\ud800", "\\ud800\ufffd"),
        ("ä\\ud800\ud800".encode(errors="surrogatepass"), "ä\ufffd\ufffd\ufffd\ufffd"),
    ],
)
def test_what_is_no_character_is_replaced(given: bytes, read: str) -> None:
    tree, text = loads(b'{"k":"' + given + b'"}')
    assert tree == orjson.loads(text) == {"k": read}


@pytest.mark.parametrize("given", [b"", b"{", b'{"k":"\xff"', b"\xff", rb"{\ud800: 1}", b'{"k":"\x01"}'])
def test_what_is_no_json_stays_none(given: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        loads(given)


def test_what_can_be_read_is_kept_as_it_is() -> None:
    text = b' {"k" : "\xc3\xa4"}'
    assert loads(text)[1] is text
