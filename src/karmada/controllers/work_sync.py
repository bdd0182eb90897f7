"""Writing the Works of a binding: a copy of its template for each target cluster, overridden, and brought up to date.

Clusters are handled apart. What takes long goes on with turns for others in between, for as long as it comes further.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from karmada.api import events, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import DecodeError, encode
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import TargetCluster
from karmada.controllers.clusters import stays
from karmada.controllers.context import Context
from karmada.controllers.override_choices import Chosen
from karmada.controllers.work_writer import WRITE_ERRORS, WorkWriter
from karmada.interpreter.model import InterpretError, Operation, kind_of
from karmada.machinery.client import type_of
from karmada.machinery.events import EventRecorder, ObjectReference
from karmada.machinery.informers.cache import Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.overrides.apply import LARGE, weight
from karmada.overrides.errors import OverrideError
from karmada.overrides.identity import IdentityChanged
from karmada.works.build import Draft, WorkBuilder
from karmada.works.plan import WriteWork

log = logging.getLogger("karmada.controllers.binding")

OVERRIDES = "override-manager"
TOGETHER = 8
"""Works of a binding that are made at the same time. What is done for each before it waits for the server adds up, and
nobody else has a turn in between; large ones are made one by one."""
Outcome = Exception | bool
"""Why a Work could not be brought up to date, or whether there was anything to do."""


class Unreadable(Exception):
    """A Work in the place of the binding's own cannot be read, and nothing says whose it is."""


_REFUSALS = (*WRITE_ERRORS, OverrideError, InterpretError, IdentityChanged, Unreadable)


@dataclass(frozen=True, slots=True)
class Source:
    """What the copies for all clusters are made of."""

    body: bytes
    """The template, encoded."""
    builder: WorkBuilder
    is_large: bool
    """Whether others have their turn after each copy."""
    is_slow: bool
    """Whether others go on while a copy is overridden."""
    is_wanted: Callable[[], bool]
    """Whether the binding is still there, and not being deleted."""

    @staticmethod
    def of(body: bytes, builder: WorkBuilder, chosen: Chosen, is_wanted: Callable[[], bool]) -> "Source":
        """By what template and override policies weigh."""
        size = len(body) + chosen.size
        is_slow = builder.is_overridden and weight(size, *chosen.policies) >= LARGE
        return Source(body, builder, size >= LARGE, is_slow, is_wanted)


class WorkSync:
    """Brings the Works of bindings up to date."""

    def __init__(
        self,
        context: Context,
        works: Informer[Work],
        clusters: Informer[Cluster],
        leaving: set[str],
        recorder: EventRecorder,
        extend: Callable[[asyncio.Task[None]], None],
    ) -> None:
        """`leaving` gets the uids of Works that are in the way until they are gone; `extend` begins the deadline of a
        worker anew."""
        self._context = context
        self._works, self._clusters, self._leaving = works, clusters, leaving
        self._writer = WorkWriter(context.client, works, context.created_works)
        self._recorder = recorder
        self._override_recorder = context.recorder(OVERRIDES)
        self._extend = extend
        self._overriding = asyncio.Semaphore(1)
        self._queuing: dict[asyncio.Task[None], None] = {}
        """Workers whose copies are overridden beside the loop, one after another."""
        self.remove = self._writer.remove

    async def sync(self, source: Source, writes: Sequence[WriteWork]) -> list[Outcome]:
        """Bring the Works of all targets up to date; what became of each."""
        together = 1 if source.is_large else TOGETHER
        if len(writes) <= together and not source.is_slow:
            return await asyncio.gather(*(self._outcome(source, write) for write in writes))
        turns, worker = asyncio.Semaphore(together), asyncio.current_task()
        assert worker is not None

        async def outcome(write: WriteWork) -> Outcome:
            async with turns:
                found = await self._outcome(source, write) if source.is_wanted() else False
                self._extend(worker)
                await asyncio.sleep(0)  # a server in this process may answer at once
                return found

        if source.is_slow:
            self._queuing[worker] = None
        try:
            return await asyncio.gather(*(outcome(write) for write in writes))
        finally:
            self._queuing.pop(worker, None)

    async def _outcome(self, source: Source, write: WriteWork) -> Outcome:
        try:
            return await self._write(source, *write)
        except _REFUSALS as error:
            return error

    async def _write(self, source: Source, target: TargetCluster, seen: Work | None) -> bool:
        """Bring one Work up to date; whether there was anything to do."""
        builder, cluster = source.builder, self._clusters.get(target.name)
        at = Key(names.execution_space(target.name), builder.name)
        # What is written anew for a cluster that leaves would hold it.
        if cluster is None or not (stays(cluster) or seen is not None or self._works.item(at) is not None):
            return False
        draft = await self._overridden(source, await self._revised(source, target, cluster), target, cluster)
        if seen is None and (item := self._works.item(at)) is not None:
            try:
                seen = item.value
            except DecodeError as error:
                await self._rebuild(builder, draft, item, error)
                return True

        def decide(current: Work | None) -> Work:
            if current is not None and current.metadata.deletion_timestamp is not None:
                self._leaving.add(current.metadata.uid)
            return draft.merged(current)

        if not await self._writer.write(draft, decide, seen):
            return False
        for kind, policy in draft.applied:
            text = f"Apply {kind}({policy}) for cluster({cluster.metadata.name}) succeed."
            about = ObjectReference.to(builder.template)
            self._override_recorder.event(about, events.NORMAL, events.APPLY_OVERRIDE_POLICY.succeeded, text)
        return True

    async def _rebuild(self, builder: WorkBuilder, draft: Draft, item: Item[Work], error: DecodeError) -> None:
        """Write the binding's Work over one that cannot be read, which nobody else can do; its objects stay."""
        text = f"work {item.key} cannot be read ({error})"
        if not builder.owns(item.body):
            raise Unreadable(f"{text} and does not say whose it is: delete it by hand") from error
        log.error("%s and is built anew", text)
        works = self._context.client.encoded(type_of(Work))
        wanted: JSONObject = orjson.loads(encode(draft.merged(None)))
        if error.path.startswith("$.status"):
            await works.patch(item.key.name, {"status": None}, item.key.namespace, subresource="status")
        await works.patch(item.key.name, {"spec": wanted["spec"]}, item.key.namespace)
        about = ObjectReference.to(builder.template)
        self._recorder.event(about, events.WARNING, events.SYNC_WORK.failed, f"{text} and was built anew")

    async def _overridden(self, source: Source, copy: JSONObject, target: TargetCluster, cluster: Cluster) -> Draft:
        build = source.builder.build
        try:
            if not source.is_slow:
                draft = build(copy, target, cluster)
            else:
                async with self._overriding:
                    draft = await asyncio.to_thread(build, copy, target, cluster)
                for worker in self._queuing:
                    self._extend(worker)
        except OverrideError as error:
            self._report_failure(source.builder, cluster, error)
            raise
        if draft.left_out is not None:
            without = f" The copy has no overrides of its namespace: {draft.left_out}"
            self._report_failure(source.builder, cluster, draft.left_out, without)
        return draft

    def _report_failure(self, builder: WorkBuilder, cluster: Cluster, error: OverrideError, more: str = "") -> None:
        text = f"Apply override policy({error.policy}) for cluster({cluster.metadata.name}) failed.{more}"
        about = ObjectReference.to(builder.template)
        self._override_recorder.event(about, events.WARNING, events.APPLY_OVERRIDE_POLICY.failed, text)

    async def _revised(self, source: Source, target: TargetCluster, cluster: Cluster) -> JSONObject:
        copy: JSONObject = orjson.loads(source.body)
        replicas = source.builder.replicas
        wanted = replicas(target, cluster) if not source.is_slow else await asyncio.to_thread(replicas, target, cluster)
        if wanted is None or not self._context.interpreter.enabled(kind_of(copy), Operation.REVISE):
            return copy
        return await self._context.interpreter.revise(copy, wanted)
