"""What a member's copy carries so that it can be found, owned and merged: labels and annotations.

The two `managed-*` annotations list the keys Karmada set. A key that disappears from the template disappears from
the member only if it is in the member copy's lists; everything else there belongs to the member.
"""

from collections.abc import Mapping
from typing import Any

from karmada.api import annotations, labels

JSONObject = dict[str, Any]


def merge_labels(manifest: JSONObject, added: Mapping[str, str]) -> None:
    """Set labels."""
    metadata = manifest.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **added}


def merge_annotations(manifest: JSONObject, added: Mapping[str, str]) -> None:
    """Set annotations."""
    metadata = manifest.setdefault("metadata", {})
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **added}


def record_managed_annotations(manifest: JSONObject) -> None:
    """Write the list of annotation keys, which always has both lists themselves."""
    present = (manifest.get("metadata") or {}).get("annotations") or {}
    keys = {*present, annotations.MANAGED_ANNOTATIONS, annotations.MANAGED_LABELS}
    merge_annotations(manifest, {annotations.MANAGED_ANNOTATIONS: ",".join(sorted(keys))})


def record_managed_labels(manifest: JSONObject) -> None:
    """Write the list of label keys."""
    present = (manifest.get("metadata") or {}).get("labels") or {}
    merge_annotations(manifest, {annotations.MANAGED_LABELS: ",".join(sorted(present))})


def stamp(manifest: JSONObject, work_namespace: str, work_name: str, uid: str, conflict_resolution: str) -> None:
    """Mark a manifest as a Work's; `uid` is the template's. The lists of managed keys are to be written after that."""
    merge_labels(manifest, {labels.MANAGED: "true"})
    stamped = {
        annotations.TEMPLATE_UID: uid,
        annotations.WORK_NAMESPACE: work_namespace,
        annotations.WORK_NAME: work_name,
    }
    if conflict_resolution:
        stamped[annotations.CONFLICT_RESOLUTION] = conflict_resolution
    merge_annotations(manifest, stamped)


def record_managed(manifest: JSONObject) -> None:
    """Write both lists of managed keys."""
    record_managed_annotations(manifest)
    record_managed_labels(manifest)
