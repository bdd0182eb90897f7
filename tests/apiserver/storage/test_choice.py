import subprocess
import sys

import pytest

from karmada.apiserver.storage.etcd import EtcdStorage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.storage.urls import storage_at


@pytest.mark.parametrize(
    ("url", "sort"),
    [
        ("memory:", MemoryStorage),
        ("sqlite:///var/lib/store.db", SqliteStorage),
        ("sqlite:store.db", SqliteStorage),
        ("etcd://127.0.0.1:2379", EtcdStorage),
        ("etcd://127.0.0.1:2379,127.0.0.1:2381/objects", EtcdStorage),
    ],
)
def test_a_url_names_a_storage(url: str, sort: type) -> None:
    assert type(storage_at(url)) is sort


@pytest.mark.parametrize("url", ["", "sqlite:", "sqlite://store.db", "etcd:///x", "postgres://x", "/a/path"])
def test_other_urls_are_refused_with_the_forms_that_work(url: str) -> None:
    with pytest.raises(ValueError, match="use memory:, sqlite:///path/to/file or etcd://"):
        storage_at(url)


def test_no_storage_is_loaded_before_it_is_chosen() -> None:
    code = (
        "import sys; import karmada.apiserver.storage.urls, karmada.apiserver.watchcache;"
        "print([name for name in ('grpc', 'google.protobuf', 'sqlite3') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
