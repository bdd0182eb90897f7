import contextlib

import pytest
from OpenSSL import SSL

from karmada.apiserver.auth.pki import Authority, server_names
from karmada.machinery.httpserver.records import Records
from karmada.machinery.httpserver.tls import server_context


@pytest.fixture(scope="module")
def context():
    authority = Authority.create("ca")
    return server_context(*authority.issue_server("server", server_names(["127.0.0.1"])))


@pytest.fixture
def connected(context):
    """A client and the records of a server after their handshake."""
    server, client = SSL.Connection(context, None), SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), None)
    server.set_accept_state()
    client.set_connect_state()
    for _ in range(3):
        for speaker, listener in ((client, server), (server, client)):
            for step in (speaker.do_handshake, lambda to=listener, by=speaker: to.bio_write(by.bio_read(1 << 16))):
                with contextlib.suppress(SSL.WantReadError):
                    step()
    return client, Records(server)


def sent(client, data):
    client.sendall(data)
    return client.bio_read(1 << 20)


def test_content_arrives_record_by_record_and_then_nothing(connected):
    client, records = connected
    records.feed(sent(client, b"one") + sent(client, b"two"))
    assert [records.read(), records.read(), records.read()] == [b"one", b"two", b""]


def test_half_a_record_is_nothing_yet(connected):
    client, records = connected
    data = sent(client, b"whole")
    records.feed(data[:7])
    assert records.read() == b""
    records.feed(data[7:])
    assert records.read() == b"whole"


@pytest.mark.parametrize("size", [1, 16 * 1024, 16 * 1024 + 1, 256 * 1024])
def test_what_is_written_is_what_the_client_reads(connected, size):
    client, records = connected
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    client.bio_write(records.write(data))
    received = b""
    while len(received) < size:
        received += client.recv(1 << 16)
    assert received == data


def test_the_clients_goodbye_is_reported(connected):
    client, records = connected
    client.shutdown()
    records.feed(client.bio_read(1 << 16))
    with pytest.raises(SSL.ZeroReturnError):
        records.read()


def test_nonsense_is_an_error(connected):
    _, records = connected
    records.feed(b"\x17\x03\x03\x00\x20" + b"n" * 32)
    with pytest.raises(SSL.Error) as raised:
        records.read()
    assert not isinstance(raised.value, SSL.WantReadError)
