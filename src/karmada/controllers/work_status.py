"""Work status controller: observes the objects of a Work in their member and reports their status."""

import msgspec

from karmada.api import annotations, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import ManifestStatus, Work
from karmada.controllers.bindings import tenant_of
from karmada.controllers.clusters import is_back, is_ready
from karmada.controllers.context import Context
from karmada.controllers.member_watches import MemberWatches
from karmada.controllers.status_reporter import COMPONENT, StatusReporter
from karmada.controllers.write_rate import Pace
from karmada.interpreter.model import InterpretError
from karmada.machinery.codec import untrusted_tree
from karmada.machinery.committer import Absent, Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.errors import BadAnswer
from karmada.machinery.informers.cache import Change, Item, Key, is_back_in_time
from karmada.machinery.informers.informer import Informer
from karmada.machinery.limits import printable
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.machinery.workqueue.queue import Priority
from karmada.membership.members import Member, Members, MemberUnavailable
from karmada.works.head import Head, head_of
from karmada.works.status import is_applied

LANE_LIMIT = 32
GATHERING = 0.05
"""Seconds in which several changes of a member's object are gathered: a rollout reports itself many times."""
LOADING = 5.0
"""Seconds until it is looked whether the rest of a Work's objects is loaded."""


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    annotations: dict[str, str] | None = None


class _Head(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata


_head = msgspec.json.Decoder(_Head)


class WorkStatusController:
    """Observes the objects of Works in members and reports their status."""

    def __init__(self, context: Context, members: Members, works: Informer[Work], reporter: StatusReporter) -> None:
        self._members = members
        self._works = works
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._commit = Committer(context.client.of(Work))
        self._reporter = reporter
        self._pace = Pace(context.clock)
        self.following = MemberWatches(self._clusters, self._member_changed)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            workers=context.concurrency.works * 8,
            lane=lambda key: key.namespace,
            lane_limit=LANE_LIMIT,
            tenant=lambda key: tenant_of(works, key),
            needs=(works, self._clusters),
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(works, self._works_changed)
        self._clusters.add_handler(self._clusters_changed)

    async def reconcile(self, key: Key) -> Result:
        """Write what the member says about one Work's objects."""
        work = self._works.get(key.name, key.namespace)
        if work is None or work.metadata.deletion_timestamp is not None or not is_applied(work):
            return DONE
        cluster = self._clusters.get(names.cluster_of_execution_space(key.namespace))
        if cluster is None or not self._members.concerns(cluster) or not is_ready(cluster):
            return DONE
        try:
            member = await self._members.connect(cluster)
        except MemberUnavailable as error:
            return Retry(str(error))
        manifests = [head_of(work, ordinal) for ordinal in range(len(work.spec.workload.manifests))]
        informers = [await self._informer(manifest, member) for manifest in manifests]
        loaded = [informer.has_synced for informer in informers]
        if not all(loaded):
            # A member that hangs must not hold up others. Objects bring their Work here when they are loaded.
            return RequeueAfter(LOADING) if any(loaded) else DONE
        observed = [
            informer.item(Key(manifest.namespace, manifest.name))
            for informer, manifest in zip(informers, manifests, strict=True)
        ]
        versions = [item.resource_version if item is not None else "" for item in observed]
        if self._reporter.is_reported(work, versions):
            return DONE
        try:
            known = await self._statuses(work, observed)
        except (BadAnswer, InterpretError) as error:
            self._pace.take(key)
            if isinstance(error, BadAnswer):
                member.blame(error)
            return Retry(printable(str(error)))
        if not known:
            return DONE

        def decide(current: Work) -> Work:
            return msgspec.structs.replace(
                current, status=msgspec.structs.replace(current.status, manifest_statuses=known)
            )

        self._pace.take(key, sum(len(memoryview(status.status)) for status in known))
        if not isinstance(await self._commit.commit(work, decide), Absent):
            self._reporter.report(work, versions)
        return DONE

    async def _statuses(self, work: Work, observed: list[Item[JSONObject] | None]) -> tuple[ManifestStatus, ...]:
        """The status of the objects that exist (recreating others is not this controller's business)."""
        return tuple(
            [
                await self._reporter.status(work, ordinal, untrusted_tree(item.body))
                for ordinal, item in enumerate(observed)
                if item is not None
            ]
        )

    async def _informer(self, manifest: Head, member: Member) -> Informer[JSONObject]:
        """The followed objects of a manifest's kind."""
        served = await member.client.mapper.of_kind(manifest.api_version, manifest.kind)
        informer = member.managed(served.type)
        self.following.follow(member.name, served.type, informer)
        return informer

    def _works_changed(self, change: Change[Work]) -> list[Key]:
        """A Work became applied: from now on its objects are reported. The member's events come at about the same time,
        and what it answered is reported already: one look at both is enough."""
        if change.new is None:
            self._reporter.forget(change.key)
            return []
        if not is_applied(change.new.value) or (change.old is not None and is_applied(change.old.value)):
            return []
        if change.initial:
            return [change.key]
        self.controller.queue.add_after(change.key, GATHERING)
        return []

    def _clusters_changed(self, changes: list[Change[Cluster]]) -> None:
        """What happened in a cluster before it was back was not observed, and perhaps it is not watched yet. Most of
        it the execution controller reports while it applies: changes go first."""
        for change in changes:
            if change.new is None:
                self._pace.forget(names.execution_space(change.key.name))
                continue
            if self._works.has_synced and is_back(change) and self._members.concerns(change.new.value):
                keys = [item.key for item in self._works.all_items(names.execution_space(change.key.name))]
                for key in keys:
                    self._reporter.forget(key)
                self.controller.enqueue_all(keys, Priority.INITIAL)

    def _member_changed(self, cluster: str, type_: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        space = names.execution_space(cluster)
        for change in changes:
            work = work_of(change.item.body)
            if work is None or work.namespace != space:
                continue
            if change.new is None or is_back_in_time(change):
                self._reporter.forget(work)
            if change.initial:
                self.controller.queue.add(work, Priority.INITIAL)
            elif change.new is not None and self._is_reported(work):
                self.controller.queue.add_after(work, max(GATHERING, self._pace.wait(work)))

    def _is_reported(self, key: Key) -> bool:
        """Whether the objects of a Work are reported by now; once they are, it comes by itself."""
        work = self._works.get(key.name, key.namespace)
        return work is not None and is_applied(work)


def work_of(body: bytes) -> Key | None:
    """The Work a member's object says it belongs to; none if it cannot be read."""
    try:
        noted = _head.decode(body).metadata.annotations or {}
    except (ValueError, RecursionError):
        return None
    namespace, name = noted.get(annotations.WORK_NAMESPACE), noted.get(annotations.WORK_NAME)
    return Key(namespace, name) if namespace and name else None
