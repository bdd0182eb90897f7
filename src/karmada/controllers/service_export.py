"""Service export: collects the EndpointSlices of the Services that a member exports.

A member is followed as soon as a ServiceExport was applied there, or slices of it were collected before.
"""

import contextlib
from collections.abc import Iterable

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.context import Context
from karmada.controllers.member_watches import MemberWatches
from karmada.controllers.slice_collection import SliceCollection
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.members import Member, Members
from karmada.works.slices import EXPORT, MemberKey, cluster_of
from karmada.works.status import is_applied

COMPONENT = "service-export-controller"
EXPORTS = GroupVersionResource("multicluster.x-k8s.io", "v1alpha1", "serviceexports")
_API_VERSION, _KIND = "multicluster.x-k8s.io/v1alpha1", "ServiceExport"


class _Metadata(msgspec.Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class _Head(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _Metadata = _Metadata()


_head = msgspec.json.Decoder(_Head)


class ServiceExportController:
    """Collects the slices of exported Services, for as long as they are exported."""

    def __init__(self, context: Context, members: Members, works: Informer[Work]) -> None:
        clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._collection = SliceCollection(COMPONENT, context, members, works, EXPORT, self._is_exported, exports_of)
        self.controller = self._collection.controller
        self.collected = self._collection.index
        """Name of the index of Works by the Service whose slices they hold."""
        self._watches = MemberWatches(clusters, self._exports_changed, lambda name, *_: self._collection.loaded(name))

    def _is_exported(self, member: Member, key: MemberKey) -> bool | None:
        exports = member.informer(EXPORTS)
        self._watches.follow(member.name, EXPORTS, exports)
        return exports.item(Key(key.namespace, key.name)) is not None if exports.has_synced else None

    def _exports_changed(self, cluster: str, _: GroupVersionResource, changes: list[Change[JSONObject]]) -> None:
        for change in changes:
            self.controller.enqueue(MemberKey(cluster, *change.key))


def exports_of(work: Work) -> Iterable[MemberKey]:
    """The Services that a Work has brought ServiceExports for into its cluster."""
    cluster = cluster_of(work.metadata)
    for manifest in work.spec.workload.manifests if cluster else ():
        # Almost no Work holds one: only those are decoded.
        if b'"ServiceExport"' not in memoryview(manifest).tobytes() or not is_applied(work):
            continue
        with contextlib.suppress(msgspec.DecodeError):
            head = _head.decode(manifest)
            if (head.api_version, head.kind) == (_API_VERSION, _KIND):
                yield MemberKey(cluster, head.metadata.namespace, head.metadata.name)
