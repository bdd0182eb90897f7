"""What an update of a template means: nothing, a change Karmada itself made, or a change by a user."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import orjson

from karmada.api import labels

_IGNORED_METADATA = ("managedFields", "resourceVersion")


class Meaning(Enum):
    """Why a template changed. Only lazy policies distinguish Karmada's own changes from a user's."""

    NOTHING = 0
    OWN = 1
    USER = 2


def meaning(old: bytes, new: bytes) -> Meaning:
    """What lies between two states of a template."""
    before, after = _relevant(old), _relevant(new)
    if before == after:
        return Meaning.NOTHING
    return Meaning.OWN if _without_bookkeeping(before) == _without_bookkeeping(after) else Meaning.USER


def _relevant(body: bytes) -> dict[str, Any]:
    tree: dict[str, Any] = orjson.loads(body)
    tree.pop("status", None)
    for field in _IGNORED_METADATA:
        tree["metadata"].pop(field, None)
    return tree


def _without_bookkeeping(tree: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(tree["metadata"])
    metadata.pop("generation", None)
    for field in ("labels", "annotations"):
        kept = _users(metadata.get(field) or {})
        if kept:
            metadata[field] = kept
        else:
            metadata.pop(field, None)
    return {**tree, "metadata": metadata}


def _users(entries: Mapping[str, str]) -> dict[str, str]:
    return {
        key: value for key, value in entries.items() if ".karmada.io" not in key or key == labels.SKIP_AUTO_PROPAGATION
    }
