"""Random transcripts of server-side apply: several managers that own, share, take over and give up fields."""

import copy
import json
from random import Random
from typing import Any
from urllib.parse import urlencode

from karmada.apiserver.schema.model import Schema
from karmada.testing.differential.kube.mutations import mutated
from karmada.testing.differential.kube.scenarios import Kind, Step, kinds

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_MANAGERS = ("one", "two", "three")
_ALWAYS = ("apiVersion", "kind", "metadata", "name", "selector", "containerPort", "port", "key", "type", "mountPath")
"""What a part of an object keeps: most kinds refuse an object without them."""


def apply_scenario(dice: Random) -> list[Step]:
    """What managers do to one object, and who owns what afterwards."""
    kind = dice.choice(kinds())
    steps = [_apply(dice, kind, kind.body)]
    steps.extend(dice.choices(_ACTIONS, _WEIGHTS)[0](dice, kind) for _ in range(dice.randint(3, 7)))
    return [*steps, {"method": "GET", "path": kind.path}]


def _apply(dice: Random, kind: Kind, body: Any, part: str = "") -> Step:
    query = {"fieldManager": dice.choice(_MANAGERS)}
    if dice.random() < 0.4:
        query["force"] = dice.choice(("true", "true", "false"))
    if dice.random() < 0.1:
        query["dryRun"] = "All"
    if dice.random() < 0.1:
        query["fieldValidation"] = dice.choice(("Strict", "Warn", "Ignore"))
    path = f"{kind.path}{part}?{urlencode(query)}"
    return {"method": "PATCH", "path": path, "body": json.dumps(body), "headers": {"Content-Type": _APPLY}}


def _part(dice: Random, kind: Kind) -> Step:
    changed = mutated(dice, kind.body, kind.schema, dice.choice((0, 0, 1, 1, 2)))
    return _apply(dice, kind, _thinned(dice, changed, kind.schema))


def _thinned(dice: Random, value: Any, schema: Schema | None) -> Any:
    """A part of an object that is likely to be valid still."""
    if isinstance(value, list):
        inner = schema.items if schema is not None else None
        return [_thinned(dice, one, inner) for one in value if dice.random() < 0.85]
    if not isinstance(value, dict):
        return value
    known = (schema.properties if schema is not None else None) or {}
    required = schema.required if schema is not None else ()
    return {
        key: _thinned(dice, child, known.get(key) or (schema.additional if schema is not None else None))
        for key, child in value.items()
        if key in required or key in _ALWAYS or dice.random() < 0.8
    }


def _metadata(dice: Random, kind: Kind) -> Step:
    """Labels, annotations and finalizers only: little is refused, much is owned."""
    meta: dict[str, Any] = {"name": kind.body["metadata"]["name"]}
    if dice.random() < 0.7:
        meta["labels"] = {key: dice.choice("ab") for key in dice.sample("xyz", dice.randint(0, 3))}
    if dice.random() < 0.5:
        meta["annotations"] = {key: dice.choice("ab") for key in dice.sample("xyz", dice.randint(0, 2))}
    if dice.random() < 0.3:
        meta["finalizers"] = [f"example.com/{key}" for key in dice.sample("ab", dice.randint(0, 2))]
    body = {"apiVersion": kind.body["apiVersion"], "kind": kind.body["kind"], "metadata": meta}
    return _apply(dice, kind, body)


def _status(dice: Random, kind: Kind) -> Step:
    if "status" not in (kind.schema.properties or {}):
        return _metadata(dice, kind)
    made = mutated(dice, {**copy.deepcopy(kind.body), "status": {}}, kind.schema, dice.choice((1, 2)), "status")
    body = {key: made[key] for key in ("apiVersion", "kind", "status") if key in made}
    body["metadata"] = {"name": kind.body["metadata"]["name"]}
    return _apply(dice, kind, body, "/status")


def _scale(dice: Random, kind: Kind) -> Step:
    if not any(one.name == "scale" for one in kind.type.subresources):
        return _metadata(dice, kind)
    body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "o"}}
    return _apply(dice, kind, {**body, "spec": {"replicas": dice.choice((0, 1, 5))}}, "/scale")


def _other(dice: Random, kind: Kind) -> Step:
    """A write that is no apply, of somebody with a name."""
    manager = dice.choice((*_MANAGERS, "four"))
    if dice.random() < 0.5:
        body = mutated(dice, kind.body, kind.schema, dice.choice((0, 1)))
        if isinstance(body.get("metadata"), dict):
            body["metadata"]["resourceVersion"] = "${rv}"
        return {"method": "PUT", "path": f"{kind.path}?fieldManager={manager}", "body": body}
    meta: dict[str, Any] = dice.choice(
        (
            {"labels": {dice.choice("xyz"): dice.choice(("a", "b", None))}},
            {"annotations": {dice.choice("xyz"): dice.choice(("a", "b", None))}},
            {"managedFields": dice.choice(([], [{}], None))},
            {"finalizers": dice.choice(([], ["example.com/a"], None))},
        )
    )
    path = f"{kind.path}?fieldManager={manager}"
    return {"method": "PATCH", "path": path, "body": {"metadata": meta}, "headers": {"Content-Type": _MERGE}}


_ACTIONS = (_part, _metadata, _status, _scale, _other)
_WEIGHTS = (40, 20, 12, 8, 20)
