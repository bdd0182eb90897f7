"""Completes Works: identity, and manifests free of what belongs to the control plane."""

import orjson

from karmada.api import labels
from karmada.webhook.model import Denied, Review
from karmada.works.manifest import merge_labels, record_managed_annotations, record_managed_labels
from karmada.works.prune import prune


def mutate_work(review: Review) -> None:
    """Complete a Work."""
    metadata = review.object.setdefault("metadata", {})
    marks = metadata.get("labels") or {}
    permanent_id = marks.get(labels.WORK_PERMANENT_ID)
    if not permanent_id:
        permanent_id = review.new_id()
        metadata["labels"] = {**marks, labels.WORK_PERMANENT_ID: permanent_id}
    review.object.setdefault("status", {})
    workload = (review.object.get("spec") or {}).get("workload") or {}
    for manifest in workload.get("manifests") or []:
        if not manifest.get("kind"):
            text = orjson.dumps(manifest).decode()
            raise Denied(f"Object 'Kind' is missing in '{text}'", code=500, reason="")
        prune(manifest)
        record_managed_annotations(manifest)
        merge_labels(manifest, {labels.WORK_PERMANENT_ID: permanent_id})
        record_managed_labels(manifest)
