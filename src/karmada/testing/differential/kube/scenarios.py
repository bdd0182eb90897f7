"""Random transcripts: what a client does to one object of a built-in kind, and to what belongs to it."""

import copy
import json
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlencode

import yaml

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.model import Schema
from karmada.testing.differential.kube.mutations import mutated

Step = dict[str, Any]
"""method, path, optional body and headers; `wait` asks until the path answers 200 on both servers.

With `changes` in place of a body, what the server answered last is sent back with this merge patch applied."""

_JSON, _MERGE = "application/json-patch+json", "application/merge-patch+json"
_STRATEGIC, _APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


class Kind(NamedTuple):
    """A kind with an object of it."""

    type: ResourceType
    collection: str
    body: dict[str, Any]

    @property
    def path(self) -> str:
        """Of the object."""
        return f"{self.collection}/{self.body['metadata']['name']}"

    @property
    def schema(self) -> Schema:
        """Of the kind."""
        return self.type.schema


@cache
def kinds() -> tuple[Kind, ...]:
    """Every kind of `objects.yaml`."""
    types = {(type_.group, type_.version, type_.kind): type_ for type_ in builtin_types()}
    found = []
    for entry in yaml.safe_load(files(__package__).joinpath("objects.yaml").read_text()):
        group, _, version = entry["body"]["apiVersion"].rpartition("/")
        found.append(Kind(types[group, version, entry["body"]["kind"]], entry["path"], entry["body"]))
    return tuple(found)


def object_scenario(dice: Random, only: str = "") -> list[Step]:
    """A few requests on one object of a random kind."""
    kind = dice.choice([kind for kind in kinds() if not only or kind.type.kind == only])
    steps = [_create(dice, kind) for _ in range(dice.choice((0, 0, 1, 2)))]
    steps.append({"method": "POST", "path": kind.collection, "body": kind.body})
    for _ in range(dice.randint(2, 6)):
        steps += dice.choices(_FOLLOWING, _WEIGHTS)[0](dice, kind)
    if dice.random() < 0.5:
        steps += _delete(dice, kind)
    return steps


def _create(dice: Random, kind: Kind) -> Step:
    body = mutated(dice, kind.body, kind.schema, dice.choice((1, 1, 2, 3)))
    return {"method": "POST", "path": kind.collection + _query(dice, create=True), "body": body}


def _query(dice: Random, create: bool = False) -> str:
    query = {}
    if create or dice.random() < 0.25:
        query["dryRun"] = "All"
    if dice.random() < 0.25:
        query["fieldValidation"] = dice.choice(("Strict", "Warn", "Ignore", "Other"))
    if dice.random() < 0.1:
        query["fieldManager"] = dice.choice(("me", "you", "x" * 129))
    return "?" + urlencode(query) if query else ""


def _put(dice: Random, kind: Kind) -> list[Step]:
    body = mutated(dice, kind.body, kind.schema, dice.choice((0, 1, 1, 2)))
    meta = body.get("metadata")
    if not isinstance(meta, dict):
        return [{"method": "PUT", "path": kind.path, "body": body}]
    if dice.random() < 0.3 or not kind.type.strategy.unconditional_update:
        meta["resourceVersion"] = dice.choice(("${rv}", "${rv}", "${rv}", "1", "x"))
    if dice.random() < 0.05:
        meta["uid"] = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
    return [{"method": "PUT", "path": kind.path + _query(dice), "body": body}]


def _change_of(dice: Random, kind: Kind, within: str = "") -> dict[str, Any]:
    """What a merge patch would send: the top-level fields that a mutation changed."""
    before = copy.deepcopy(kind.body)
    if within:
        before.setdefault(within, {})
    after = mutated(dice, before, kind.schema, dice.choice((1, 1, 2)), within)
    return merge_change(before, after)


def merge_change(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The merge patch that turns one object into another."""
    patch: dict[str, Any] = {key: None for key in before if key not in after}
    for key, value in after.items():
        if key in before and isinstance(value, dict) and isinstance(before[key], dict):
            if inner := merge_change(before[key], value):
                patch[key] = inner
        elif key not in before or before[key] != value:
            patch[key] = value
    return patch


def _patch(dice: Random, kind: Kind) -> list[Step]:
    media = dice.choice((_MERGE, _STRATEGIC, _STRATEGIC))
    body: Any = _change_of(dice, kind)
    return [_patching(kind.path + _query(dice), body, media)]


def _patching(path: str, body: Any, media: str) -> Step:
    return {"method": "PATCH", "path": path, "body": body, "headers": {"Content-Type": media}}


def _json_patch(dice: Random, kind: Kind) -> list[Step]:
    operations = []
    for path, value in _leaves(_change_of(dice, kind), ""):
        name = dice.choice(("add", "add", "replace", "replace", "test", "remove", "copy", "move", "nope"))
        operation: dict[str, Any] = {"op": name, "path": path}
        if name not in ("remove", "copy", "move"):
            operation["value"] = value
        elif name != "remove":
            operation["from"] = dice.choice(("/metadata/labels", "/spec", "/none", "/metadata/name"))
        operations.append(operation)
    return [_patching(kind.path, operations, _JSON)]


def _leaves(tree: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(tree, dict) and tree:
        escaped = ((key.replace("~", "~0").replace("/", "~1"), value) for key, value in tree.items())
        return [leaf for key, value in escaped for leaf in _leaves(value, f"{path}/{key}")]
    return [(path, tree)]


def _apply(dice: Random, kind: Kind) -> list[Step]:
    body = mutated(dice, kind.body, kind.schema, dice.choice((0, 1, 1)))
    query = {"fieldManager": dice.choice(("one", "two"))}
    if dice.random() < 0.5:
        query["force"] = dice.choice(("true", "true", "false"))
    if dice.random() < 0.1:
        query.pop("fieldManager")
    return [_patching(f"{kind.path}?{urlencode(query)}", json.dumps(body), _APPLY)]


def _status(dice: Random, kind: Kind) -> list[Step]:
    if "status" not in (kind.schema.properties or {}):
        return _get(dice, kind)
    path = f"{kind.path}/status"
    change = _change_of(dice, kind, "status")
    if dice.random() < 0.5:
        return [_patching(path + _query(dice), change, dice.choice((_MERGE, _STRATEGIC)))]
    return [{"method": "PUT", "path": path, "body": {**copy.deepcopy(kind.body), **change}}]


def _scale(dice: Random, kind: Kind) -> list[Step]:
    path = f"{kind.path}/scale"
    replicas = dice.choice((0, 1, 5, -1, "x", None))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "o", "namespace": "${ns}"}}
    return dice.choice(
        (
            [{"method": "GET", "path": path}],
            [_patching(path, {"spec": {"replicas": replicas}}, dice.choice((_MERGE, _STRATEGIC)))],
            [{"method": "PUT", "path": path, "body": {**scale, "spec": {"replicas": replicas}}}],
        )
    )


def _get(dice: Random, kind: Kind) -> list[Step]:
    accept = dice.choice(("", "", TABLE, PARTIAL, f"{TABLE},application/json", "text/html"))
    headers = {"Accept": accept} if accept else {}
    return [{"method": "GET", "path": kind.path, "headers": headers}]


_LABELS = ("app=a", "app", "!app", "app in (a,b)", "app notin (a)", "app!=a", "a b", "zone=a", "app in ()", "team=a")
_FIELDS = (
    "metadata.name={name}",
    "metadata.name!={name}",
    "metadata.namespace=default",
    "spec.nope=a",
    "status.phase=Running",
    "metadata.name",
    "type=Opaque",
    "spec.nodeName=",
    "involvedObject.kind=Pod",
)


def _list(dice: Random, kind: Kind) -> list[Step]:
    name = kind.body["metadata"]["name"]
    query: dict[str, str] = {"fieldSelector": f"metadata.name={name}"}
    if dice.random() < 0.5 and "${ns}" in kind.collection:
        query = {"fieldSelector": dice.choice(_FIELDS).format(name=name)} if dice.random() < 0.5 else {}
    if dice.random() < 0.5:
        query["labelSelector"] = dice.choice(_LABELS)
    if dice.random() < 0.3:
        query["limit"] = dice.choice(("1", "0", "-1", "x", "500"))
    if dice.random() < 0.2:
        query["resourceVersion"] = dice.choice(("0", "1x", ""))
    if dice.random() < 0.1:
        query["resourceVersionMatch"] = dice.choice(("NotOlderThan", "Exact", "Nope"))
    accept = dice.choice(("", TABLE, PARTIALS))
    path = kind.collection + ("?" + urlencode(query, safe="${}") if query else "")
    return [{"method": "GET", "path": path, "headers": {"Accept": accept} if accept else {}}]


def _delete(dice: Random, kind: Kind) -> list[Step]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if dice.random() < 0.4:
        options["propagationPolicy"] = dice.choice(("Background", "Foreground", "Orphan", "Nope"))
    if dice.random() < 0.15:
        options["orphanDependents"] = dice.random() < 0.5
    if dice.random() < 0.2:
        options["gracePeriodSeconds"] = dice.choice((0, 0, 5, -1))
    if dice.random() < 0.15:
        options["preconditions"] = dice.choice(
            ({"uid": "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"}, {"resourceVersion": "1"}, {"resourceVersion": "${rv}"})
        )
    if dice.random() < 0.1:
        options["dryRun"] = dice.choice((["All"], ["Some"], []))
    body = options if dice.random() < 0.7 else None
    query = dice.choice(("", "", "?propagationPolicy=Background", "?gracePeriodSeconds=0", "?dryRun=All"))
    steps = [{"method": "DELETE", "path": kind.path + ("" if body else query), "body": body}]
    if dice.random() < 0.1 and "${ns}" in kind.collection:
        steps = [{"method": "DELETE", "path": kind.collection + query}]
    return steps


def _odd(dice: Random, kind: Kind) -> list[Step]:
    """Requests at places and with methods that a server does not know."""
    path = dice.choice(
        (kind.path, kind.collection, f"{kind.path}/nope", f"{kind.path}/status", f"{kind.path}/scale", kind.path + "/")
    )
    method = dice.choice(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"))
    if method in ("DELETE", "GET") and path == kind.collection and "${ns}" not in path:
        path = kind.path  # others live in cluster-wide collections
    body: Any = dice.choice((None, kind.body, "{", "[]", "null", {"kind": "Pod", "apiVersion": "v1"}, ""))
    media = dice.choice(("application/json", "text/plain", _MERGE, _JSON, "application/yaml", _APPLY))
    return [{"method": method, "path": path, "body": body, "headers": {"Content-Type": media}}]


_FOLLOWING = (_put, _patch, _json_patch, _apply, _status, _get, _list, _odd, _scale)
_WEIGHTS = (24, 24, 8, 8, 12, 6, 8, 6, 3)
