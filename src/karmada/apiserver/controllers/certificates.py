"""Approved certificate signing requests are signed with the server's CA; old ones are removed after a while."""

from datetime import datetime

import orjson

from karmada.apiserver.auth import csr
from karmada.apiserver.auth.identity import Identity
from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, StoreEvent
from karmada.machinery.transport import EventType

_KIND: Kind = (csr.GROUP, csr.PLURAL)
_KEPT = {"Approved": 3600.0, "Denied": 3600.0, "Failed": 3600.0, "": 86400.0}
"""Seconds a request is kept after its last condition, or after its creation while it is pending."""


class CertificateController:
    """Signs and cleans up."""

    def __init__(self, context: Context, identity: Identity) -> None:
        self._context = context
        self._store = context.store
        self._identity = identity
        self._writer = Writer(context, "certificate-controller")
        self._worker: Worker[str] = Worker("certificates", self._process)

    def start(self) -> None:
        """Look at everything once, then follow events."""
        self._store.subscribe(self._changed, _KIND)
        for item in self._store.list(_KIND).items:
            self._worker.add(item.name)
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == _KIND and event.type is not EventType.DELETED:
            self._worker.add(event.item.name)

    async def _process(self, name: str) -> None:
        item = self._store.get(_KIND, "", name)
        if item is None:
            return
        request: JSONObject = orjson.loads(item.body)
        left = _seconds_left(request, self._context.now())
        if left <= 0:
            await self._writer.delete(_KIND, "", name, item.index.uid)
            return
        self._worker.add_later(name, left)
        time = datetime.fromtimestamp(self._context.now()).astimezone()
        status = csr.sign(request, self._identity.authority, time)
        if status is not None:

            def edit(obj: JSONObject) -> None:
                obj["status"] = status

            await self._writer.change(_KIND, "", name, edit, "status")


def _seconds_left(request: JSONObject, now: float) -> float:
    conditions = (request.get("status") or {}).get("conditions") or []
    times = [condition.get("lastUpdateTime") or condition.get("lastTransitionTime") for condition in conditions]
    since = max((time for time in times if time), default=request["metadata"]["creationTimestamp"])
    kind = conditions[-1]["type"] if conditions else ""
    return datetime.fromisoformat(since).timestamp() + _KEPT.get(kind, 3600.0) - now
