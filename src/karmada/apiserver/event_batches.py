"""Events of components in the server's own process, written in batches: the shape is known, and nobody asks for it.

What an event written by a request passes is passed here too, but once for all events of a batch in one namespace:
authorisation, whether the namespace exists and does not end, and which admission plugins are concerned. Where any
plugin beside the namespace's own is (a webhook, a policy, a quota), the events are ordinary requests. What is left out:
decoding, defaulting and managedFields, which nobody reads of events.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import orjson

from karmada.apiserver.admission.lifecycle import NamespaceLifecycle
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.failures import already_exists, not_found
from karmada.apiserver.refusals import typed
from karmada.apiserver.requests.dispatcher import Dispatcher
from karmada.apiserver.requests.paths import ResourcePath
from karmada.apiserver.requests.routing import attributes_of
from karmada.apiserver.schema.metadata import path_segment
from karmada.apiserver.storage.base import StorageFailed, Write
from karmada.apiserver.watchcache import key_of
from karmada.machinery.clock import rfc3339
from karmada.machinery.errors import BadRequest
from karmada.machinery.event_sink import EventSink, EventWrite, Outcome
from karmada.machinery.httpserver.failure import Failure, bad_request

_BATCH = 256
_VERBS = {False: "create", True: "patch"}


class EventBatches:
    """An `EventSink` with the identity of one user; `requests` is the ordinary way."""

    at_once = _BATCH

    def __init__(self, dispatcher: Dispatcher, user: UserInfo, requests: EventSink) -> None:
        served = dispatcher.pipeline.context.catalog.find("", "v1", "events")
        assert served is not None
        self._served = served
        self._dispatcher = dispatcher
        self._context = dispatcher.pipeline.context
        self._user = user
        self._requests = requests

    async def write(self, writes: Sequence[EventWrite]) -> list[Outcome]:
        """Write a batch: one turn of the storage for all that need no request."""
        places: dict[tuple[str, bool], list[int]] = defaultdict(list)
        for position, write in enumerate(writes):
            places[write.namespace, write.happened_again].append(position)
        outcomes: list[Outcome] = [None] * len(writes)
        quick: list[int] = []
        for (namespace, again), positions in places.items():
            try:
                ordinary = await self._admitted(namespace, again)
            except Failure as refusal:
                for position in positions:
                    outcomes[position] = typed(refusal)
                continue
            if ordinary:
                for position in positions:
                    [outcomes[position]] = await self._requests.write([writes[position]])
            else:
                quick += positions
        await self._store(writes, quick, outcomes)
        return outcomes

    async def _admitted(self, namespace: str, again: bool) -> bool:
        """Refuse what the user may not write there, or say whether events have to be ordinary requests."""
        verb = _VERBS[again]
        self._dispatcher.authorize(
            self._user, attributes_of(verb, ResourcePath("", "v1", "events", namespace), _NO_PARAMETERS)
        )
        operation = Operation.UPDATE if again else Operation.CREATE
        request = AdmissionRequest(operation, self._served.type, namespace, "", "", None, None, self._user, {})
        for plugin in self._context.admission.concerned(request):
            if not isinstance(plugin, NamespaceLifecycle):
                return True
            await plugin.mutate(request)
        return False

    async def _store(self, writes: Sequence[EventWrite], positions: Sequence[int], outcomes: list[Outcome]) -> None:
        """Carry out those at some positions with one answer of the storage."""
        now = rfc3339(self._context.now())
        begun: list[int] = []
        prepared: list[Write] = []
        for position in positions:
            write = writes[position]
            try:
                prepared.append(self._counted(write) if write.happened_again else self._created(write, now))
                begun.append(position)
            except Failure as refusal:
                outcomes[position] = typed(refusal)
            except orjson.JSONEncodeError as error:
                outcomes[position] = BadRequest(f"the event {write.name} cannot be encoded: {error}")
        for position, outcome in zip(begun, await self._context.store.write_all(prepared), strict=True):
            write = writes[position]
            if isinstance(outcome, StorageFailed):
                outcomes[position] = typed(outcome)
            elif outcome is not None and write.happened_again:  # somebody changed it in this very moment
                [outcomes[position]] = await self._requests.write([write])
            elif outcome is not None:
                outcomes[position] = typed(already_exists("", "events", write.name))

    def _created(self, write: EventWrite, now: str) -> Write:
        event, served = write.tree, self._served
        if problems := path_segment(write.name):
            raise bad_request(f"the name of the event {write.name} {problems[0]}")
        event["metadata"] = {
            "name": write.name,
            "namespace": write.namespace,
            "uid": self._context.uid(),
            "creationTimestamp": now,
        }
        return Write(key_of(served.key, write.namespace, write.name), served.encode(event), 0, served.index(event))

    def _counted(self, write: EventWrite) -> Write:
        served = self._served
        item = self._context.store.get(served.key, write.namespace, write.name)
        if item is None:
            raise not_found("", "events", write.name)
        event = orjson.loads(item.body) | write.tree
        key = key_of(served.key, write.namespace, write.name)
        return Write(key, served.encode(event), item.revision, item.index)


_NO_PARAMETERS: Mapping[str, str] = {}
