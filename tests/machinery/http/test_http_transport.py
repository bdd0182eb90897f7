import asyncio
import ssl
import stat
import sys
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from karmada.machinery.errors import (
    BadAnswer,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from karmada.machinery.http.target import ExecPlugin, Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import EventType, GroupVersionResource, PatchType, Request, Verb

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
GET = Request(Verb.GET, CONFIG_MAPS, "default", "a", timeout=5)
CREATE = Request(Verb.CREATE, CONFIG_MAPS, "default", body={"kind": "ConfigMap"}, timeout=5)


@pytest.fixture
async def connect(scripted):
    made = []

    def make(**settings):
        transport = HttpTransport(Target(f"http://127.0.0.1:{scripted.port}", **settings), agent="tests")
        made.append(transport)
        return transport

    yield make
    for transport in made:
        await transport.close()


@pytest.mark.parametrize(
    ("request_", "line"),
    [
        (GET, "GET /api/v1/namespaces/default/configmaps/a"),
        (
            Request(Verb.LIST, DEPLOYMENTS, params={"labelSelector": "a in (b,c)"}),
            "GET /apis/apps/v1/deployments?labelSelector=a+in+%28b%2Cc%29",
        ),
        (
            Request(Verb.UPDATE, DEPLOYMENTS, "x", "y", "status", body=b"{}"),
            "PUT /apis/apps/v1/namespaces/x/deployments/y/status",
        ),
        (
            Request(Verb.PATCH, CONFIG_MAPS, "x", "a:b", body={}, patch_type=PatchType.MERGE),
            "PATCH /api/v1/namespaces/x/configmaps/a%3Ab",
        ),
        (Request(Verb.DELETE_COLLECTION, CONFIG_MAPS, "x"), "DELETE /api/v1/namespaces/x/configmaps"),
    ],
    ids=["get", "list", "update status", "patch", "delete collection"],
)
async def test_requests_on_the_wire(scripted, connect, request_, line):
    await connect().send(request_)
    [seen] = scripted.exchanges
    assert f"{seen.method} {seen.path}" == line
    assert seen.headers["user-agent"] == "tests"
    assert seen.headers["host"] == f"127.0.0.1:{scripted.port}"
    if request_.patch_type:
        assert seen.headers["content-type"] == "application/merge-patch+json"


async def test_connections_are_reused(scripted, connect):
    transport = connect()
    for _ in range(5):
        await transport.send(GET)
    assert scripted.connections == 1


async def test_requests_at_the_same_time_have_their_own_connections(scripted, connect):
    transport = connect()
    bodies = [{"n": number} for number in range(20)]
    scripted.script = lambda exchange, number: echo(exchange)

    async def echo(exchange):
        await asyncio.sleep(0.01)
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(exchange.body), exchange.body)

    requests = [Request(Verb.CREATE, CONFIG_MAPS, "default", body=dict(body)) for body in bodies]
    answers = await asyncio.gather(*map(transport.send, requests))
    assert [orjson.loads(answer) for answer in answers] == bodies


async def test_a_server_that_closes_after_each_answer_is_fine(scripted, connect, reply):
    scripted.script = lambda exchange, number: reply({}, Connection="close")
    transport = connect()
    for _ in range(3):
        await transport.send(CREATE)
    assert scripted.connections == 3


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        (404, {"kind": "Status", "message": "gone fishing"}, NotFound),
        (409, {"kind": "Status", "reason": "Conflict", "message": "gone fishing"}, Conflict),
        (410, {"kind": "Status", "message": "gone fishing"}, Gone),
        (422, {"kind": "Status", "message": "gone fishing"}, Invalid),
        (500, {"kind": "Status", "message": "gone fishing"}, ServerError),
        (502, b"gone fishing", ServerError),
    ],
    ids=["404", "409", "410", "422", "500", "a proxy's text"],
)
async def test_refusals_are_typed(scripted, connect, reply, code, status, kind):
    scripted.script = lambda exchange, number: reply(status, code)
    with pytest.raises(kind, match="gone fishing"):
        await connect().send(GET)
    assert len(scripted.exchanges) == 1


async def test_a_read_is_repeated_when_the_connection_breaks(scripted, connect, reply):
    scripted.script = lambda exchange, number: None if number == 1 else reply({"n": number})
    assert orjson.loads(await connect().send(GET)) == {"n": 2}


async def test_a_write_is_not_repeated_when_the_connection_breaks(scripted, connect):
    scripted.script = lambda exchange, number: None
    with pytest.raises(Unavailable):
        await connect().send(CREATE)
    assert len(scripted.exchanges) == 1


@pytest.mark.parametrize("request_", [GET, CREATE], ids=["read", "write"])
async def test_429_with_retry_after_is_waited_for(scripted, connect, reply, request_):
    scripted.script = lambda exchange, number: reply({}, 429, Retry_After="0") if number < 3 else reply({"n": number})
    assert orjson.loads(await connect().send(request_)) == {"n": 3}


@pytest.mark.parametrize(
    ("request_", "headers"),
    [
        (CREATE, {}),
        (Request(Verb.CREATE, CONFIG_MAPS, "default", "a", "eviction", body={}), {"Retry_After": "0"}),
    ],
    ids=["without retry-after", "eviction"],
)
async def test_429_is_an_answer_otherwise(scripted, connect, reply, request_, headers):
    scripted.script = lambda exchange, number: reply({}, 429, **headers)
    with pytest.raises(TooManyRequests):
        await connect().send(request_)
    assert len(scripted.exchanges) == 1


async def test_the_deadline_holds_whatever_the_server_does(scripted, connect):
    async def never(exchange):
        await asyncio.sleep(30)

    scripted.script = lambda exchange, number: never(exchange)
    transport = connect()
    with pytest.raises(Timeout, match=r"no answer to POST /api/v1/namespaces/default/configmaps within 0.05 s"):
        await transport.send(Request(Verb.CREATE, CONFIG_MAPS, "default", body={}, timeout=0.05))


async def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(scripted, connect, reply):
    given_up, answered = asyncio.Event(), asyncio.Event()

    async def late(exchange):
        if exchange.path.endswith("/slow"):
            await given_up.wait()
            answered.set()
        return reply({"path": exchange.path})

    scripted.script = lambda exchange, number: late(exchange)
    transport = connect()
    await transport.send(GET)  # from here on there is a connection
    with pytest.raises(Timeout):
        await transport.send(Request(Verb.GET, CONFIG_MAPS, "default", "slow", timeout=0.5))
    given_up.set()
    await answered.wait()
    assert orjson.loads(await transport.send(GET)) == {"path": "/api/v1/namespaces/default/configmaps/a"}


async def test_no_server_is_unavailable(scripted, connect):
    transport = connect()
    await scripted.stop()
    with pytest.raises(Unavailable, match="no connection to http"):
        await transport.send(GET)


async def test_a_closed_transport_says_so(connect):
    transport = connect()
    await transport.close()
    with pytest.raises(Unavailable, match="closed"):
        await transport.send(GET)


async def test_token_and_impersonation_go_along(scripted, connect):
    identity = Identity(token=Material(b"t0ken\n"), impersonate_user="jane", impersonate_groups=("dev", "ops"))
    await connect(identity=identity).send(GET)
    headers = scripted.exchanges[0].headers
    assert headers["authorization"] == "Bearer t0ken"
    assert headers["impersonate-user"] == "jane"
    assert headers["impersonate-group"] == "ops"


async def test_a_rotated_token_file_is_read_again_when_the_old_token_is_refused(scripted, connect, reply, tmp_path):
    path = tmp_path / "token"
    path.write_text("old")
    transport = connect(identity=Identity(token=Material(path=str(path))))

    def check(exchange, number):
        good = exchange.headers["authorization"] == f"Bearer {path.read_text()}"
        return reply({} if good else {"kind": "Status", "message": "no"}, 200 if good else 401)

    scripted.script = check
    await transport.send(GET)
    path.write_text("new")
    await transport.send(CREATE)
    assert [exchange.headers["authorization"] for exchange in scripted.exchanges][1:] == ["Bearer old", "Bearer new"]


async def test_a_fixed_token_that_is_refused_is_not_tried_again(scripted, connect, reply):
    scripted.script = lambda exchange, number: reply({"kind": "Status", "message": "no"}, 401)
    with pytest.raises(Unauthorized):
        await connect(identity=Identity(token=Material(b"x"))).send(GET)
    assert len(scripted.exchanges) == 1


def plugin(tmp_path, script, **settings):
    path = tmp_path / "plugin"
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Identity(plugin=ExecPlugin(str(path), **settings))


async def test_an_exec_plugin_gives_the_token_once(scripted, connect, tmp_path):
    script = (
        "import json, os\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "open(os.environ['LOG'], 'a').write('x')\n"
        "status = {'token': info['spec']['cluster']['server']}\n"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': status}))\n"
    )
    log = tmp_path / "log"
    identity = plugin(tmp_path, script, environment=(("LOG", str(log)),), provide_cluster_info=True)
    transport = connect(identity=identity)
    for _ in range(3):
        await transport.send(GET)
    assert {exchange.headers["authorization"] for exchange in scripted.exchanges} == {
        f"Bearer http://127.0.0.1:{scripted.port}"
    }
    assert log.read_text() == "x"


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("raise SystemExit(3)", "failed with exit code 3"),
        ("print('s3cret but no JSON')", "did not print an ExecCredential"),
        ("print('{}')", "printed no client.authentication.k8s.io/v1 status"),
    ],
    ids=["fails", "prints text", "prints something else"],
)
async def test_a_bad_exec_plugin_is_explained_without_its_output(connect, tmp_path, script, expected):
    with pytest.raises(Unauthorized, match=expected) as caught:
        await connect(identity=plugin(tmp_path, script)).send(GET)
    assert "s3cret" not in str(caught.value)


async def test_a_missing_exec_plugin_comes_with_its_hint(connect, tmp_path):
    identity = Identity(plugin=ExecPlugin(str(tmp_path / "none"), install_hint="see the wiki"))
    with pytest.raises(Unauthorized, match=r"cannot be run: .*see the wiki"):
        await connect(identity=identity).send(GET)


def event(kind, name, revision):
    return orjson.dumps({"type": kind, "object": {"metadata": {"name": name, "resourceVersion": revision}}}) + b"\n"


HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
WATCH = Request(Verb.WATCH, CONFIG_MAPS, "default", params={"resourceVersion": "5"}, timeout=5)


async def collect(transport):
    seen = []
    async with transport.watch(WATCH) as stream:
        async for batch in stream:
            seen += [(event.type, orjson.loads(event.object)["metadata"]["name"]) for event in batch]
    return seen


@pytest.mark.parametrize("size", [1, 7, 50, 10_000], ids="pieces of {}".format)
async def test_watch_events_are_cut_out_however_they_arrive(scripted, connect, as_chunk, size):
    lines = b"".join(
        event(kind, f"n{number}", str(number)) for number, kind in enumerate(["ADDED", "MODIFIED", "DELETED"])
    )
    odd = b'{ "object": {"metadata":{"name":"odd"}}, "type": "BOOKMARK" }\n'
    data = lines + odd
    parts = [as_chunk(data[start : start + size]) for start in range(0, len(data), size)]
    scripted.script = lambda exchange, number: [HEAD, *parts, b"0\r\n\r\n"]
    assert await collect(connect()) == [
        (EventType.ADDED, "n0"),
        (EventType.MODIFIED, "n1"),
        (EventType.DELETED, "n2"),
        (EventType.BOOKMARK, "odd"),
    ]
    assert scripted.exchanges[0].path == "/api/v1/namespaces/default/configmaps?resourceVersion=5&watch=true"


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}\n', Gone),
        (b'{"type":"NOVELTY","object":{}}\n', ServerError),
        (b"garbage\n", ServerError),
    ],
    ids=["410", "unknown type", "garbage"],
)
async def test_what_came_before_an_error_event_is_delivered_first(scripted, connect, as_chunk, line, kind):
    scripted.script = lambda exchange, number: [HEAD, as_chunk(event("ADDED", "a", "1") + line)]
    seen = []

    async def follow():
        async with connect().watch(WATCH) as stream:
            async for batch in stream:
                seen.extend(batch)

    with pytest.raises(kind):
        await follow()
    assert len(seen) == 1


async def test_a_watch_that_breaks_is_unavailable(scripted, connect, as_chunk):
    scripted.script = lambda exchange, number: [HEAD, as_chunk(event("ADDED", "a", "1"))]
    seen = []

    async def follow():
        async with connect().watch(WATCH) as stream:
            async for batch in stream:
                seen.extend(batch)
                scripted.cut()

    with pytest.raises(Unavailable):
        await follow()
    assert len(seen) == 1


async def test_a_refused_watch_is_typed(scripted, connect, reply):
    scripted.script = lambda exchange, number: reply({"kind": "Status", "code": 410, "message": "old"}, 410)
    with pytest.raises(Gone):
        await collect(connect())


async def test_warnings_are_passed_on(scripted, reply):
    warnings = []
    scripted.script = lambda exchange, number: reply({}, Warning='299 - "deprecated"')
    transport = HttpTransport(Target(f"http://127.0.0.1:{scripted.port}"), warn=warnings.append)
    await transport.send(GET)
    await transport.close()
    assert warnings == ['299 - "deprecated"']


async def test_a_base_path_of_the_server_is_kept(scripted):
    transport = HttpTransport(Target(f"http://127.0.0.1:{scripted.port}/clusters/m1/proxy"))
    await transport.send(GET)
    await transport.close()
    assert scripted.exchanges[0].path == "/clusters/m1/proxy/api/v1/namespaces/default/configmaps/a"


async def test_requests_go_through_a_proxy(scripted, connect):
    requests = []

    async def proxy(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        requests.append(head.decode())
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", scripted.port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

        async def pipe(source, sink):
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(pipe(reader, inner_writer), pipe(inner_reader, writer))

    server = await asyncio.start_server(proxy, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = connect(proxy=f"http://user:p%40ss@127.0.0.1:{port}", proxy_headers=(("X-Tenant", "one"),))
    await transport.send(GET)
    assert requests[0].startswith(f"CONNECT 127.0.0.1:{scripted.port} HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic dXNlcjpwQHNz" in requests[0]
    assert "X-Tenant: one\r\n" in requests[0]
    assert "x-tenant" not in scripted.exchanges[0].headers
    await transport.close()
    await asyncio.sleep(0.01)
    server.close()
    await server.wait_closed()


@pytest.fixture(scope="module")
def authority():
    """A certificate authority that issues certificates for a name."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test-ca")])
    now = datetime.now(UTC)

    def build(subject, public_key, extension, critical=False):
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(name).public_key(public_key)
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(hours=1))
        builder = builder.not_valid_after(now + timedelta(hours=1)).add_extension(extension, critical)
        return builder.sign(key, hashes.SHA256())

    root = build(name, key.public_key(), x509.BasicConstraints(ca=True, path_length=None), True)

    def issue(common_name):
        own = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
        certificate = build(subject, own.public_key(), x509.SubjectAlternativeName([x509.DNSName(common_name)]))
        pem = serialization.Encoding.PEM
        private = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return certificate.public_bytes(pem), private

    return root.public_bytes(serialization.Encoding.PEM), issue


async def serve_tls(scripted_type, authority, tmp_path):
    root, issue = authority
    certificate, key = issue("api.example")
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    (tmp_path / "ca.crt").write_bytes(root)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    context.load_verify_locations(tmp_path / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    server = scripted_type()
    await server.start(context)
    return server


@pytest.mark.parametrize("in_files", [True, False], ids=["files", "embedded data"])
async def test_client_certificates_over_tls(scripted, authority, tmp_path, in_files):
    root, issue = authority
    server = await serve_tls(type(scripted), authority, tmp_path)
    certificate, key = issue("client")
    if in_files:
        (tmp_path / "client.crt").write_bytes(certificate)
        (tmp_path / "client.key").write_bytes(key)
        identity = Identity(Material(path=str(tmp_path / "client.crt")), Material(path=str(tmp_path / "client.key")))
    else:
        identity = Identity(Material(certificate), Material(key))
    target = Target(f"https://127.0.0.1:{server.port}", Material(root), server_name="api.example", identity=identity)
    transport = HttpTransport(target)
    await transport.send(GET)
    await transport.send(GET)
    assert server.connections == 1
    await transport.close()
    await server.stop()


async def test_an_untrusted_server_is_refused(scripted, authority, tmp_path):
    root, issue = authority
    server = await serve_tls(type(scripted), authority, tmp_path)
    certificate, key = issue("client")
    identity = Identity(Material(certificate), Material(key))
    wrong_name = HttpTransport(Target(f"https://127.0.0.1:{server.port}", Material(root), identity=identity))
    with pytest.raises(Unavailable, match="cannot be trusted"):
        await wrong_name.send(GET)
    unknown = Target(f"https://127.0.0.1:{server.port}", server_name="api.example", identity=identity)
    with pytest.raises(Unavailable, match="cannot be trusted"):
        await HttpTransport(unknown).send(GET)
    assert server.exchanges == []
    await server.stop()


async def test_two_answers_to_one_request_are_none(scripted, connect, reply):
    scripted.script = lambda exchange, number: reply({"n": number}) + reply({"smuggled": True})
    with pytest.raises(BadAnswer, match="not valid HTTP"):
        await connect().send(CREATE)
