"""Storages of each sort, and a listener that writes down what it hears."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from karmada.apiserver.storage.base import Change, Snapshot, Storage, Value
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.storage.sqlite import SqliteStorage


class Heard:
    """A listener that keeps everything; checks the order as it goes."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.revision = 0
        self.snapshots: list[Snapshot] = []

    def committed(self, changes: list[Change], revision: int) -> None:
        for change in changes:
            assert change.revision > self.revision
            self.revision = change.revision
        self.changes += changes
        self.revision = revision

    def replaced(self, snapshot: Snapshot) -> None:
        self.snapshots.append(snapshot)
        self.revision = snapshot.revision

    def told(self) -> list[tuple[str, bytes | None]]:
        return [(change.key, change.value) for change in self.changes]


def value(text: str = "") -> Value:
    """An object with a text in it."""
    return Value(b'{"metadata":{"resourceVersion":"', b'","text":"%b"}}' % text.encode())


Make = Callable[[], Storage]


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes storages that stand on the same data, one after the other."""
    if request.param == "memory":
        memory = MemoryStorage()
        return lambda: memory
    return lambda: SqliteStorage(tmp_path / "store.db")


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def storage(make: Make, heard: Heard) -> AsyncIterator[Storage]:
    storage = make()
    heard.revision = (await storage.open(heard)).revision
    yield storage
    await storage.close()


@pytest.fixture
def obj() -> Callable[..., Any]:
    return value
