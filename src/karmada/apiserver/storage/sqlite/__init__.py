"""Durable storage in one SQLite file."""

from karmada.apiserver.storage.sqlite.backup import backup, recover, restore
from karmada.apiserver.storage.sqlite.database import Unusable, Unwritable
from karmada.apiserver.storage.sqlite.read_only import StoredSnapshot
from karmada.apiserver.storage.sqlite.storage import SqliteStorage

__all__ = ["SqliteStorage", "StoredSnapshot", "Unusable", "Unwritable", "backup", "recover", "restore"]
