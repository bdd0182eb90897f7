"""What keeps replicas out of a cluster that fits: the resource there is least of, what one replica asks for, what is
free."""

from typing import NamedTuple

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.quantity import QuantityError
from karmada.api.work.v1alpha2 import ResourceBindingSpec
from karmada.scheduler.core.amounts import PODS, requested
from karmada.scheduler.core.estimation import Capacity

_UNITS = ((1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"))
_BYTES = ("memory", "storage", "ephemeral-storage", "hugepages-")


class Shortage(NamedTuple):
    """The resource that limits the replicas in a cluster."""

    resource: str
    wanted: str
    """By one replica."""
    free: str
    fits: int
    """Replicas."""
    scattered: bool = False
    """Whether grades of nodes or an estimator know of less room than is free in all."""

    @property
    def amounts(self) -> str:
        """What one replica asks for, and what there is."""
        scattered = " in all, but not on one node by its grades of nodes or its estimator" if self.scattered else ""
        return f"a replica asks for {self.resource} {self.wanted}, {self.free} free{scattered}"

    def __str__(self) -> str:
        return f"room for {self.fits}: {self.amounts}"


def shortage(spec: ResourceBindingSpec, cluster: Cluster) -> Shortage | None:
    """What limits the replicas of a workload in a cluster, by what the cluster reports; None for sets of components."""
    if spec.components:
        return None
    requirements = spec.replica_requirements
    try:
        needs = dict(requested(requirements.resource_request)) if requirements is not None else {}
    except QuantityError:
        return None
    capacity = Capacity(cluster)
    found = [Shortage(PODS, "1", str(max(0, capacity.pods)), max(0, capacity.pods))]
    for name, number in needs.items():
        free = capacity.free(name)
        found.append(Shortage(name, spelled(name, number), spelled(name, free), free // number))
    return min(found, key=lambda one: one.fits)


def spelled(resource: str, number: int) -> str:
    """An amount as people write it."""
    if resource == "cpu":
        return f"{number}m" if number % 1000 else str(number // 1000)
    if resource.startswith(_BYTES):
        for unit, name in _UNITS:
            if number >= unit:
                return f"{number / unit:.1f}".removesuffix(".0") + name
    return str(number)
