"""Durable storage in one SQLite file."""

from karmada.apiserver.storage.sqlite.backup import backup, restore
from karmada.apiserver.storage.sqlite.database import Unusable
from karmada.apiserver.storage.sqlite.storage import SqliteStorage

__all__ = ["SqliteStorage", "Unusable", "backup", "restore"]
