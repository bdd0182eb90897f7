import pytest
from hypothesis import given
from hypothesis import strategies as st

from karmada.machinery.httpserver.parsing import Limits, Parsed, Refusal, RequestParser

PEER = ("127.0.0.1", 1)
POST = (
    b"POST /api/v1/namespaces/a%3Ab/pods?fieldManager=x%20y HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    b"Impersonate-Group: a,b\r\nImpersonate-Group: c\r\nAccept: x\r\nAccept: y\r\nContent-Length: 5\r\n\r\nhello"
)
CHUNKED = (
    b"PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
)
GET_HEAD = b"GET / HTTP/1.1\r\nHost: h\r\n"
POST_HEAD = b"POST / HTTP/1.1\r\nHost: h\r\n"
GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


def parse(*portions: bytes, limits: Limits | None = None) -> list[Parsed | Refusal]:
    parser = RequestParser(limits or Limits(), PEER)
    return [item for portion in portions for item in parser.feed(portion)]


def seen(items: list[Parsed | Refusal]) -> list[object]:
    return [
        item
        if isinstance(item, Refusal)
        else (item.request.method, item.request.path, item.request.query, dict(item.request.headers), item.request.body)
        for item in items
    ]


def test_a_request_is_parsed_with_decoded_path_and_joined_headers():
    (item,) = parse(POST)
    assert isinstance(item, Parsed)
    assert (item.request.method, item.request.path) == ("POST", "/api/v1/namespaces/a:b/pods")
    assert item.request.query == "fieldManager=x%20y"
    assert item.request.headers["impersonate-group"] == "a,b\nc"
    assert item.request.headers["accept"] == "x, y"
    assert item.request.body == b"hello"
    assert item.keep_alive


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"/a?b=c?d", "/a", "b=c?d"),
        (b"http://other.org/a/b?c=/d", "/a/b", "c=/d"),
        (b"http://other.org", "/", ""),
        (b"http://other.org:80/", "/", ""),
        (b"http:///a", "/a", ""),
        (b"*", "*", ""),
    ],
)
def test_a_target_may_have_any_of_its_forms(target: bytes, path: str, query: str):
    (item,) = parse(b"OPTIONS " + target + b" HTTP/1.1\r\nHost: h\r\n\r\n")
    assert isinstance(item, Parsed)
    assert (item.request.path, item.request.query) == (path, query)


@pytest.mark.parametrize(
    ("path", "why"), [(b"/%ff", "the path is not UTF-8"), (b"/a%0ab", "the path has control characters in it")]
)
def test_a_path_that_is_no_text_is_refused_with_the_reason(path: bytes, why: str):
    assert parse(b"GET " + path + b" HTTP/1.1\r\nHost: h\r\n\r\n") == [Refusal(400, f"Bad Request: {why}")]


def test_splitting_at_every_byte_changes_nothing():
    stream = POST + CHUNKED + GET
    whole = seen(parse(stream))
    assert len(whole) == 3
    for cut in range(1, len(stream)):
        assert seen(parse(stream[:cut], stream[cut:])) == whole
    assert seen(parse(*[stream[i : i + 1] for i in range(len(stream))])) == whole


def test_a_chunked_body_is_joined():
    (item,) = parse(CHUNKED)
    assert isinstance(item, Parsed)
    assert item.request.body == b"abcde"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        pytest.param(b"\x16\x03\x01\x00\xa5\x01\x00\x00", 400, id="a TLS hello on a plain port"),
        pytest.param(b"GET\r\n\r\n", 400, id="no target"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", 400, id="unknown version"),
        pytest.param(b"FETCH / HTTP/1.1\r\nHost: h\r\n\r\n", 405, id="unknown method"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", 400, id="no host"),
        pytest.param(GET_HEAD + b"A b: c\r\n\r\n", 400, id="space in a header name"),
        pytest.param(GET_HEAD + b"A: b\x00c\r\n\r\n", 400, id="NUL in a header value"),
        pytest.param(POST_HEAD + b"Content-Length: -1\r\n\r\n", 400, id="negative length"),
        pytest.param(POST_HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, id="two lengths"),
        pytest.param(
            POST_HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
            id="length and chunked",
        ),
        pytest.param(POST_HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, id="bad chunk size"),
        pytest.param(b"GET /%ff HTTP/1.1\r\nHost: h\r\n\r\n", 400, id="path that is not UTF-8"),
        pytest.param(GET_HEAD + b"Expect: miracles\r\n\r\n", 417, id="unknown expectation"),
        pytest.param(POST_HEAD + b"Content-Length: 3145729\r\n\r\n", 413, id="announced body too large"),
        pytest.param(GET_HEAD + b"A: " + b"a" * 200_000 + b"\r\n\r\n", 431, id="huge header"),
        pytest.param(GET_HEAD + b"A: " + b"a" * 200_000, 431, id="huge unfinished header"),
        pytest.param(b"GET /" + b"a" * 200_000, 431, id="huge unfinished target"),
        pytest.param(
            GET_HEAD + b"".join(b"a%d: b\r\n" % i for i in range(300)),
            431,
            id="too many headers",
        ),
    ],
)
def test_bad_requests_are_refused(data: bytes, status: int):
    last = parse(data)[-1]
    assert isinstance(last, Refusal)
    assert last.status == status


def test_a_chunked_body_is_limited_as_it_arrives():
    limits = Limits(body=10)
    head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert parse(head + b"a\r\n0123456789\r\n0\r\n\r\n", limits=limits)[0].__class__ is Parsed
    (refusal,) = parse(head, b"8\r\n01234567\r\n", b"8\r\n01234567\r\n", b"8\r\n01234567\r\n", limits=limits)
    assert refusal == Refusal(413, "Request entity too large: limit is 10")


def test_nothing_is_parsed_after_a_refusal():
    assert [type(item) for item in parse(GET + b"nonsense\r\n\r\n" + GET, GET)] == [Parsed, Refusal]


def test_an_upgrade_keeps_the_bytes_that_follow():
    parser = RequestParser(Limits(), PEER)
    (item,) = parser.feed(b"GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00")
    assert isinstance(item, Parsed)
    assert item.upgrade
    assert parser.rest == b"\x81\x00"


@given(st.lists(st.binary(max_size=80), max_size=6), st.integers(0, 60))
def test_noise_never_raises(portions: list[bytes], cut: int):
    for item in parse(POST[:cut], *portions):
        assert isinstance(item, (Parsed, Refusal))
