"""What no decision can honour, reported by field: for conditions of bindings that were written past admission.

Policies are checked when they are written; a binding may still hold nonsense, by hand or by another version's hand.
"""

from collections.abc import Container, Iterator

from karmada.api import label_selector
from karmada.api.codec import to_tree
from karmada.api.policy.v1alpha1 import ClusterAffinity, Placement
from karmada.api.quantity import Quantity, QuantityError
from karmada.api.work.v1alpha2 import ResourceBindingSpec
from karmada.webhook.amounts import below_zero, requested
from karmada.webhook.placement import validate_placement


def has_negative(spec: ResourceBindingSpec) -> bool:
    """Whether replicas or amounts are below zero, which arithmetic would take for room."""
    return bool(below_zero(spec))


def complaint(spec: ResourceBindingSpec, clusters: Container[str]) -> str:
    """The first thing that is wrong where these clusters are known, as `field: reason`; empty when all is well."""
    return next(_complaints(spec, clusters), "")


def _complaints(spec: ResourceBindingSpec, clusters: Container[str]) -> Iterator[str]:
    yield from map(str, below_zero(spec))
    for field, value in requested(spec):
        try:
            Quantity.parse(value)
        except QuantityError as error:
            yield f'{field}: Invalid value: "{value}": {error}'
    if spec.placement is not None:
        yield from map(str, validate_placement(spec.placement, "spec.placement"))
        for field, affinity in _affinities(spec.placement):
            for unknown in [name for name in affinity.cluster_names if name not in clusters]:
                yield f'{field}.clusterNames: Not found: "{unknown}": there is no such cluster'
            if affinity.label_selector is not None:
                yield from map(str, label_selector.validate(to_tree(affinity.label_selector), f"{field}.labelSelector"))


def _affinities(placement: Placement) -> Iterator[tuple[str, ClusterAffinity]]:
    if placement.cluster_affinity is not None:
        yield "spec.placement.clusterAffinity", placement.cluster_affinity
    for index, term in enumerate(placement.cluster_affinities):
        yield f"spec.placement.clusterAffinities[{index}]", term
