"""Limits of a policy's lists: each entry is compared with all clusters, with every object, or looked for with each.

What is stored stays as it is: a spec is judged when it changes.
"""

from collections.abc import Iterable, Sequence

from karmada.api.field_errors import FieldError, too_many
from karmada.api.policy.v1alpha1 import Placement, ResourceSelector
from karmada.webhook.model import Review

MOST_TERMS = 100
"""Affinity terms of a placement, those they overflow to included: each is a decision about all clusters."""
MOST_SELECTORS = 1000
"""Selectors of a policy that look at labels: they are compared with every object of their kind."""
MOST_AWAITED = 1000
"""Override policies that a policy waits for: they are looked for whenever one of its templates is looked at."""


def limit_errors(
    review: Review,
    selectors: Iterable[ResourceSelector],
    placement: Placement | None = None,
    awaited: Sequence[str] = (),
) -> list[FieldError]:
    """Field errors of a new or changed policy that exceeds a limit."""
    if review.old is not None and review.old.get("spec") == review.object.get("spec"):
        return []
    errors = []
    terms = placement.cluster_affinities if placement is not None else ()
    count = len(terms) + sum(len(term.overflow_affinities) for term in terms)
    if count > MOST_TERMS:
        errors.append(too_many("spec.placement.clusterAffinities", count, MOST_TERMS))
    count = sum(1 for selector in selectors if selector.label_selector is not None and not selector.name)
    if count > MOST_SELECTORS:
        errors.append(too_many("spec.resourceSelectors", count, MOST_SELECTORS))
    if len(awaited) > MOST_AWAITED:
        errors.append(too_many("spec.dependentOverrides", len(awaited), MOST_AWAITED))
    return errors
