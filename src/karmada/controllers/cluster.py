"""Cluster controller: gives every cluster its execution space and its taints, and sees it off when it leaves.

A cluster leaves in this order: its execution space (and with it every Work) goes, no binding names it any more, then
the finalizer goes. Bindings whose policy is gone are placed by nobody: the cluster is taken out of them here. The agent
of a pull cluster empties it while its role lasts, before the execution space goes; for one that is not ready nobody
would take the Works' finalizers off, so this does. The registration of an agent ends with its Cluster: it could take
that away and make another one, without the taints and labels that administrators gave to the first.
"""

from functools import partial

import msgspec

from karmada.api import conditions, events, finalizers, labels, names
from karmada.api.cluster.v1alpha1 import Cluster, Taint
from karmada.api.taints import NO_SCHEDULE, NOT_READY, UNREACHABLE
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.bindings import BY_CLUSTER, Binding, Bindings, clusters_of
from karmada.controllers.clusters import is_ready
from karmada.controllers.context import Context
from karmada.controllers.current import is_present
from karmada.controllers.objects import with_finalizer, without_finalizer
from karmada.machinery.clock import rfc3339
from karmada.machinery.committer import Absent, Committer, Unchanged
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.errors import NotFound
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.membership.agent_roles import agent_roles
from karmada.membership.objects import NAMESPACES
from karmada.membership.unjoin import discard

COMPONENT = "cluster-controller"
LEAVING_WAIT = 1.0
"""Seconds until a leaving cluster is looked at again, should no event come."""


class ClusterController:
    """Reconciles the execution space, readiness taints and departure of clusters."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._works: Informer[Work] = context.informers.of(Work)
        self._namespaces: Informer[JSONObject] = context.informers.resource(NAMESPACES)
        self._bindings = Bindings(context)
        for informer in self._bindings.informers:
            informer.add_index(BY_CLUSTER, clusters_of)
        self._commit = Committer(context.client.of(Cluster))
        self._commit_work = Committer(context.client.of(Work))
        self._commit_namespace = Committer(context.client.resource(NAMESPACES))
        self._recorder = context.recorder(COMPONENT)
        self.controller: Controller[str] = Controller(
            COMPONENT,
            self.reconcile,
            workers=context.concurrency.clusters,
            needs=(self._clusters, self._works, self._namespaces, *self._bindings.informers),
            clock=context.clock,
        )
        self.controller.watch(self._clusters, lambda change: [change.key.name])
        self.controller.watch(self._namespaces, _space_gone)

    async def reconcile(self, name: str) -> Result:
        """Bring one cluster's surroundings up to date."""
        cluster = self._clusters.get(name)
        if cluster is None:
            return DONE
        if cluster.metadata.deletion_timestamp is not None:
            return await self._leave(cluster)
        outcome = await self._commit.commit(cluster, with_finalizer(finalizers.CLUSTER))
        if isinstance(outcome, Absent):
            return DONE
        cluster = outcome.value
        await self._ensure_space(cluster)
        await self._taint(cluster)
        return DONE

    async def _ensure_space(self, cluster: Cluster) -> None:
        space = names.execution_space(cluster.metadata.name)
        if self._namespaces.get(space) is not None:
            return
        wanted: JSONObject = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": space, "labels": {labels.SYSTEM: "true"}},
        }
        await self._commit_namespace.ensure(space, "", lambda current: current or wanted)
        text = f"Created execution space({space}) for cluster({cluster.metadata.name})."
        self._record(cluster, events.CREATE_EXECUTION_SPACE.succeeded, text)

    async def _taint(self, cluster: Cluster) -> None:
        outcome = await self._commit.commit(cluster, partial(_tainted, now=rfc3339(self._context.clock.now())))
        if isinstance(outcome, Unchanged | Absent):
            return
        taints = outcome.value.spec.taints
        text = f"Taint cluster succeed: cluster now {spelled(taints)}."
        self._record(cluster, events.TAINT_CLUSTER.succeeded, text)

    async def _leave(self, cluster: Cluster) -> Result:
        if finalizers.CLUSTER not in cluster.metadata.finalizers:
            return DONE
        if not await is_present(self._context.client.of(Cluster), cluster):
            return DONE  # released by force; another one may have its name by now, and its execution space
        name = cluster.metadata.name
        space = names.execution_space(name)
        if cluster.spec.sync_mode == "Pull":
            if not is_ready(cluster):
                await self._free_works(space)
            elif await self._delete_works(space):
                return RequeueAfter(LEAVING_WAIT)
        try:
            await self._context.client.resource(NAMESPACES).delete(space)
            return RequeueAfter(LEAVING_WAIT)
        except NotFound:
            text = f"Removed execution space for cluster({name})."
            self._record(cluster, events.REMOVE_EXECUTION_SPACE.succeeded, text)
        named = [binding for informer in self._bindings.informers for binding in informer.indexed(BY_CLUSTER, name)]
        if named:
            for binding in named:
                if not any(mark in binding.metadata.labels for mark in labels.SCHEDULED):
                    await self._bindings.commit(binding, lambda b: _without_target(b, name))
            return RequeueAfter(LEAVING_WAIT)
        for type_, role, where in agent_roles(name) if cluster.spec.sync_mode == "Pull" else ():
            await discard(self._context.client, type_, role, where)
        await self._commit.commit(cluster, without_finalizer(finalizers.CLUSTER))
        return DONE

    async def _free_works(self, space: str) -> None:
        for work in self._works.values(space):
            await self._commit_work.commit(work, without_finalizer(finalizers.WORK))

    async def _delete_works(self, space: str) -> bool:
        """Have the agent take its Works out of the member while it may: its role goes with the execution space."""
        works = self._works.values(space)
        for work in works:
            if work.metadata.deletion_timestamp is None:
                await self._commit_work.remove(work, lambda w: True)
        return bool(works)

    def _record(self, cluster: Cluster, reason: str, text: str) -> None:
        self._recorder.event(ObjectReference.to(cluster), events.NORMAL, reason, text)


def _without_target(binding: Binding, name: str) -> Binding:
    """A binding that nobody places any more, because its policy is gone, without a cluster."""
    if any(mark in binding.metadata.labels for mark in labels.SCHEDULED):
        return binding
    kept = tuple(target for target in binding.spec.clusters if target.name != name)
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, clusters=kept))


def spelled(taints: tuple[Taint, ...]) -> str:
    """Taints as events show them."""
    if not taints:
        return "does not have taints"
    shown = ",".join(
        f"{{Key:{taint.key},{f'Value:{taint.value},' if taint.value else ''}Effect:{taint.effect}}}" for taint in taints
    )
    return f"has taints([{shown}])"


def _tainted(cluster: Cluster, now: str) -> Cluster:
    """The cluster with the NoSchedule taint that its readiness calls for, and without the other."""
    ready = next((c.status for c in cluster.status.conditions if c.type == conditions.READY), "False")
    wanted = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(ready)
    unwanted = {(key, NO_SCHEDULE) for key in (NOT_READY, UNREACHABLE) if key != wanted}
    kept = tuple(taint for taint in cluster.spec.taints if (taint.key, taint.effect) not in unwanted)
    if wanted and not any((taint.key, taint.effect) == (wanted, NO_SCHEDULE) for taint in kept):
        kept += (Taint(key=wanted, effect=NO_SCHEDULE, time_added=now),)
    if kept == cluster.spec.taints:
        return cluster
    return msgspec.structs.replace(cluster, spec=msgspec.structs.replace(cluster.spec, taints=kept))


def _space_gone(change: Change[JSONObject]) -> list[str]:
    name = change.key.name
    if change.new is None and name.startswith(names.EXECUTION_SPACE_PREFIX):
        return [names.cluster_of_execution_space(name)]
    return []
