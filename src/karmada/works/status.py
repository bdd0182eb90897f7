"""What the Works of a binding say about it: one item per cluster, and whether everything arrived."""

from collections.abc import Iterable

from karmada.api import conditions, names
from karmada.api.base import ABSENT
from karmada.api.meta import find_condition, is_true
from karmada.api.work.v1alpha1 import ManifestStatus, Work
from karmada.api.work.v1alpha2 import AggregatedStatusItem, ObjectReference, ResourceBindingSpec
from karmada.machinery.limits import STATUS
from karmada.works.build import keep_set


def aggregate(works: Iterable[Work], resource: ObjectReference) -> tuple[AggregatedStatusItem, ...]:
    """One item per cluster, by cluster name. Works that are being deleted do not count; statuses that are too large to
    be reported are left out, whoever wrote them into a Work."""
    items = [_item(work, resource) for work in works if work.metadata.deletion_timestamp is None]
    return tuple(sorted(items, key=lambda item: item.cluster_name))


def counted(works: Iterable[Work], spec: ResourceBindingSpec) -> list[Work]:
    """The Works that speak for a binding: of clusters it names, and called as its Works are.

    A Work's labels prove nothing: whoever may write Works of one cluster can give them any binding's.
    """
    spaces = {names.execution_space(cluster) for cluster in keep_set(spec)}
    name = names.work_name(spec.resource.kind, spec.resource.name, spec.resource.namespace)
    return [work for work in works if work.metadata.namespace in spaces and work.metadata.name == name]


def is_fully_applied(spec: ResourceBindingSpec, items: tuple[AggregatedStatusItem, ...]) -> bool:
    """Whether every cluster that should have the resource has it."""
    wanted = keep_set(spec)
    return bool(wanted) and len(items) == len(wanted) and all(item.applied for item in items)


def is_applied(work: Work) -> bool:
    """Whether a Work says that its objects are in the member."""
    return is_true(work.status.conditions, conditions.APPLIED)


def _item(work: Work, resource: ObjectReference) -> AggregatedStatusItem:
    cluster = names.cluster_of_execution_space(work.metadata.namespace)
    applied = find_condition(work.status.conditions, conditions.APPLIED)
    if applied is None or applied.status != "True":
        message = applied.message if applied else ""
        return AggregatedStatusItem(cluster_name=cluster, applied_message=message, health="Unknown")
    found = manifest_status(work, resource)
    if found is None:
        return AggregatedStatusItem(cluster_name=cluster, applied=True, health="Unknown")
    status = found.status if len(memoryview(found.status)) <= STATUS else ABSENT
    return AggregatedStatusItem(cluster_name=cluster, applied=True, status=status, health=found.health or "Unknown")


def manifest_status(work: Work, resource: ObjectReference) -> ManifestStatus | None:
    """What a member reported last of the object of a Work; None if nothing yet."""
    for status in work.status.manifest_statuses:
        which = status.identifier
        version = f"{which.group}/{which.version}" if which.group else which.version
        if (version, which.kind, which.namespace, which.name) == (
            resource.api_version,
            resource.kind,
            resource.namespace,
            resource.name,
        ):
            return status
    return None
