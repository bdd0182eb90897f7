"""Limits of a policy's lists: each entry is compared with all clusters, with every object, or looked for with each.

What is stored stays as it is: a spec is judged when it changes.
"""

from collections.abc import Iterable, Sequence

from karmada.api.field_errors import FieldError, forbidden, too_many
from karmada.api.label_selector import size
from karmada.api.policy.v1alpha1 import Placement, ResourceSelector
from karmada.webhook.model import Review

MOST_TERMS = 100
"""Affinity terms of a placement, those they overflow to included: each is a decision about all clusters."""
MOST_SELECTORS = 1000
"""Selectors of a policy that look at labels: they are compared with every object of their kind."""
MOST_LABELS = 10_000
"""Labels, expressions and values of all these selectors together: to compare them takes some 50 ms."""
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
    by_labels = [one.label_selector for one in selectors if one.label_selector is not None and not one.name]
    if len(by_labels) > MOST_SELECTORS:
        errors.append(too_many("spec.resourceSelectors", len(by_labels), MOST_SELECTORS))
    count = sum(map(size, by_labels))
    if count > MOST_LABELS:
        detail = (
            f"the label selectors have {count} labels, expressions and values together, and must have at most "
            f"{MOST_LABELS}: select by fewer, by name, or in several policies"
        )
        errors.append(forbidden("spec.resourceSelectors", detail))
    if len(awaited) > MOST_AWAITED:
        errors.append(too_many("spec.dependentOverrides", len(awaited), MOST_AWAITED))
    return errors
