"""Service import: a ServiceImport gets the Service `derived-NAME` that its importers call, and says who exports it.

The derived Service has no selector: its endpoints are the imported slices. One with a selector is somebody's own and is
left alone.
"""

from collections.abc import Iterable

import msgspec

from karmada.api import events, labels, names
from karmada.api.multicluster.v1alpha1 import ClusterStatus, ServiceImport, ServiceImportStatus, ServiceImportType
from karmada.controllers.context import Context
from karmada.controllers.endpointslice_import import IMPORTED
from karmada.controllers.slice_collection import SLICES
from karmada.machinery.committer import Committer, Created, Written
from karmada.machinery.controller import DONE, Controller, Result, Retry
from karmada.machinery.errors import ApiError
from karmada.machinery.events import ObjectReference
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.works.slices import clusters_of

COMPONENT = "service-import-controller"
SERVICES = GroupVersionResource("", "v1", "services")
OF_DERIVED = "of-derived-service"
_PREFIX = names.derived_service("")


class ServiceOfAnother(Exception):
    """The Service that should be derived exists and is not derived."""


class ServiceImportController:
    """Keeps derived Services at their ServiceImports, and the list of exporting clusters at the imported slices."""

    def __init__(self, context: Context) -> None:
        self._imports: Informer[ServiceImport] = context.informers.of(ServiceImport)
        self._services = context.informers.resource(SERVICES)
        self._slices = context.informers.resource(SLICES, IMPORTED)
        self._slices.add_index(OF_DERIVED, _derived_service)
        self._server = context.client.of(ServiceImport)
        self._commit = Committer(self._server)
        self._commit_service = Committer(context.client.resource(SERVICES))
        self._recorder = context.recorder(COMPONENT)
        self.controller: Controller[Key] = Controller(
            COMPONENT,
            self.reconcile,
            needs=(self._imports, self._services, self._slices),
            lane=lambda key: key.namespace,
            retries=context.retries,
            clock=context.clock,
        )
        self.controller.watch(self._imports, _spec_changed)
        self.controller.watch(self._services, self._derived_changed)
        self.controller.watch(self._slices, self._slice_changed)

    async def reconcile(self, key: Key) -> Result:
        """Bring the derived Service and the status of one ServiceImport up to date."""
        wanted = self._imports.get(key.name, key.namespace)
        if wanted is None or wanted.metadata.deletion_timestamp is not None:
            if wanted is not None or await self._server.is_gone(key.name, key.namespace):
                await self._remove(key)
            return DONE
        if wanted.spec is None or wanted.spec.type != ServiceImportType.CLUSTER_SET_IP:
            return DONE
        about = ObjectReference.to(wanted)
        try:
            written = await self._derive(wanted)
        except (ApiError, ServiceOfAnother) as error:
            self._recorder.event(about, events.WARNING, events.SYNC_DERIVED_SERVICE.failed, str(error))
            return Retry(str(error))
        if written:
            text = f"Sync derived service for serviceImport({key.name}) succeed."
            self._recorder.event(about, events.NORMAL, events.SYNC_DERIVED_SERVICE.succeeded, text)
        await self._report(wanted)
        return DONE

    async def _derive(self, wanted: ServiceImport) -> bool:
        """Write the derived Service and its status; whether anything had to be written."""
        name, namespace = names.derived_service(wanted.metadata.name), wanted.metadata.namespace
        seen = self._services.get(name, namespace)
        outcome = await self._commit_service.ensure(name, namespace, lambda current: derived(current, wanted), seen)
        if not isinstance(outcome, Created | Written) and seen is not None:
            outcome = await self._commit_service.commit(seen, lambda current: _with_ingress(current, wanted))
        elif isinstance(outcome, Created | Written):
            await self._commit_service.commit(outcome.value, lambda current: _with_ingress(current, wanted))
        return isinstance(outcome, Created | Written)

    async def _remove(self, key: Key) -> None:
        service = self._services.get(names.derived_service(key.name), key.namespace)
        if service is not None:
            await self._commit_service.remove(service, _is_derived)

    async def _report(self, wanted: ServiceImport) -> None:
        service = f"{wanted.metadata.namespace}/{names.derived_service(wanted.metadata.name)}"
        exporting = clusters_of(self._slices.indexed(OF_DERIVED, service))
        status = ServiceImportStatus(clusters=tuple(ClusterStatus(cluster=name) for name in exporting))
        await self._commit.commit(wanted, lambda current: msgspec.structs.replace(current, status=status))

    def _derived_changed(self, change: Change[JSONObject]) -> list[Key]:
        """The import of a derived Service that was changed or deleted by others."""
        namespace, name = change.key
        if change.initial or change.old is None or not name.startswith(_PREFIX):
            return []
        return self._known(Key(namespace, name.removeprefix(_PREFIX)))

    def _slice_changed(self, change: Change[JSONObject]) -> list[Key]:
        """The import whose exporters may have changed: slices come and go with exports, endpoints do not matter."""
        if change.old is not None and change.new is not None:
            return []
        services = (Key(*service.split("/")) for service in _derived_service(change.item))
        return [key for one in services for key in self._known(Key(one.namespace, one.name.removeprefix(_PREFIX)))]

    def _known(self, key: Key) -> list[Key]:
        """The import of that name, if there is one: without it the Service is nobody's derived one."""
        return [key] if self._imports.has_synced and self._imports.item(key) is not None else []


def derived(current: JSONObject | None, wanted: ServiceImport) -> JSONObject:
    """The derived Service as it should be; raises `ServiceOfAnother`."""
    metadata = wanted.metadata
    spec: JSONObject = {"type": "ClusterIP", "ports": _ports(wanted)}
    if current is None:
        which = {"name": names.derived_service(metadata.name), "namespace": metadata.namespace}
        return {"apiVersion": "v1", "kind": "Service", "metadata": which, "spec": spec}
    if not _is_derived(current):
        name = f"{metadata.namespace}/{names.derived_service(metadata.name)}"
        raise ServiceOfAnother(f"Service {name} has a selector and is not derived: rename it or the ServiceImport")
    return {**current, "spec": {**current["spec"], **spec}}


def _is_derived(service: JSONObject) -> bool:
    return not (service.get("spec") or {}).get("selector")


def _ports(wanted: ServiceImport) -> list[JSONObject]:
    """The ports with the values that the API server would add: what it stores is then as wanted."""
    return [
        {
            **({"name": port.name} if port.name else {}),
            "protocol": port.protocol or "TCP",
            "port": port.port,
            "targetPort": port.port,
            **({"appProtocol": port.app_protocol} if port.app_protocol is not None else {}),
        }
        for port in (wanted.spec.ports if wanted.spec is not None else ())
    ]


def _with_ingress(service: JSONObject, wanted: ServiceImport) -> JSONObject:
    ips = wanted.spec.ips if wanted.spec is not None else ()
    status = service.get("status") or {}
    balancer = dict(status.get("loadBalancer") or {})
    before = [entry.get("ip") for entry in balancer.get("ingress") or ()]
    if before == list(ips):
        return service
    balancer["ingress"] = [{"ip": ip} for ip in ips]
    return {**service, "status": {**status, "loadBalancer": balancer}}


def _spec_changed(change: Change[ServiceImport]) -> list[Key]:
    if change.old is not None and change.new is not None:
        before, after = change.old.value, change.new.value
        same = before.spec == after.spec and before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
        return [] if same else [change.key]
    return [change.key]


def _derived_service(item: Item[JSONObject]) -> Iterable[str]:
    """Index function of imported slices: the derived Service they are of."""
    name = (item.value["metadata"].get("labels") or {}).get(labels.KUBERNETES_SERVICE_NAME) or ""
    return (f"{item.key.namespace}/{name}",) if name.startswith(_PREFIX) else ()
