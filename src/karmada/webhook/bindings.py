"""Gives bindings their permanent identity."""

from karmada.api import labels
from karmada.webhook.model import Review


def mutate_binding(review: Review) -> None:
    """Complete a ResourceBinding."""
    _identify(review, labels.RESOURCE_BINDING_PERMANENT_ID)


def mutate_cluster_binding(review: Review) -> None:
    """Complete a ClusterResourceBinding."""
    _identify(review, labels.CLUSTER_RESOURCE_BINDING_PERMANENT_ID)


def _identify(review: Review, key: str) -> None:
    metadata = review.object.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), key: review.new_id()}
    review.object.setdefault("status", {})
