"""TLS for the HTTP server, on memory buffers between the TCP transport and the HTTP connection.

Why not asyncio's own TLS: Python's `ssl` can ask for a client certificate only together with refusing untrusted ones
in the handshake, where Kubernetes answers 401. pyOpenSSL lets the handshake accept any certificate; nothing may trust
`HttpRequest.certificate` before authentication has verified it.
"""

import asyncio
from math import inf
from typing import TYPE_CHECKING, Any, cast

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from OpenSSL import SSL, crypto

from karmada.machinery.httpserver.connection import WRITE_HIGH, HttpConnection, peer_of
from karmada.machinery.httpserver.records import RECORD, Records

if TYPE_CHECKING:
    from karmada.machinery.httpserver.server import HttpServer

_CIPHERS_12 = b"ECDHE+AESGCM:ECDHE+CHACHA20"
_CIPHERS_13 = b"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
_SLICE = 256 * 1024
_PLAIN_HTTP = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
_HANDSHAKE_RECORD = 0x16


def server_context(certificate: bytes, key: bytes, client_ca: bytes = b"") -> SSL.Context:
    """A context from PEM: certificate chain, private key, and the CAs whose names clients are shown as acceptable."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    context.set_options(
        SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION | SSL.OP_NO_TICKET | SSL.OP_CIPHER_SERVER_PREFERENCE
    )
    context.set_mode(SSL.MODE_RELEASE_BUFFERS)
    context.set_session_cache_mode(SSL.SESS_CACHE_OFF)
    context.set_cipher_list(_CIPHERS_12)
    context.set_tls13_ciphersuites(_CIPHERS_13)
    leaf, *chain = x509.load_pem_x509_certificates(certificate)
    context.use_certificate(leaf)
    for extra in chain:
        context.add_extra_chain_cert(extra)
    context.use_privatekey(_private_key(key))
    context.check_privatekey()
    context.set_verify(SSL.VERIFY_PEER, _accept_any)
    for authority in x509.load_pem_x509_certificates(client_ca) if client_ca else ():
        context.add_client_ca(authority)
    context.set_alpn_select_callback(_choose_protocol)
    return context


def _private_key(pem: bytes) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    # Trying the primes of an RSA key takes a second for 4,096 bits; the context compares it with its certificate.
    key = serialization.load_pem_private_key(pem, None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
        raise ValueError(f"the serving key must be ECDSA or RSA, not {type(key).__name__}")
    return key


def _accept_any(connection: SSL.Connection, certificate: crypto.X509, error: int, depth: int, ok: int) -> bool:
    return True


def _choose_protocol(connection: SSL.Connection, offered: list[bytes]) -> Any:
    return b"http/1.1" if b"http/1.1" in offered else SSL.NO_OVERLAPPING_PROTOCOLS


class TlsConnection(asyncio.Protocol):
    """The protocol of a TCP transport, and the transport (`Wire`) of an `HttpConnection`."""

    __slots__ = ("_inner", "_ready", "_records", "_server", "_tls", "_transport", "client", "deadline")

    def __init__(self, server: "HttpServer", context: SSL.Context, inner: HttpConnection) -> None:
        self._server = server
        self._inner = inner
        self._tls = SSL.Connection(context, None)
        self._records = Records(self._tls)
        self._ready = False
        self.client = ""
        self.deadline = inf

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the client's hello."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_HIGH)
        self._tls.set_accept_state()
        self.deadline = self._server.loop.time() + self._server.timeouts.handshake

    def data_received(self, data: bytes) -> None:
        """Decrypt and pass on."""
        if not self._ready and self._tls.get_state_string() == b"before SSL initialization" and not _is_tls(data):
            self._transport.write(_PLAIN_HTTP)
            self._transport.close()
            return
        try:
            self._records.feed(data)
            if self._ready or self._shake_hands():
                receive, deliver = self._records.read, self._inner.data_received
                while not self._transport.is_closing() and (content := receive()):
                    deliver(content)
        except SSL.WantReadError:
            pass
        except SSL.ZeroReturnError:
            self._end_of_input()
        except SSL.Error:
            self._flush()
            self._transport.close()

    def eof_received(self) -> bool:
        """Keep the sending half open while the connection owes an answer."""
        return self._ready and self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on, or forget a connection that never got ready."""
        if self._ready:
            self._inner.connection_lost(exc)
        else:
            self._server.forget(self)
        # Both hold each other, with buffers and keys: nobody should have to look for that.
        del self._inner

    def pause_writing(self) -> None:
        """Pass on."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass on."""
        self._inner.resume_writing()

    # The server's commands, until the HTTP connection takes over.

    @property
    def busy(self) -> bool:
        """Whether the transport is not ready yet."""
        return self.deadline == inf

    def end(self) -> None:
        """Close; nothing is owed before the handshake is complete."""
        self._transport.abort()

    def expire(self) -> None:
        """The handshake took too long."""
        self._transport.abort()

    # As the transport of the HTTP connection.

    def write(self, data: bytes) -> None:
        """Encrypt and queue."""
        if self._transport.is_closing():
            return
        if 0 < len(data) <= _SLICE:
            self._transport.write(self._records.write(data))
            return
        for start in range(0, len(data), _SLICE):
            self._transport.write(self._records.write(data[start : start + _SLICE]))

    def close(self) -> None:
        """Say goodbye and close after everything queued is sent."""
        if self._transport.is_closing():
            return
        try:
            self._tls.shutdown()
        except SSL.Error:
            self._transport.close()
            return
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether the connection is closed or closing."""
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        """Stop delivering data."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Deliver data again."""
        self._transport.resume_reading()

    # Inside.

    def _shake_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except SSL.WantReadError:
            self._flush()
            raise
        self._flush()
        self._ready = True
        certificate = self._tls.get_peer_certificate(as_cryptography=True)
        der = None if certificate is None else certificate.public_bytes(serialization.Encoding.DER)
        self._server.replace(self, self._inner)
        self._inner.open(self, peer_of(self._transport), der)
        return True

    def _end_of_input(self) -> None:
        if self._ready and not self._inner.eof_received():
            self._transport.close()

    def _flush(self) -> None:
        """Send what TLS itself has to say."""
        try:
            while True:
                self._transport.write(self._tls.bio_read(RECORD))
        except SSL.WantReadError:
            return


def _is_tls(data: bytes) -> bool:
    return data[:1] == bytes((_HANDSHAKE_RECORD,))
