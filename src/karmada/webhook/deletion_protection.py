"""Refuses to delete what a label protects, whatever its kind."""

from karmada.api import labels
from karmada.webhook.model import Denied, Review

ALWAYS = "Always"


async def validate_deletion(review: Review) -> None:
    """Judge a deletion."""
    marks = ((review.old or review.object).get("metadata") or {}).get("labels") or {}
    if marks.get(labels.DELETION_PROTECTED) == ALWAYS:
        raise Denied("This resource is protected, please make sure to remove the label: " + labels.DELETION_PROTECTED)
