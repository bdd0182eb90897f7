"""Random changes of an object along the schema of its kind."""

import copy
import itertools
from random import Random
from typing import Any

from karmada.apiserver.schema.model import Schema
from karmada.testing.differential.kube.values import random_value, wrong_value

_SKIPPED = (
    *("apiVersion", "kind", "managedFields", "name", "namespace", "uid", "resourceVersion", "creationTimestamp"),
    "ownerReferences",  # a garbage collector is part of our server only
)
_METADATA = ("labels", "annotations", "finalizers", "generateName", "deletionTimestamp")

Path = tuple[str | int, ...]


def mutated(dice: Random, obj: Any, schema: Schema, times: int, within: str = "") -> Any:
    """A copy with so many random changes; `within` keeps them in one top-level field."""
    made = copy.deepcopy(obj)
    for _ in range(times):
        _mutate(dice, made, schema, within)
    return made


def _mutate(dice: Random, obj: Any, schema: Schema, within: str) -> None:
    holder, node, name = obj, schema, ""
    fields = [key for key in node.properties or {} if key not in ("apiVersion", "kind", "status")]
    first = within or dice.choice(fields if dice.random() < 0.15 else [f for f in fields if f != "metadata"] or fields)
    path: list[str | int] = [first]
    node = (node.properties or {})[first]
    while dice.random() < 0.85 and (step := _step(dice, _at(holder, path), node, path[-1])) is not None:
        key, node = step
        path.append(key)
    name = next((str(part) for part in reversed(path) if isinstance(part, str)), "")
    _change(dice, holder, path, node, name)


def _step(dice: Random, value: Any, node: Schema, name: str | int) -> tuple[str | int, Schema] | None:
    if node.type == "array" and node.items is not None:
        return (dice.randrange(len(value)), node.items) if isinstance(value, list) and value else None
    if node.properties:
        allowed = [key for key in node.properties if key not in _SKIPPED or name != "metadata"]
        present = [key for key in allowed if isinstance(value, dict) and key in value]
        key = dice.choice(present if present and dice.random() < 0.6 else allowed or ["labels"])
        if name == "metadata" and dice.random() < 0.7:
            key = dice.choice([key for key in _METADATA if key in node.properties])
        return key, node.properties[key]
    if node.additional is not None and isinstance(value, dict) and value:
        return dice.choice(sorted(value)), node.additional
    return None


def _at(tree: Any, path: list[str | int]) -> Any:
    for part in path:
        if isinstance(tree, dict):
            tree = tree.get(part)
        elif isinstance(tree, list) and isinstance(part, int) and part < len(tree):
            tree = tree[part]
        else:
            return None
    return tree


def _change(dice: Random, tree: Any, path: list[str | int], node: Schema, name: str) -> None:
    for part, following in itertools.pairwise(path):
        inside = tree.get(part) if isinstance(tree, dict) else tree[part] if isinstance(part, int) else None
        if not isinstance(inside, dict if isinstance(following, str) else list):
            if not isinstance(tree, dict) or not isinstance(following, str):
                return
            inside = tree[part] = {}
        tree = inside
    key = path[-1]
    roll = dice.random()
    if roll < 0.1:
        if isinstance(tree, dict):
            tree.pop(key, None)
        elif isinstance(key, int) and key < len(tree):
            del tree[key]
        return
    if roll < 0.15:
        value: Any = None
    elif roll < 0.18:
        value = wrong_value(dice)
    else:
        value = random_value(dice, node, name, 2)
    if isinstance(tree, dict):
        if 0.18 <= roll < 0.2:
            key = f"{key}X"
        tree[key] = value
    elif isinstance(key, int) and key < len(tree):
        if roll > 0.7:
            tree.append(value)
        else:
            tree[key] = value
