"""EndpointSlice collection for MultiClusterServices: the slices of their Services in provider clusters.

The multiclusterservice controller marks each provider by a Work that holds the MultiClusterService and is never
dispatched; agents see no more of it than that.
"""

from collections.abc import Iterable

from karmada.api import labels, names
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.context import Context
from karmada.controllers.slice_collection import SliceCollection
from karmada.machinery.informers.informer import Informer
from karmada.membership.members import Member, Members
from karmada.works.slices import MULTI_CLUSTER, MemberKey, cluster_of

COMPONENT = "endpointslice-collect-controller"


class EndpointSliceCollector:
    """Collects the slices of the Services whose providers are marked."""

    def __init__(self, context: Context, members: Members, works: Informer[Work]) -> None:
        self._works = works
        self.controller = SliceCollection(
            COMPONENT, context, members, works, MULTI_CLUSTER, self._is_marked, marked_by
        ).controller

    def _is_marked(self, _: Member, key: MemberKey) -> bool:
        marker = self._works.get(marker_name(key.namespace, key.name), names.execution_space(key.cluster))
        return marker is not None and key in marked_by(marker)


def marker_name(namespace: str, name: str) -> str:
    """The name of the Works that mark the providers of a MultiClusterService."""
    return names.work_name("MultiClusterService", name, namespace)


def marked_by(work: Work) -> Iterable[MemberKey]:
    """The Service whose provider a Work marks; none when it is being deleted, or is no marker."""
    marks = work.metadata.labels
    name = marks.get(labels.MULTI_CLUSTER_SERVICE_NAME)
    namespace = marks.get(labels.MULTI_CLUSTER_SERVICE_NAMESPACE)
    cluster = cluster_of(work.metadata)
    if not name or not namespace or not cluster or work.metadata.deletion_timestamp is not None:
        return ()
    return (MemberKey(cluster, namespace, name),) if work.metadata.name == marker_name(namespace, name) else ()
