"""Events of components in the server's own process, written in batches: the shape is known, and nobody asks for it.

What an event written by a request passes is passed here too, but once for all events of a batch in one namespace:
authorisation, whether the namespace exists and does not end, and which admission plugins are concerned. Where any
plugin beside the namespace's own is (a webhook, a policy, a quota), the events are ordinary requests. What is left out:
decoding, defaulting and managedFields, which nobody reads of events.
"""

import asyncio
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
from karmada.apiserver.storage.base import Mismatch, StorageFailed
from karmada.apiserver.times import rfc3339
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
        stored = await asyncio.gather(*(self._store(writes[position]) for position in quick))
        for position, outcome in zip(quick, stored, strict=True):
            outcomes[position] = outcome
        return outcomes

    async def _admitted(self, namespace: str, again: bool) -> bool:
        """Refuse what the user may not write there, or tell whether events have to be ordinary requests."""
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

    async def _store(self, write: EventWrite) -> Outcome:
        try:
            await (self._count(write) if write.happened_again else self._create(write))
        except Mismatch:
            if not write.happened_again:
                return typed(already_exists("", "events", write.name))
            [outcome] = await self._requests.write([write])  # somebody changed it in this very moment
            return outcome
        except (Failure, StorageFailed) as refusal:
            return typed(refusal)
        except orjson.JSONEncodeError as error:
            return BadRequest(f"the event {write.name} cannot be encoded: {error}")
        return None

    async def _create(self, write: EventWrite) -> None:
        event, served, context = write.tree, self._served, self._context
        if problems := path_segment(write.name):
            raise bad_request(f"the name of the event {write.name} {problems[0]}")
        event["metadata"] = {
            "name": write.name,
            "namespace": write.namespace,
            "uid": context.uid(),
            "creationTimestamp": rfc3339(context.now()),
        }
        await context.store.create(served.key, write.namespace, write.name, served.encode(event), served.index(event))

    async def _count(self, write: EventWrite) -> None:
        served, store = self._served, self._context.store
        item = store.get(served.key, write.namespace, write.name)
        if item is None:
            raise not_found("", "events", write.name)
        event = orjson.loads(item.body) | write.tree
        await store.update(served.key, write.namespace, write.name, served.encode(event), item.index, item.revision)


_NO_PARAMETERS: Mapping[str, str] = {}
