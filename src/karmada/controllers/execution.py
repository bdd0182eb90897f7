"""Execution controller: brings the manifest of a Work into its member, keeps it there, and takes it away again.

Runs in the control plane for push clusters and in the agent for its own. One failing member never delays another: every
cluster is a lane of its own. A member that is not ready is left alone; nothing is deleted because it was unreachable.
"""

import asyncio
from time import perf_counter

import orjson

from karmada.api import annotations, events, finalizers, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.bindings import tenant_of
from karmada.controllers.clusters import is_back, is_ready
from karmada.controllers.context import Context
from karmada.controllers.drift import AppliedVersions, ObjectKey
from karmada.controllers.member_deletion import MemberDeletion
from karmada.controllers.member_watches import MemberWatches
from karmada.controllers.metrics import ERROR, SUCCESS, labels_of
from karmada.controllers.objects import with_finalizer, without_finalizer
from karmada.controllers.status_reporter import StatusReporter
from karmada.controllers.work_reports import Applied, WorkReports
from karmada.controllers.work_status import work_of
from karmada.controllers.write_rate import Pace
from karmada.interpreter.model import InterpretError, Operation, kind_of
from karmada.machinery.client import type_of
from karmada.machinery.codec import identity, untrusted_tree
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.errors import AlreadyExists, ApiError, BadAnswer, Conflict, Forbidden, Invalid, NotFound
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.limits import printable
from karmada.machinery.resource import Resource
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.members import Member, Members, MemberUnavailable
from karmada.overrides.identity import Identity, IdentityChanged
from karmada.works.build import manifest_of
from karmada.works.member import NotOurs, is_unchanged, merge_observed, of_another_work, require_ours
from karmada.works.status import is_applied

COMPONENT = "execution-controller"
ATTEMPTS = 4
"""Looks at a member's object that others keep changing, before the Work counts as not applied."""
LANE_LIMIT = 32
"""Works of one member that are handled at the same time."""
STOPPING = 2.0
"""Seconds until a member is asked again whether the object of a fenced Work has stopped."""


_SHAPES = (TypeError, ValueError, KeyError, AttributeError, IndexError, RecursionError)
"""What reading an object of another shape than expected raises."""


class WorkGone(Exception):
    """The server has this Work no more; only a cache that lags has."""


class ExecutionController:
    """Applies the manifests of a Work to its member, corrects drift, and deletes them with the Work."""

    def __init__(
        self, context: Context, members: Members, works: Informer[Work], reporter: StatusReporter | None = None
    ) -> None:
        """`reporter`: reports the objects' status with the outcome, as seen in the member's answers."""
        self._context = context
        self._members = members
        self._works = works
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._commit = Committer(context.client.of(Work))
        self._encoded = context.client.encoded(type_of(Work))
        self._recorder = context.recorder(COMPONENT)
        self._reports = WorkReports(context, self._recorder, self._commit, reporter)
        self.versions = AppliedVersions()
        """What was written to members."""
        self._pace = Pace(context.clock)
        self._removal = MemberDeletion(context.metrics, self.versions)
        self.following = MemberWatches(self._clusters, self._member_changed, self._member_loaded)
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
        self.controller.watch(works, _changed)
        self._clusters.add_handler(self._clusters_changed)

    async def reconcile(self, key: Key) -> Result:
        """Bring one Work's manifests and its member in line."""
        work = self._works.get(key.name, key.namespace)
        if work is None:
            return DONE
        cluster = self._clusters.get(names.cluster_of_execution_space(key.namespace))
        if cluster is None:
            return await self._without_cluster(work)
        if not self._members.concerns(cluster):
            return DONE
        if work.metadata.deletion_timestamp is not None:
            return await self._remove(work, cluster)
        if work.spec.suspend_dispatching:
            await self._reports.suspended(work)
            return DONE
        if not is_ready(cluster):
            return DONE  # it comes again when the cluster is ready
        if finalizers.WORK not in work.metadata.finalizers:
            await self._hold(work)
        return await self._dispatch(work, cluster)

    async def _hold(self, work: Work) -> None:
        """A Work that was written by hand must not go before its objects are removed."""
        await self._commit.commit(work, with_finalizer(finalizers.WORK))

    async def _dispatch(self, work: Work, cluster: Cluster) -> Result:
        try:
            member = await self._members.connect(cluster)
        except MemberUnavailable as error:
            return Retry(str(error))
        started = perf_counter()
        tries = [self._apply(work, ordinal, member) for ordinal in range(len(work.spec.workload.manifests))]
        # Almost every Work holds one object, which needs no task of its own.
        with self._context.tracer.span("dispatch", work.metadata.annotations, cluster=member.name):
            outcomes = [await tries[0]] if len(tries) == 1 else await asyncio.gather(*tries)
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        self._context.metrics.sync_workload.observe(perf_counter() - started, ERROR if errors else SUCCESS)
        if any(isinstance(error, WorkGone) for error in errors):
            return DONE
        await self._reports.dispatched(work, member.name, outcomes)
        return Retry(str(errors[0])) if errors else DONE

    async def _apply(self, work: Work, ordinal: int, member: Member) -> Applied | Exception:
        """Bring one object into the member: the object as it is there then, or why not."""
        desired = manifest_of(work, ordinal)
        about = _template_reference(desired)
        where = _where(desired)
        try:
            applied = await self._put(work, ordinal, desired, member)
        except WorkGone as error:
            return error
        except (ApiError, NotOurs, InterpretError, IdentityChanged) as error:
            if isinstance(error, BadAnswer):
                member.blame(error)
            message = printable(str(error))
            text = f"Failed to create or update resource({where}) in member cluster({member.name}): {message}"
            self._recorder.event(about, events.WARNING, events.SYNC.failed, text)
            self._context.metrics.updated[labels_of(ERROR, desired, member.name)] += 1
            return error
        if applied.written or not is_applied(work):
            text = f"Successfully applied resource({where}) to cluster {member.name}"
            self._recorder.event(about, events.NORMAL, events.SYNC.succeeded, text)
        return applied

    async def _put(self, work: Work, ordinal: int, desired: JSONObject, member: Member) -> Applied:
        """Create the object, or bring the one that is there in line. What the cache shows may be out of date: then the
        member is asked, and decided on what it says."""
        collection, informer = await self._collection(member, desired)
        metadata = desired["metadata"]
        key = Key(metadata.get("namespace", ""), metadata["name"])
        owner = Key(work.metadata.namespace, work.metadata.name)
        if not informer.has_synced and self.controller.queue.is_background(owner):
            await informer.is_loaded()
        if informer.has_synced:
            item = informer.item(key)
            body = item.body if item is not None else None
        else:
            # A user waits, or others do: one question is answered sooner than the member's whole collection is loaded.
            body = await _read(collection, key)
        refusal: ApiError
        for _ in range(ATTEMPTS):
            try:
                if body is not None:
                    return await self._update(desired, body, collection, member, work)
                if work.metadata.uid not in self._context.created_works and not await self._is_present(work):
                    raise WorkGone
                answer = await collection.create(orjson.dumps(desired), key.namespace)
                self.versions.record(ObjectKey(member.name, collection.type, key), answer, owner)
                self._context.metrics.created[labels_of(SUCCESS, desired, member.name)] += 1
                return Applied(answer, written=True)
            except (AlreadyExists, Conflict, NotFound) as error:
                if isinstance(error, NotFound) and body is None:
                    raise
                refusal = error
                body = await _read(collection, key)
            except (Forbidden, Invalid) as error:
                # Ports, addresses and quotas that the object itself has taken come before its name.
                if body is not None or (body := await _read(collection, key)) is None:
                    raise
                refusal = error
            desired = manifest_of(work, ordinal)
        raise refusal

    async def _update(
        self, desired: JSONObject, body: bytes, collection: Resource[bytes], member: Member, work: Work
    ) -> Applied:
        observed = untrusted_tree(body)
        require_ours(desired, observed, member.name)
        if of_another_work(desired, observed) and not await self._is_present(work):
            raise WorkGone
        merge_observed(desired, observed)
        interpreter = self._context.interpreter
        if interpreter.enabled(kind_of(desired), Operation.RETAIN):
            before = Identity.of(desired)
            try:
                desired = await interpreter.retain(desired, observed)
            except _SHAPES as error:
                raise BadAnswer(printable(f"the object has fields of another type than its kind: {error!r}")) from error
            before.require(desired, "the interpreter's retention")
            before.restore(desired)
        metadata = desired["metadata"]
        which = ObjectKey(member.name, collection.type, Key(metadata.get("namespace", ""), metadata["name"]))
        owner = Key(work.metadata.namespace, work.metadata.name)
        version = observed["metadata"].get("resourceVersion", "")
        if is_unchanged(desired, observed):
            self.versions.note(which, version, owner)
            return Applied(body, written=False)
        answer = await collection.update(orjson.dumps(desired))
        self.versions.record(which, answer, owner)
        self._context.metrics.updated[labels_of(SUCCESS, desired, member.name)] += 1
        return Applied(answer, written=True)

    async def _remove(self, work: Work, cluster: Cluster) -> Result:
        if finalizers.WORK not in work.metadata.finalizers or not await self._is_present(work):
            return DONE
        if is_ready(cluster):
            try:
                member = await self._members.connect(cluster)
            except MemberUnavailable as error:
                return Retry(str(error))
            manifests = [manifest_of(work, ordinal) for ordinal in range(len(work.spec.workload.manifests))]
            if work.metadata.annotations.get(annotations.FENCED) and not work.spec.preserve_resources_on_deletion:
                if not all([await self._removal.stop(manifest, member) for manifest in manifests]):
                    return RequeueAfter(STOPPING)
                return await self._drop_finalizer(work)
            remove = self._removal.release if work.spec.preserve_resources_on_deletion else self._removal.delete
            for manifest in manifests:
                await remove(manifest, member)
        elif cluster.metadata.deletion_timestamp is None:
            return DONE  # it comes again when the cluster is ready
        return await self._drop_finalizer(work)

    async def _without_cluster(self, work: Work) -> Result:
        """A Work that is being deleted goes if the server has no such cluster either: nobody else would see it off."""
        name = names.cluster_of_execution_space(work.metadata.namespace)
        if work.metadata.deletion_timestamp is not None:
            try:
                await self._context.client.of(Cluster).get(name)
            except NotFound:
                return await self._drop_finalizer(work)
        return Retry(f"cluster {name} does not exist")

    async def _drop_finalizer(self, work: Work) -> Result:
        await self._commit.commit(work, without_finalizer(finalizers.WORK))
        return DONE

    async def _is_present(self, work: Work) -> bool:
        """Whether the server still has this very Work: a cache loaded from a replica that lags may show one long gone,
        and what is in the member by now belongs to its successor."""
        try:
            present = await self._encoded.get(work.metadata.name, work.metadata.namespace)
        except NotFound:
            return False
        return identity(present).uid == work.metadata.uid

    async def _collection(self, member: Member, manifest: JSONObject) -> tuple[Resource[bytes], Informer[JSONObject]]:
        """The member's collection of the manifest's kind and the informer of what Karmada manages in it."""
        served = await member.client.mapper.of_kind(manifest["apiVersion"], manifest["kind"])
        informer = member.managed(served.type)
        self.following.follow(member.name, served.type, informer)
        return member.client.encoded(served.type), informer

    def _member_changed(self, cluster: str, type_: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        """An object in a member is not what was written: have its Work applied again."""
        space = names.execution_space(cluster)
        for change in changes:
            which = ObjectKey(cluster, type_, change.key)
            if self.versions.drifted(which, change):
                # What says whose object it is may be what was changed.
                named = [work_of(item.body) for item in (change.old, change.new) if item is not None]
                for work in dict.fromkeys(named):
                    if work is not None and work.namespace == space:
                        wait = self._pace.wait(work)
                        self._pace.take(work)
                        self.controller.queue.add_after(work, wait)

    def _member_loaded(self, cluster: str, type_: GroupVersionResource, informer: Informer[JSONObject]) -> None:
        """An object that was written is not in the member: have its Work applied again."""
        for work in self.versions.unseen(cluster, type_, informer.item):
            self.controller.enqueue(work)

    def _clusters_changed(self, changes: list[Change[Cluster]]) -> None:
        """A cluster that is back takes what waited for it; one that goes releases its Works."""
        for change in changes:
            if change.new is None:
                self.versions.forget_cluster(change.key.name)
                self._pace.forget(names.execution_space(change.key.name))
                continue
            if change.initial or not self._works.has_synced or not self._members.concerns(change.new.value):
                continue
            leaving = change.new.value.metadata.deletion_timestamp is not None
            if leaving or is_back(change):
                items = self._works.all_items(names.execution_space(change.key.name))
                self.controller.enqueue_all(item.key for item in items)


async def _read(collection: Resource[bytes], key: Key) -> bytes | None:
    """An object as the member has it now."""
    try:
        return await collection.get(key.name, key.namespace)
    except NotFound:
        return None


def _changed(change: Change[Work]) -> list[Key]:
    """A Work whose spec or deletion changed; its status is written by controllers all the time."""
    if change.new is None:
        return []
    if change.old is not None:
        before, after = change.old.value.metadata, change.new.value.metadata
        if before.generation == after.generation and before.deletion_timestamp == after.deletion_timestamp:
            return []
    return [change.key]


def _where(manifest: JSONObject) -> str:
    metadata = manifest["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _template_reference(manifest: JSONObject) -> ObjectReference:
    """The template a manifest was made from, found by the uid it carries."""
    metadata = manifest["metadata"]
    uid = (metadata.get("annotations") or {}).get(annotations.TEMPLATE_UID, "")
    return ObjectReference(
        manifest["apiVersion"], manifest["kind"], metadata["name"], metadata.get("namespace", ""), uid
    )
