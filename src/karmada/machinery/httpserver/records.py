"""TLS records of a connection whose handshake is done: decrypt what came, encrypt what goes.

pyOpenSSL asks after every call about verification, ALPN and more, which only a handshake needs and which takes longer
than encrypting a few kilobytes: a request of 300 bytes and its answer of 2 KB cost 12.5 µs through its public methods
and 5.5 µs here. The four calls are made directly; whatever does not simply succeed is left to pyOpenSSL, which knows
how to say what is wrong. Not thread-safe, as little as the connection itself.
"""

import threading

from OpenSSL import SSL
from OpenSSL._util import ffi as _ffi
from OpenSSL._util import lib as _lib

RECORD = 16 * 1024
_SCRATCH = 320 * 1024
"""Bytes; more than what `TlsConnection` encrypts at once grows to."""
_local = threading.local()
"""The scratch buffer of each thread: calls into OpenSSL let other threads run."""


class Records:
    """Both directions of one connection on memory buffers."""

    __slots__ = ("_connection", "_in", "_out", "_scratch", "_ssl")

    def __init__(self, connection: SSL.Connection) -> None:
        self._connection = connection
        self._ssl, self._in, self._out = connection._ssl, connection._into_ssl, connection._from_ssl
        try:
            self._scratch = _local.scratch
        except AttributeError:
            self._scratch = _local.scratch = _ffi.new("char[]", _SCRATCH)

    def feed(self, data: bytes) -> None:
        """Take what the client sent."""
        if _lib.BIO_write(self._in, data, len(data)) != len(data):
            raise SSL.Error("no memory for what the client sent")

    def read(self) -> bytes:
        """The content of the next record, empty when none is complete; raises as `SSL.Connection.recv` does."""
        size: int = _lib.SSL_read(self._ssl, self._scratch, RECORD)
        if size > 0:
            return bytes(_ffi.buffer(self._scratch, size))
        if _lib.SSL_get_error(self._ssl, size) == _lib.SSL_ERROR_WANT_READ:
            return b""
        return self._connection.recv(RECORD)

    def write(self, data: bytes) -> bytes:
        """What to send so that the client gets `data`, which must not be empty."""
        written: int = _lib.SSL_write(self._ssl, data, len(data))
        if written != len(data):  # a record was full, or something is wrong
            self._connection.sendall(memoryview(data)[max(0, written) :])
        size: int = _lib.BIO_read(self._out, self._scratch, _SCRATCH)
        return bytes(_ffi.buffer(self._scratch, size)) if size > 0 else b""
