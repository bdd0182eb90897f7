"""TLS settings from a target; made anew when a certificate file changes, so rotation needs no restart."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from karmada.machinery.http.target import Material, Target


class TLSSettings:
    """The client side of TLS for one target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._context: ssl.SSLContext | None = None
        self._made_from: tuple[object, ...] = ()

    def context(self, certificate: Material, key: Material) -> ssl.SSLContext:
        """The context for new connections with a client certificate (or none)."""
        state = tuple(_state(material) for material in (self._target.authority, certificate, key))
        if self._context is None or state != self._made_from:
            self._context = _make(self._target, certificate, key)
            self._made_from = state
        return self._context


def _make(target: Target, certificate: Material, key: Material) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if target.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif target.authority:
        context.load_verify_locations(cadata=target.authority.read().decode("ascii"))
    else:
        context.load_default_certs()
    if certificate:
        with _file(certificate) as certificate_path, _file(key or certificate) as key_path:
            context.load_cert_chain(certificate_path, key_path)
    return context


def _state(material: Material) -> object:
    return os.stat(material.path).st_mtime_ns if material.path and not material.data else material.data


@contextmanager
def _file(material: Material) -> Iterator[str]:
    """A path for an API that only takes paths. The content stays in memory where the system can do that."""
    if material.path and not material.data:
        yield material.path
        return
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("key", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, material.data)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(material.data)
        file.flush()
        yield file.name
