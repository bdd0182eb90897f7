"""Work status controller: reads back from the member how the objects of a Work fare."""

import msgspec
import orjson

from karmada.api import annotations, conditions, events, names
from karmada.api.base import ABSENT
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import raw
from karmada.api.work.v1alpha1 import ManifestStatus, ResourceIdentifier, Work
from karmada.controllers.clusters import is_ready
from karmada.controllers.context import Context
from karmada.controllers.members import Member, Members, MemberUnavailable
from karmada.interpreter.model import InterpretError, Operation, kind_of
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, Result, Retry
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.works.build import manifest_of
from karmada.works.status import condition

COMPONENT = "work-status-controller"
LANE_LIMIT = 32
GATHERING = 0.05
"""Seconds in which several changes of a member's object are gathered: a rollout reports itself many times."""


class WorkStatusController:
    """See the module."""

    def __init__(self, context: Context, members: Members, works: Informer[Work]) -> None:
        self._context = context
        self._members = members
        self._works = works
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._commit = Committer(context.client.of(Work))
        self._recorder = context.recorder(COMPONENT)
        self._followed: dict[tuple[str, GroupVersionResource], Informer[JSONObject]] = {}
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            workers=context.concurrency.works * 8,
            lane=lambda key: key.namespace,
            lane_limit=LANE_LIMIT,
            needs=(works, self._clusters),
            clock=context.clock,
        )
        self.controller.watch(works, _became_applied)

    async def reconcile(self, key: Key) -> Result:
        """Write what the member says about one Work's objects."""
        work = self._works.get(key.name, key.namespace)
        if work is None or work.metadata.deletion_timestamp is not None or not _is_applied(work):
            return DONE
        cluster = self._clusters.get(names.cluster_of_execution_space(key.namespace))
        if cluster is None or not self._members.concerns(cluster) or not is_ready(cluster):
            return DONE
        try:
            member = await self._members.connect(cluster)
        except MemberUnavailable as error:
            return Retry(error)
        statuses = [await self._status(work, ordinal, member) for ordinal in range(len(work.spec.workload.manifests))]
        known = tuple(status for status in statuses if status is not None)
        if not known:
            return DONE

        def decide(current: Work) -> Work:
            return msgspec.structs.replace(
                current, status=msgspec.structs.replace(current.status, manifest_statuses=known)
            )

        await self._commit.commit(work, decide)
        return DONE

    async def _status(self, work: Work, ordinal: int, member: Member) -> ManifestStatus | None:
        """How one object fares; None when it is not there (bringing it back is not this controller's business)."""
        manifest = manifest_of(work, ordinal)
        served = await member.client.mapper.of_kind(manifest["apiVersion"], manifest["kind"])
        informer = member.managed(served.type)
        self._follow(member.name, served.type, informer)
        await informer.synced()
        metadata = manifest["metadata"]
        item = informer.item(Key(metadata.get("namespace", ""), metadata["name"]))
        if item is None:
            return None
        observed = item.value
        kind = kind_of(manifest)
        reflected = await self._reflect(work, observed)
        return ManifestStatus(
            identifier=ResourceIdentifier(
                ordinal=ordinal,
                group=kind.group,
                version=kind.version,
                kind=kind.kind,
                resource="",
                namespace=metadata.get("namespace", ""),
                name=metadata["name"],
            ),
            status=ABSENT if reflected is None else raw(reflected),
            health=await self._health(work, observed),
        )

    async def _reflect(self, work: Work, observed: JSONObject) -> JSONObject | None:
        about = ObjectReference.to(work)
        try:
            reflected = await self._context.interpreter.reflect(observed)
        except InterpretError as error:
            text = f"Reflect status for object({_named(observed)}) failed, err: {error}"
            self._recorder.event(about, events.WARNING, events.REFLECT_STATUS.failed, text)
            raise
        text = f"Reflect status for object({_named(observed)}) succeed."
        self._recorder.event(about, events.NORMAL, events.REFLECT_STATUS.succeeded, text)
        return reflected

    async def _health(self, work: Work, observed: JSONObject) -> str:
        if not self._context.interpreter.enabled(kind_of(observed), Operation.HEALTH):
            return "Healthy"
        about = ObjectReference.to(work)
        try:
            healthy = await self._context.interpreter.healthy(observed)
        except InterpretError as error:
            text = f"Interpret health of object({_named(observed)}) failed, err: {error}"
            self._recorder.event(about, events.WARNING, events.INTERPRET_HEALTH.failed, text)
            return "Unknown"
        word = "healthy" if healthy else "unhealthy"
        text = f"Interpret health of object({_named(observed)}) as {word}."
        self._recorder.event(about, events.NORMAL, events.INTERPRET_HEALTH.succeeded, text)
        return word.capitalize()

    def _follow(self, cluster: str, type_: GroupVersionResource, informer: Informer[JSONObject]) -> None:
        if self._followed.get((cluster, type_)) is not informer:
            self._followed[cluster, type_] = informer
            informer.add_handler(self._member_changed)

    def _member_changed(self, changes: list[Change[JSONObject]]) -> None:
        for change in changes:
            if change.new is not None and (work := work_of(change.new.body)) is not None:
                self.controller.queue.add_after(work, GATHERING)


def work_of(body: bytes) -> Key | None:
    """The Work a member's object belongs to."""
    noted = (orjson.loads(body).get("metadata") or {}).get("annotations") or {}
    namespace, name = noted.get(annotations.WORK_NAMESPACE), noted.get(annotations.WORK_NAME)
    return Key(namespace, name) if namespace and name else None


def _is_applied(work: Work) -> bool:
    found = condition(work, conditions.APPLIED)
    return found is not None and found.status == "True"


def _became_applied(change: Change[Work]) -> list[Key]:
    if change.new is None or not _is_applied(change.new.value):
        return []
    return [] if change.old is not None and _is_applied(change.old.value) else [change.key]


def _named(observed: JSONObject) -> str:
    metadata = observed["metadata"]
    return f"{observed['kind']}/{metadata.get('namespace', '')}/{metadata['name']}"
