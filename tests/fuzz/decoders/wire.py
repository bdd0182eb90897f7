"""Bytes of protocols: HTTP requests, protobuf bodies, frames of agents' tunnels, questions to estimators."""

from random import Random
from typing import Any

import orjson
from tests.fuzz.shapes import clean, mutated, scalar, some, text, word
from tests.fuzz.target import Target

from karmada.api.protobuf_wire import ProtobufError
from karmada.apiserver import protobuf
from karmada.apiserver.protobuf.fields import fields
from karmada.machinery.httpserver.parsing import Limits, Parsed, Refusal, RequestParser
from karmada.membership.tunnel.frames import Decoder, Frame, FrameError, Kind, encode
from karmada.scheduler.estimators.messages import Answer, ReplicasRequest, SetsRequest, UnschedulableRequest

LIMITS = Limits(body=4096, head=2048, headers=16)
_HEADERS = (
    *("Host: a", "Content-Length: {n}", "Transfer-Encoding: chunked", "Connection: close", "Expect: 100-continue"),
    *(
        "Upgrade: websocket",
        "Connection: upgrade",
        "X: {w}",
        "Content-Length: {n}, {n}",
        "Transfer-Encoding: x, chunked",
    ),
    *(
        "Impersonate-User: {w}",
        "X-Remote-User: {w}",
        " folded",
        "Authorization: Bearer {w}",
        "{w}: {w}",
        "Content-Length:x",
    ),
)


def _http(r: Random) -> list[bytes]:
    data = b""
    for _ in range(r.randint(1, 3)):
        method = r.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "PRI", "get", word(r)))
        target = r.choice(("/", "/api/v1/pods", "/%0d%0ax", "*", "http://a/b", "/a?b=c&d", "//", "/%ff", f"/{word(r)}"))
        head = [f"{method} {target} HTTP/{r.choice(('1.1', '1.1', '1.0', '2.0', '0.9', 'x'))}"]
        body = b"x" * r.choice((0, 0, 1, 5, 5000))
        if r.random() < 0.4:
            body = b"".join(
                f"{len(part):x};e\r\n{part}\r\n".encode() for part in some(r, lambda r: "y" * r.randint(0, 9))
            )
            body += b"0\r\nAuthorization: x\r\n\r\n"
        sizes = (len(body), len(body), 0, 3, 10**20, -1)
        head += [r.choice(_HEADERS).format(n=r.choice(sizes), w=word(r)) for _ in range(r.randint(0, 6))]
        data += "\r\n".join(head).encode("utf-8", "surrogatepass") + b"\r\n\r\n" + body
    data = mutated(r, data)
    cuts = sorted(r.randint(0, len(data)) for _ in range(r.randint(0, 4)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def _run_http(portions: list[bytes]) -> None:
    parser = RequestParser(LIMITS, ("127.0.0.1", 1))
    refused = False
    for portion in portions:
        for one in parser.feed(portion):
            assert not refused, "nothing is parsed after a refusal"
            refused = isinstance(one, Refusal)
            if isinstance(one, Parsed):
                request = one.request
                assert len(request.body) <= LIMITS.body
                assert not any("\r" in value or "\0" in value for value in request.headers.values())


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _number(r: Random) -> int:
    return r.choice((0, 1, 2**31, 2**63 - 1, -1, r.randint(0, 300), 253402300800, -62135596801))


def _message(r: Random, name: str, depth: int) -> bytes:
    """A message as its table says mostly."""
    known = fields(name) or {}
    out = b""
    for number in some(r, lambda r: r.choice([*known, 99]) if known else r.randint(1, 9), 6):
        field = known.get(number)
        inner: bytes | int = clean(r).encode()
        if field is None or field.type in ("i", "b"):
            inner = _number(r)
        elif len(field.type) > 1 and depth > 0:
            inner = _message(r, field.type, depth - 1)
        if field is not None and field.shape == "%":
            inner = _field(1, clean(r).encode()) + _field(2, inner)
        out += _field(number, inner if r.random() > 0.03 else _number(r))
    return out


_KINDS = (
    *(("v1", "Pod", "api.core.v1.Pod"), ("v1", "Secret", "api.core.v1.Secret")),
    *(
        ("apps/v1", "Deployment", "api.apps.v1.Deployment"),
        ("v1", "DeleteOptions", "apimachinery.pkg.apis.meta.v1.DeleteOptions"),
    ),
    (
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    ),
)


def _protobuf(r: Random) -> bytes:
    api_version, kind, name = r.choice(_KINDS)
    if r.random() < 0.1:
        kind = word(r).replace("\ud800", "")
    head = _field(1, api_version.encode()) + _field(2, kind.encode())
    return mutated(r, b"k8s\x00" + _field(1, head) + _field(2, _message(r, name, 6)), 2)


def _run_protobuf(body: bytes) -> None:
    orjson.dumps(protobuf.decode(body))


def _frames(r: Random) -> list[bytes]:
    kinds = list(Kind)
    data = b"".join(
        encode(Frame(r.randint(0, 5), r.choice(kinds), bytes(r.randint(0, 40)))) for _ in range(r.randint(0, 6))
    )
    data = mutated(r, data)
    cut = r.randint(0, len(data))
    return [data[:cut], data[cut:]]


def _run_frames(portions: list[bytes]) -> None:
    decoder = Decoder()
    whole = b"".join(portions)
    found = [frame for portion in portions for frame in decoder.feed(portion)]
    assert whole.startswith(b"".join(map(encode, found))), "frames are what came, however it was cut"


def _question(r: Random) -> bytes:
    def message(depth: int) -> bytes:
        parts = b""
        for _ in range(r.randint(0, 5)):
            value: bytes | int = r.choice((_number(r), text(r).encode("utf-8", "surrogatepass")))
            if depth and r.random() < 0.5:
                value = message(depth - 1)
            parts += _field(r.randint(1, 6), value)
        return parts

    return mutated(r, message(5), 2)


def _run_question(data: bytes) -> Any:
    for kind in (ReplicasRequest, SetsRequest, UnschedulableRequest, Answer):
        try:
            kind.decode(data)  # type: ignore[attr-defined]
        except ProtobufError:
            continue
    return scalar


TARGETS = (
    Target("http", _http, _run_http, ()),
    Target("protobuf", _protobuf, _run_protobuf, (protobuf.ProtobufError, orjson.JSONEncodeError)),
    Target("tunnel", _frames, _run_frames, (FrameError,)),
    Target("estimator", _question, _run_question, ()),
)
