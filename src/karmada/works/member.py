"""A manifest meets the object that is already in the member: whose is it, what of it stays, and is there a change.

The member keeps its resourceVersion, finalizers, owners, and every label and annotation that Karmada did not set.
Kind-specific retention is the interpreter's and comes after `merge_observed`.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from karmada.api import annotations, labels, management
from karmada.works.prune import prune, prune_metadata

JSONObject = dict[str, Any]

_KEPT = ("resourceVersion", "finalizers", "ownerReferences")


class NotOurs(Exception):
    """The object exists, is not managed by Karmada, and the policy does not say to take it over."""


def is_owned(manifest: Mapping[str, Any], observed: Mapping[str, Any]) -> bool:
    """Whether the object is Karmada's: it says so, or it belongs to a Work that was written by hand.

    Manifests of such a Work say nothing of Karmada, and their objects carry nothing but the Work's id.
    """
    mine, theirs = _labels(manifest), _labels(observed)
    if theirs.get(labels.MANAGED) == "true":
        return True
    own = mine.get(labels.WORK_PERMANENT_ID)
    return labels.MANAGED not in mine and bool(own) and theirs.get(labels.WORK_PERMANENT_ID) == own


def of_another_work(manifest: Mapping[str, Any], observed: Mapping[str, Any]) -> bool:
    """Whether the object was written for another Work than the manifest's: a successor under the same name."""
    mine, theirs = _labels(manifest).get(labels.WORK_PERMANENT_ID), _labels(observed).get(labels.WORK_PERMANENT_ID)
    return bool(mine and theirs and mine != theirs)


def require_ours(desired: Mapping[str, Any], observed: Mapping[str, Any], cluster: str) -> None:
    """Raise `NotOurs` unless the object is owned or may be taken over."""
    strategy = _annotations(desired).get(annotations.CONFLICT_RESOLUTION)
    if is_owned(desired, observed) or strategy == annotations.CONFLICT_OVERWRITE:
        return
    metadata = observed.get("metadata") or {}
    where = "/".join(part for part in (metadata.get("namespace", ""), metadata.get("name", "")) if part)
    raise NotOurs(
        f"resource(kind={observed.get('kind')}, {where}) already exists in the cluster {cluster} and the "
        f"{annotations.CONFLICT_RESOLUTION} strategy value is empty, Karmada will not manage this resource"
    )


def merge_observed(desired: JSONObject, observed: JSONObject) -> None:
    """Take over into `desired` what belongs to the member whatever the kind."""
    mine = desired.setdefault("metadata", {})
    theirs = observed.get("metadata") or {}
    for field in _KEPT:
        if theirs.get(field):
            mine[field] = theirs[field]
        else:
            mine.pop(field, None)
    noted = _annotations(observed)
    _merge(mine, "labels", _labels(observed), noted.get(annotations.MANAGED_LABELS, ""))
    _merge(mine, "annotations", noted, noted.get(annotations.MANAGED_ANNOTATIONS, ""))


def is_unchanged(final: JSONObject, observed: JSONObject) -> bool:
    """Whether sending `final` would change nothing. What is pruned is a copy: retained parts are in both trees."""
    kept = dict(final)
    kept["metadata"] = dict(final.get("metadata") or {})
    prune_metadata(kept)
    kept.pop("status", None)
    present = orjson.loads(orjson.dumps(observed))
    prune(present)
    if noted := _annotations(observed):
        # Those that are no part of a manifest, such as a Deployment's revision, are the member's in both trees.
        present["metadata"]["annotations"] = noted
    return bool(kept == present)


def released(observed: JSONObject) -> JSONObject:
    """The object without Karmada's bookkeeping, for one that stays when its Work goes. How conflicts are resolved is
    a wish, not bookkeeping, and stays."""
    metadata = dict(observed.get("metadata") or {})
    _drop_all(metadata, "labels", management.LABELS)
    _drop_all(metadata, "annotations", management.ANNOTATIONS)
    return {**observed, "metadata": metadata}


def _merge(mine: JSONObject, field: str, theirs: Mapping[str, str], managed: str) -> None:
    ours = mine.get(field) or {}
    once_ours = set(managed.split(",")) if managed else set()
    kept = {key: value for key, value in theirs.items() if key not in ours and key not in once_ours}
    if ours or kept:
        mine[field] = {**kept, **ours}


def _drop_all(metadata: JSONObject, field: str, keys: tuple[str, ...]) -> None:
    left = {key: value for key, value in (metadata.get(field) or {}).items() if key not in keys}
    if left:
        metadata[field] = left
    else:
        metadata.pop(field, None)


def _labels(tree: Mapping[str, Any]) -> Mapping[str, str]:
    return (tree.get("metadata") or {}).get("labels") or {}


def _annotations(tree: Mapping[str, Any]) -> Mapping[str, str]:
    return (tree.get("metadata") or {}).get("annotations") or {}
