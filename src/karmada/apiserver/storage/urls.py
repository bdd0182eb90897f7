"""Which storage a URL asks for: `memory:`, `sqlite:///absolute/path`, `sqlite:relative/path`, `etcd://host:port,...`."""

from pathlib import Path
from urllib.parse import urlsplit

from karmada.apiserver.storage.base import Storage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery.extras import require


def storage_at(url: str) -> Storage:
    """The storage, not yet opened; raises ValueError for a URL that names none.

    The path of an etcd URL is the prefix of the keys. TLS to etcd is configured where its files are known.
    """
    parts = urlsplit(url)
    if parts.scheme == "memory":
        return MemoryStorage()
    if parts.scheme == "sqlite" and parts.path and not parts.netloc:
        from karmada.apiserver.storage.sqlite import SqliteStorage

        return SqliteStorage(Path(parts.path))
    if parts.scheme == "etcd" and parts.netloc:
        require("storage in etcd", "grpc", "google.protobuf")
        from karmada.apiserver.storage.etcd import EtcdStorage

        endpoints = tuple(parts.netloc.split(","))
        return EtcdStorage(endpoints, parts.path) if parts.path.strip("/") else EtcdStorage(endpoints)
    raise ValueError(f"{url!r} names no storage; use memory:, sqlite:///path/to/file or etcd://host:port[,host:port]")
