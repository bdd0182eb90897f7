"""Objects with an end: jobs some time after they finished, bootstrap tokens when they expire."""

import base64
import binascii
from datetime import datetime
from typing import NamedTuple

import orjson

from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Item, Kind, StoreEvent
from karmada.machinery.transport import EventType

_JOBS: Kind = ("batch", "jobs")
_SECRETS: Kind = ("", "secrets")
_TTL_MARK = b'"ttlSecondsAfterFinished":'
_TOKEN_MARK = b'"bootstrap.kubernetes.io/token"'


class _Key(NamedTuple):
    kind: Kind
    namespace: str
    name: str


class Expiry:
    """Deletes what has ended."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = context.store
        self._jobs = Writer(context, "ttl-after-finished-controller")
        self._tokens = Writer(context, "token-cleaner")
        self._worker: Worker[_Key] = Worker("expiry", self._process)

    def start(self) -> None:
        """Look at everything once, then follow events."""
        self._store.subscribe(self._changed, _JOBS, _SECRETS)
        for kind in (_JOBS, _SECRETS):
            for item in self._store.list(kind).items:
                self._consider(kind, item)
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind in (_JOBS, _SECRETS) and event.type is not EventType.DELETED:
            self._consider(kind, event.item)

    def _consider(self, kind: Kind, item: Item) -> None:
        if (_TTL_MARK if kind == _JOBS else _TOKEN_MARK) in item.body:
            self._worker.add(_Key(kind, item.namespace, item.name))

    async def _process(self, key: _Key) -> None:
        item = self._store.get(key.kind, key.namespace, key.name)
        if item is None:
            return
        obj: JSONObject = orjson.loads(item.body)
        end = job_end(obj) if key.kind == _JOBS else token_end(obj)
        if end is None:
            return
        left = end - self._context.now()
        if left > 0:
            self._worker.add_later(key, left)
            return
        writer = self._jobs if key.kind == _JOBS else self._tokens
        await writer.delete(key.kind, key.namespace, key.name, item.index.uid)


def job_end(job: JSONObject) -> float | None:
    """When a finished job is due, None while it runs or has no time to live."""
    seconds = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    if seconds is None:
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ("Complete", "Failed") and condition["status"] == "True":
            since = condition.get("lastTransitionTime")
            return datetime.fromisoformat(since).timestamp() + float(seconds) if since else None
    return None


def token_end(secret: JSONObject) -> float | None:
    """When a bootstrap token expires, None when it does not."""
    if secret.get("type") != "bootstrap.kubernetes.io/token":
        return None
    encoded = (secret.get("data") or {}).get("expiration")
    if not encoded:
        return None
    try:
        return datetime.fromisoformat(base64.b64decode(encoded).decode()).timestamp()
    except (binascii.Error, ValueError):
        return None
