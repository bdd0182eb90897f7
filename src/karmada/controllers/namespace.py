"""Namespace sync: every namespace of the control plane exists in every member, through one Work per cluster.

The Works are owned by the Namespace, so they go with it. A namespace labelled `skip-auto-propagation` is left out;
Works that exist already stay when the label comes later.
"""

import asyncio

import msgspec
import orjson

from karmada.api import labels, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.meta import OwnerReference
from karmada.api.policy.v1alpha1 import ClusterOverridePolicy
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.clusters import stays
from karmada.controllers.context import Context
from karmada.controllers.work_writer import WRITE_ERRORS, WorkWriter, owners_of_kind, work_for
from karmada.machinery.controller import DONE, Controller, Result, Retry
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.membership.objects import NAMESPACES
from karmada.overrides.apply import apply_overrides
from karmada.overrides.errors import OverrideError
from karmada.works.build import WorkTerminating, records
from karmada.works.owner import WorkOfAnother

COMPONENT = "namespace-sync-controller"


class NamespaceController:
    """Propagates namespaces of the control plane to every member, through one Work per cluster."""

    def __init__(self, context: Context) -> None:
        self._scope = context.scope
        self._namespaces: Informer[JSONObject] = context.informers.resource(NAMESPACES)
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._overrides: Informer[ClusterOverridePolicy] = context.informers.of(ClusterOverridePolicy)
        self._works: Informer[Work] = context.informers.of(Work)
        self._writer = WorkWriter(context.client, self._works)
        self._blocked: dict[Key, str] = {}
        """Namespaces whose predecessors have not left a member yet, by the Works of those."""
        self.controller: Controller[str] = Controller(
            COMPONENT,
            self.reconcile,
            workers=context.concurrency.namespaces,
            needs=(self._namespaces, self._clusters, self._overrides, self._works),
            clock=context.clock,
        )
        self.controller.watch(self._namespaces, lambda change: [change.key.name])
        self.controller.watch(self._clusters, self._new_cluster)
        self.controller.watch(self._overrides, self._override_changed)
        self._works.add_handler(self._works_changed)

    async def reconcile(self, name: str) -> Result:
        """Write the Works of one namespace."""
        item = self._namespaces.item(Key("", name))
        if item is None:
            return DONE
        namespace = item.value
        metadata = namespace["metadata"]
        if metadata.get("deletionTimestamp") or not self._is_synced(name, metadata.get("labels") or {}):
            return DONE
        clusters = [cluster for cluster in self._clusters.values() if stays(cluster)]
        outcomes = await asyncio.gather(*(self._write(item.body, cluster) for cluster in clusters))
        errors = [outcome for outcome in outcomes if outcome is not None]
        return Retry(str(errors[0])) if errors else DONE

    def _is_synced(self, name: str, marks: dict[str, str]) -> bool:
        if name == "default" or names.is_reserved_namespace(name) or self._scope.skips_namespace(name):
            return False
        return marks.get(labels.SKIP_AUTO_PROPAGATION, "").lower() != "true"

    async def _write(self, body: bytes, cluster: Cluster) -> Exception | None:
        namespace: JSONObject = orjson.loads(body)
        metadata = namespace["metadata"]
        owner = OwnerReference(
            api_version="v1",
            kind="Namespace",
            name=metadata["name"],
            uid=metadata["uid"],
            controller=True,
            block_owner_deletion=True,
        )
        try:
            overridden = apply_overrides(namespace, cluster, self._overrides.values(), ())
        except OverrideError as error:
            return error
        draft = work_for(
            cluster.metadata.name,
            overridden.resource,
            annotations=records(overridden.by_cluster_policies, ()),
            owner=owner,
        )
        try:
            await self._writer.write(draft, lambda w: _owned(draft.merged(w), owner))
        except WRITE_ERRORS as error:
            if isinstance(error, WorkTerminating | WorkOfAnother):
                self._blocked[Key(draft.metadata.namespace, draft.metadata.name)] = metadata["name"]
            return error
        return None

    def _new_cluster(self, change: Change[Cluster]) -> list[str]:
        return self._all() if change.old is None and change.new is not None else []

    def _works_changed(self, changes: list[Change[Work]]) -> None:
        """A Work that is gone stood in the way of a namespace, or is missed by its own."""
        for change in changes:
            if change.new is not None:
                continue
            cluster = change.key.namespace.removeprefix(names.EXECUTION_SPACE_PREFIX)
            if blocked := self._blocked.pop(change.key, ""):
                self.controller.enqueue(blocked)
            elif self._clusters.has_synced and stays(self._clusters.get(cluster)):
                for name in owners_of_kind("Namespace", change.item):
                    self.controller.enqueue(name)

    def _all(self) -> list[str]:
        """Every namespace; none before the first load, which brings them all anyway."""
        return [item.key.name for item in self._namespaces.all_items()] if self._namespaces.has_synced else []

    def _override_changed(self, change: Change[ClusterOverridePolicy]) -> list[str]:
        if change.initial:
            return []
        states = [item.value for item in (change.old, change.new) if item is not None]
        selectors = [selector for policy in states for selector in policy.spec.resource_selectors]
        chosen = [s for s in selectors if (s.api_version, s.kind) == ("v1", "Namespace")]
        selects_all = any(not policy.spec.resource_selectors for policy in states)
        if selects_all or any(not s.name for s in chosen):
            return self._all()
        return [selector.name for selector in chosen]


def _owned(work: Work, owner: OwnerReference) -> Work:
    others = tuple(ref for ref in work.metadata.owner_references if ref.uid != owner.uid)
    return msgspec.structs.replace(
        work, metadata=msgspec.structs.replace(work.metadata, owner_references=(*others, owner))
    )
