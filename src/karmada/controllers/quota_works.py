"""Which Works carry the ResourceQuotas of a FederatedResourceQuota."""

from collections.abc import Iterable

from karmada.api import labels, names
from karmada.api.work.v1alpha1 import Work
from karmada.machinery.informers.cache import Item, Key
from karmada.works.owner import recorded

OF_QUOTA = "of-federated-resource-quota"


def owner_of(work: Work) -> Key | None:
    """The quota a Work was made for.

    Labels alone prove nothing: the Work must be called as that quota's Works are, lie in an execution space, and not
    belong to a binding.
    """
    marks = work.metadata.labels
    name = marks.get(labels.FEDERATED_RESOURCE_QUOTA_NAME)
    namespace = marks.get(labels.FEDERATED_RESOURCE_QUOTA_NAMESPACE)
    if not name or not namespace or not work.metadata.namespace.startswith(names.EXECUTION_SPACE_PREFIX):
        return None
    if work.metadata.name != work_name(Key(namespace, name)) or recorded(work.metadata):
        return None
    return Key(namespace, name)


def of_quota(item: Item[Work]) -> Iterable[str]:
    """Index function of Works: the quota they were made for."""
    owner = owner_of(item.value)
    return () if owner is None else (str(owner),)


def work_name(quota: Key) -> str:
    """The name of a quota's Works; each lies in the namespace of its cluster."""
    return names.work_name("ResourceQuota", quota.name, quota.namespace)
