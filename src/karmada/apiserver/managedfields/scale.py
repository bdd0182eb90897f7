"""Ownership seen through the scale subresource.

A scale write is a write of one field of the scaled object, tracked there with the subresource's name; a `Scale` shows
the entries that own this field as if they owned `.spec.replicas`.
"""

from typing import Any

from karmada.apiserver.managedfields.entries import Entry
from karmada.apiserver.managedfields.fieldset import EMPTY

_REPLICAS = {"f:spec": {"f:replicas": EMPTY}}


def scale_entries(entries: list[Entry], replicas_path: str = ".spec.replicas") -> list[Entry]:
    """managedFields of the Scale of an object with these entries."""
    keys = ["f:" + key for key in replicas_path.strip(".").split(".")]
    return [{**entry, "apiVersion": "autoscaling/v1", "fieldsV1": _REPLICAS} for entry in entries if _has(entry, keys)]


def scale_config(parent: dict[str, Any], replicas: int, replicas_path: str = ".spec.replicas") -> dict[str, Any]:
    """The configuration that applying a Scale means for the scaled object."""
    name = {key: parent["metadata"][key] for key in ("name", "namespace") if key in parent["metadata"]}
    config: dict[str, Any] = {"apiVersion": parent["apiVersion"], "kind": parent["kind"], "metadata": name}
    *outer, last = replicas_path.strip(".").split(".")
    target = config
    for key in outer:
        target = target.setdefault(key, {})
    target[last] = replicas
    return config


def _has(entry: Entry, keys: list[str]) -> bool:
    tree = entry["fieldsV1"]
    for key in keys:
        tree = tree.get(key)
        if tree is None:
            return False
    return True
