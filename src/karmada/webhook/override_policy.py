"""Completes override policies: selectors of a namespaced one stay in its namespace."""

from karmada.webhook.model import Review


def mutate_override_policy(review: Review) -> None:
    """Complete an OverridePolicy."""
    spec = review.object.setdefault("spec", {})
    spec.setdefault("overriders", {})
    for selector in spec.get("resourceSelectors") or []:
        if not selector.get("namespace"):
            selector["namespace"] = review.namespace
