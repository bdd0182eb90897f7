"""The condition `Dangling` of every FlowSchema: whether the priority level it names is missing."""

import orjson

from karmada.apiserver.controllers.worker import Worker
from karmada.apiserver.controllers.writing import controller
from karmada.apiserver.flowcontrol.defaults import LEVELS, SCHEMAS
from karmada.apiserver.requests.apply import apply
from karmada.apiserver.requests.model import Call, Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind, StoreEvent
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.failure import Failure
from karmada.machinery.transport import EventType

_MANAGER = "api-priority-and-fairness-config-consumer-v1"
_TYPE = "Dangling"
_SINCE = "lastTransitionTime"


class FlowSchemaStatus:
    """Keeps the condition true as schemas and levels come and go."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._store = context.store
        self._user = controller("apiserver")
        self._worker: Worker[str] = Worker("flow-schemas", self._process)

    def start(self) -> None:
        """Look at everything once, then follow events."""
        self._store.subscribe(self._changed, SCHEMAS, LEVELS)
        self._add_all()
        self._worker.start()

    async def stop(self) -> None:
        """Stop working."""
        await self._worker.stop()

    def _changed(self, kind: Kind, event: StoreEvent) -> None:
        if kind == LEVELS:
            if event.type is not EventType.MODIFIED:
                self._add_all()
        elif event.type is not EventType.DELETED:
            self._worker.add(event.item.name)

    def _add_all(self) -> None:
        for item in self._store.list(SCHEMAS).items:
            self._worker.add(item.name)

    async def _process(self, name: str) -> None:
        item = self._store.get(SCHEMAS, "", name)
        served = self._context.catalog.stored(SCHEMAS)
        if item is None or served is None:
            return
        schema: JSONObject = orjson.loads(item.body)
        level: str = schema["spec"]["priorityLevelConfiguration"]["name"]
        wanted = condition(level, self._store.get(LEVELS, "", level) is not None)
        if wanted in map(_timeless, schema.get("status", {}).get("conditions") or ()):
            return
        config: JSONObject = {
            "apiVersion": served.api_version,
            "kind": served.kind,
            "metadata": {"name": name},
            "status": {"conditions": [{**wanted, _SINCE: rfc3339(self._context.now())}]},
        }
        params = {"fieldManager": _MANAGER, "force": "true"}
        call = Call("patch", served, self._user, "", name, "status", params=params, body=config)
        try:
            await apply(self._context, call)
        except Failure as failure:
            if failure.code != 404:
                raise


def condition(level: str, exists: bool) -> JSONObject:
    """What is said of a schema that names this level."""
    named = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
    if exists:
        return {"type": _TYPE, "status": "False", "reason": "Found", "message": f"{named} and it exists"}
    return {"type": _TYPE, "status": "True", "reason": "NotFound", "message": f"{named} but there is no such object"}


def _timeless(found: JSONObject) -> JSONObject:
    return {key: value for key, value in found.items() if key != _SINCE}
