"""What authentication needs to know of stored objects: a small reading protocol, and its adapter on the store."""

from typing import Any, Protocol

import orjson

from karmada.apiserver.watchcache import WatchCache

JSONObject = dict[str, Any]
Kind = tuple[str, str]
"""(group, plural)."""

SERVICE_ACCOUNTS: Kind = ("", "serviceaccounts")
SECRETS: Kind = ("", "secrets")
PODS: Kind = ("", "pods")
NODES: Kind = ("", "nodes")
_DELETED = b'"deletionTimestamp":'


class Objects(Protocol):
    """Synchronous reads of current objects."""

    def uid(self, kind: Kind, namespace: str, name: str) -> str | None:
        """Uid of an object without decoding it; None when it does not exist."""
        ...

    def deleted_at(self, kind: Kind, namespace: str, name: str) -> str:
        """The time at which an object that is still there was to go; empty where it stays."""
        ...

    def read(self, kind: Kind, namespace: str, name: str) -> JSONObject | None:
        """A decoded object; None when it does not exist."""
        ...


class StoredObjects:
    """`Objects` on the store."""

    def __init__(self, store: WatchCache) -> None:
        self._store = store

    def uid(self, kind: Kind, namespace: str, name: str) -> str | None:
        """Uid of an object without decoding it; None when it does not exist."""
        item = self._store.get(kind, namespace, name)
        return None if item is None else item.index.uid

    def deleted_at(self, kind: Kind, namespace: str, name: str) -> str:
        """The time at which an object that is still there was to go; empty where it stays."""
        item = self._store.get(kind, namespace, name)
        if item is None or _DELETED not in item.body:  # nearly always, and known without decoding
            return ""
        return str(orjson.loads(item.body)["metadata"].get("deletionTimestamp") or "")

    def read(self, kind: Kind, namespace: str, name: str) -> JSONObject | None:
        """A decoded object; None when it does not exist."""
        item = self._store.get(kind, namespace, name)
        if item is None:
            return None
        obj: JSONObject = orjson.loads(item.body)
        return obj
