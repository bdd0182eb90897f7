"""Warnings about policies that are accepted and will not do what they seem to say.

Clusters and kinds that do not exist (yet: both may come later, so nothing is refused), and fields that need a feature
gate which is off. Advice is given when the spec changes; where nobody can be asked, none is given.
"""

from collections.abc import Iterator

from karmada.api.policy.v1alpha1 import (
    ClusterAffinity,
    OverrideSpec,
    Placement,
    PropagationSpec,
    ResourceSelector,
)
from karmada.machinery.errors import ApiError
from karmada.policies.binding import withheld_fields
from karmada.policies.gated_fields import gated_fields
from karmada.webhook.model import Inventory, Review

MOST = 50
"""Names that are looked up for one policy."""


async def advise_policy(review: Review, spec: PropagationSpec) -> None:
    """Warn about a propagation policy."""
    if _spec_changed(review):
        review.warnings += gated_fields(spec, review.gates)
        if (review.object.get("metadata") or {}).get("namespace"):
            review.warnings += withheld_fields(spec)
        await _advise(review, list(_placed(spec.placement)), spec.resource_selectors)


async def advise_overrides(review: Review, spec: OverrideSpec) -> None:
    """Warn about an override policy."""
    if _spec_changed(review):
        found = list(_of("spec.targetCluster", spec.target_cluster))
        for index, rule in enumerate(spec.override_rules):
            found += _of(f"spec.overrideRules[{index}].targetCluster", rule.target_cluster)
        await _advise(review, found, spec.resource_selectors)


def _spec_changed(review: Review) -> bool:
    return review.old is None or review.old.get("spec") != review.object.get("spec")


def _placed(placement: Placement) -> Iterator[tuple[str, str]]:
    path = "spec.placement"
    yield from _of(f"{path}.clusterAffinity", placement.cluster_affinity)
    for index, term in enumerate(placement.cluster_affinities):
        yield from _of(f"{path}.clusterAffinities[{index}]", term)
        for number, overflow in enumerate(term.overflow_affinities):
            yield from _of(f"{path}.clusterAffinities[{index}].overflowAffinities[{number}]", overflow)
    scheduling = placement.replica_scheduling
    weights = scheduling.weight_preference.static_weight_list if scheduling and scheduling.weight_preference else ()
    for index, weight in enumerate(weights):
        where = f"{path}.replicaScheduling.weightPreference.staticWeightList[{index}].targetCluster"
        yield from _of(where, weight.target_cluster)


def _of(path: str, affinity: ClusterAffinity | None) -> Iterator[tuple[str, str]]:
    """The names that an affinity has, with the field that holds them."""
    if affinity is not None:
        yield from ((f"{path}.clusterNames", name) for name in affinity.cluster_names)
        yield from ((f"{path}.exclude", name) for name in affinity.exclude)


async def _advise(review: Review, clusters: list[tuple[str, str]], selectors: tuple[ResourceSelector, ...]) -> None:
    if review.inventory is None:
        return
    try:
        review.warnings += await _unknown(review.inventory, clusters, selectors)
    except ApiError:
        return  # advice is worth no refusal


async def _unknown(
    inventory: Inventory, clusters: list[tuple[str, str]], selectors: tuple[ResourceSelector, ...]
) -> list[str]:
    found: list[str] = []
    for name, field in {name: field for field, name in reversed(clusters[:MOST])}.items():
        if not await inventory.has_cluster(name):
            found.append(f'{field}: there is no cluster "{name}"')
    found.reverse()
    for index, selector in enumerate(selectors[:MOST]):
        if not await inventory.serves(selector.api_version, selector.kind):
            where = f"spec.resourceSelectors[{index}]"
            found.append(f'{where}: the control plane serves no kind "{selector.kind}" in "{selector.api_version}"')
    return found
