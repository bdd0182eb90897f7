"""Ownership through the scale subresource: one field of the scaled object, owned there with the subresource's name.

Entries made through this subresource carry no time, and a `Scale` shows no managedFields of its own.
"""

from typing import Any

JSONObject = dict[str, Any]


def scale_config(parent: JSONObject, replicas: int, replicas_path: str = ".spec.replicas") -> JSONObject:
    """The configuration of the scaled object that applying a Scale to it means."""
    name = {key: parent["metadata"][key] for key in ("name", "namespace") if key in parent["metadata"]}
    config: JSONObject = {"apiVersion": parent["apiVersion"], "kind": parent["kind"], "metadata": name}
    *outer, last = replicas_path.strip(".").split(".")
    target = config
    for key in outer:
        target = target.setdefault(key, {})
    target[last] = replicas
    return config
