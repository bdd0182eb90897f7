"""EndpointSlice import: makes collected slices of exported Services slices of the control plane.

Importers get them as dependencies of their ServiceImport. A slice belongs to the cluster in whose execution space its
Work lies, and no other cluster's Work can change it. Only of clusters into which the control plane brought the
ServiceExport: a member says what it likes, its agent writes Works, and neither gets the requests for a Service of
others by that. Slices of clusters that stay unreachable, or that a Remedy keeps traffic from, are withdrawn and come
back.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from karmada.api import annotations, finalizers, labels, names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.controllers.clusters import offers_changed
from karmada.controllers.context import Context
from karmada.controllers.current import BEHIND, is_known
from karmada.controllers.objects import without_finalizer
from karmada.controllers.slice_collection import SLICES
from karmada.controllers.work_writer import WorkWriter
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.flags import seconds
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.options import flag
from karmada.machinery.resource import Scope
from karmada.machinery.transport import JSONObject
from karmada.works.build import keep_set, manifest_of
from karmada.works.exposure import standing
from karmada.works.slices import EXPORT, cluster_of, imported, slice_name

COMPONENT = "endpointslice-controller"
IMPORTED = Scope(labels=f"{labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY}={labels.IMPORTED_ENDPOINT_SLICE_CONTROLLER}")
OF_WORK = "of-work"
OF_EXPORT = "of-exported-service"


@dataclass(frozen=True, slots=True)
class EndpointOptions:
    """When endpoints of a cluster are no longer offered to others."""

    tolerance: float = flag(
        30.0,
        seconds,
        "How long a cluster may be not ready before its endpoints are withdrawn from other clusters.",
        "--endpoint-withdrawal-tolerance",
    )


class SliceOfAnother(Exception):
    """A slice of that name is not this cluster's."""


class EndpointSliceImporter:
    """Keeps the imported slices of the control plane at what was collected."""

    def __init__(self, context: Context, options: EndpointOptions) -> None:
        self._context = context
        self._tolerance = options.tolerance
        self._works: Informer[Work] = context.informers.of(Work)
        self._works.add_index(OF_EXPORT, _export_of)
        self._bindings: Informer[ResourceBinding] = context.informers.of(ResourceBinding)
        self._server = context.client.of(ResourceBinding)
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._slices = context.informers.resource(SLICES, IMPORTED)
        self._slices.add_index(OF_WORK, _work_of)
        self._commit = Committer(context.client.resource(SLICES), status_subresource=False)
        self._writer = WorkWriter(context.client, self._works)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            needs=(self._works, self._bindings, self._clusters, self._slices),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._works, _of_export)
        self.controller.watch(self._slices, _works_of)
        self.controller.watch(self._bindings, self._binding_changed)
        self.controller.watch(self._clusters, self._cluster_changed)

    async def reconcile(self, key: Key) -> Result:
        """Bring the imported slice of one Work up to date."""
        work = self._works.get(key.name, key.namespace)
        present = self._slices.indexed(OF_WORK, str(key))
        if work is None:
            if present and await self._context.client.of(Work).is_gone(key.name, key.namespace):
                await self._withdraw(present)
            return DONE
        service = EXPORT.service(work) if work.metadata.deletion_timestamp is None else None
        if service is None:
            await self._withdraw(present)
            await self._release(work)
            return DONE
        found = standing(self._clusters.get(service.cluster), self._context.clock.now(), self._tolerance)
        if found.withdrawn or not self._is_importable(work, service.namespace):
            await self._withdraw(present)
            return DONE
        exporting = names.binding_name(EXPORT.kind, service.name)
        binding = self._bindings.get(exporting, service.namespace)
        if service.cluster not in _exporting(binding):
            if present and not await is_known(self._server, binding, exporting, service.namespace):
                return RequeueAfter(BEHIND)
            await self._withdraw(present)
            return DONE
        try:
            await self._write(work, service.cluster, service.name)
        except SliceOfAnother as error:
            return Retry(str(error))
        return RequeueAfter(found.changes_in) if found.changes_in is not None else DONE

    def _is_importable(self, work: Work, namespace: str) -> bool:
        """Whether a Work holds a slice of the namespace that it says, where the control plane takes slices."""
        which = slice_name(work)
        if which is None or which[0] != namespace:
            return False
        return not (names.is_reserved_namespace(namespace) or self._context.scope.skips_namespace(namespace))

    async def _write(self, work: Work, cluster: str, service: str) -> None:
        wanted = imported(manifest_of(work), work, cluster, service)
        name, namespace = wanted["metadata"]["name"], wanted["metadata"]["namespace"]
        seen = self._slices.get(name, namespace)
        if seen is not None and seen.get("addressType") != wanted.get("addressType"):
            # It cannot be changed: the slice is made anew when this one is gone.
            await self._withdraw([seen])
            return
        await self._commit.ensure(name, namespace, lambda current: _merged(current, wanted), seen)

    async def _withdraw(self, slices: Iterable[JSONObject]) -> None:
        for one in slices:
            await self._commit.remove(one, _is_imported)

    async def _release(self, work: Work) -> None:
        if finalizers.ENDPOINT_SLICE in work.metadata.finalizers:
            await self._writer.update(work, without_finalizer(finalizers.ENDPOINT_SLICE))

    def _cluster_changed(self, change: Change[Cluster]) -> list[Key]:
        if not offers_changed(change) or not self._works.has_synced:
            return []
        return [item.key for item in self._works.indexed_items(OF_EXPORT, names.execution_space(change.key.name))]

    def _binding_changed(self, change: Change[ResourceBinding]) -> list[Key]:
        """The Works of a Service that is exported from other clusters than before."""
        before, after = (_exporting(item.value if item is not None else None) for item in (change.old, change.new))
        if before == after or not self._works.has_synced:
            return []
        exported = change.item.value.spec.resource
        works = self._works.indexed(OF_EXPORT, f"{exported.namespace}/{exported.name}")
        return [Key(w.metadata.namespace, w.metadata.name) for w in works if cluster_of(w.metadata) in before ^ after]


def _exporting(binding: ResourceBinding | None) -> frozenset[str]:
    """The clusters into which a ServiceExport is brought."""
    if binding is None or binding.spec.resource.kind != EXPORT.kind:
        return frozenset()
    return frozenset(keep_set(binding.spec))


def _export_of(item: Item[Work]) -> Iterable[str]:
    """Index function of Works: the exported Service whose slice they hold, and the execution space of such a one."""
    service = EXPORT.service(item.value)
    return () if service is None else (f"{service.namespace}/{service.name}", item.key.namespace)


def _merged(current: JSONObject | None, wanted: JSONObject) -> JSONObject:
    """The slice as it should be, with labels and annotations of others; raises `SliceOfAnother`."""
    if current is None:
        return wanted
    mine, theirs = wanted["metadata"], current["metadata"]
    space = (theirs.get("annotations") or {}).get(annotations.WORK_NAMESPACE)
    if space != mine["annotations"][annotations.WORK_NAMESPACE]:
        which = f"EndpointSlice {theirs['namespace']}/{theirs['name']}"
        raise SliceOfAnother(f"{which} is not of {_owner(mine)}: rename the slice there")
    metadata = {
        **theirs,
        "labels": (theirs.get("labels") or {}) | mine["labels"],
        "annotations": (theirs.get("annotations") or {}) | mine["annotations"],
    }
    kept = {key: value for key, value in current.items() if key not in ("endpoints", "ports")}
    content = {key: value for key, value in wanted.items() if key != "metadata"}
    return {**kept, **content, "metadata": metadata}


def _owner(metadata: JSONObject) -> str:
    """The cluster that an imported slice is of."""
    return str(metadata["annotations"][annotations.WORK_NAMESPACE]).removeprefix(names.EXECUTION_SPACE_PREFIX)


def _is_imported(tree: JSONObject) -> bool:
    marks = tree["metadata"].get("labels") or {}
    return bool(marks.get(labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY) == labels.IMPORTED_ENDPOINT_SLICE_CONTROLLER)


def _work_of(item: Item[JSONObject]) -> Iterable[str]:
    """Index function of imported slices: the Work they were made from."""
    return map(str, _work_key(item))


def _work_key(item: Item[JSONObject]) -> list[Key]:
    noted = item.value["metadata"].get("annotations") or {}
    namespace, name = noted.get(annotations.WORK_NAMESPACE), noted.get(annotations.WORK_NAME)
    return [Key(namespace, name)] if namespace and name else []


def _works_of(change: Change[JSONObject]) -> list[Key]:
    return sorted({key for item in (change.old, change.new) if item is not None for key in _work_key(item)})


def _of_export(change: Change[Work]) -> list[Key]:
    """Works of exported slices, before or after a change of their spec, labels or deletion."""
    states = [item.value for item in (change.old, change.new) if item is not None]
    if not any(EXPORT.service(work) or finalizers.ENDPOINT_SLICE in work.metadata.finalizers for work in states):
        return []
    if len(states) == 2:
        before, after = (work.metadata for work in states)
        if (before.generation, before.labels, before.deletion_timestamp) == (
            after.generation,
            after.labels,
            after.deletion_timestamp,
        ):
            return []
    return [change.key] if cluster_of(states[0].metadata) else []
