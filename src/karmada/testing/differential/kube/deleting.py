"""Random transcripts of deletions: finalizers, grace, propagation, preconditions, dry runs, whole collections."""

import copy
from random import Random
from typing import Any

from karmada.testing.differential.kube.scenarios import Kind, Step, kinds

_KINDS = ("ConfigMap", "Secret", "Pod", "Deployment", "StatefulSet", "ReplicaSet", "Job", "CronJob", "Service", "Lease")
_MERGE, _JSON = "application/merge-patch+json", "application/json-patch+json"
_FINALIZER = "example.com/f"


def delete_scenario(dice: Random) -> list[Step]:
    """Two or three objects that hold finalizers, and deletions of every sort."""
    kind = dice.choice([kind for kind in kinds() if kind.type.kind in _KINDS])
    names = [f"o{number}" for number in range(dice.randint(2, 3))]
    steps: list[Step] = [_create(dice, kind, name) for name in names]
    for _ in range(dice.randint(3, 7)):
        steps += dice.choices(_ACTIONS, _WEIGHTS)[0](dice, kind, dice.choice(names))
    return steps


def _create(dice: Random, kind: Kind, name: str) -> Step:
    """Most hold a finalizer of ours: what waits for a garbage collector alone is gone at once in our server."""
    body = copy.deepcopy(kind.body)
    body["metadata"] = {"name": name, "labels": {"app": dice.choice("ab")}}
    if dice.random() < 0.8:
        body["metadata"]["finalizers"] = [_FINALIZER, *(["example.com/g"] if dice.random() < 0.2 else [])]
    if kind.type.kind == "Pod" and dice.random() < 0.5:
        body["spec"]["nodeName"] = "n"
        if dice.random() < 0.5:
            body["spec"]["terminationGracePeriodSeconds"] = dice.choice((0, 1, 60))
    return {"method": "POST", "path": kind.collection, "body": body}


def _options(dice: Random) -> dict[str, Any] | None:
    if dice.random() < 0.25:
        return None
    options: dict[str, Any] = {}
    if dice.random() < 0.4:
        options["propagationPolicy"] = dice.choice(("Background", "Background", "Foreground", "Orphan", "", "nope", 5))
    if dice.random() < 0.1:
        options["orphanDependents"] = dice.choice((True, False, "x"))
    if dice.random() < 0.3:
        options["gracePeriodSeconds"] = dice.choice((0, 1, 30, -1, "5", None))
    if dice.random() < 0.2:
        options["preconditions"] = dice.choice(
            ({}, {"uid": "${uid}"}, {"uid": "x"}, {"resourceVersion": "${rv}"}, {"resourceVersion": "1"}, {"uid": None})
        )
    if dice.random() < 0.15:
        options["dryRun"] = dice.choice((["All"], ["All", "All"], ["Some"], [], "All"))
    if dice.random() < 0.1:
        options |= dice.choice(
            (
                {"apiVersion": "v1", "kind": "DeleteOptions"},
                {"apiVersion": "v1", "kind": "Pod"},
                {"apiVersion": "meta.k8s.io/v1", "kind": "DeleteOptions"},
                {"nope": 1},
            )
        )
    return options


_QUERIES = (
    "",
    "",
    "",
    "?propagationPolicy=Background",
    "?gracePeriodSeconds=0",
    "?gracePeriodSeconds=x",
    "?dryRun=All",
    "?dryRun=x",
    "?orphanDependents=true",
)


def _delete(dice: Random, kind: Kind, name: str) -> list[Step]:
    body = _options(dice)
    query = dice.choice(_QUERIES) if body is None or dice.random() < 0.2 else ""
    return [{"method": "DELETE", "path": f"{kind.collection}/{name}{query}", "body": body}]


def _get(dice: Random, kind: Kind, name: str) -> list[Step]:
    return [{"method": "GET", "path": f"{kind.collection}/{name}"}]


def _again(dice: Random, kind: Kind, name: str) -> list[Step]:
    return [_create(dice, kind, name)]


def _release(dice: Random, kind: Kind, name: str) -> list[Step]:
    path = f"{kind.collection}/{name}"
    finalizers = dice.choice((None, [], ["example.com/g"], [_FINALIZER, "example.com/new"], ["bad finalizer"]))
    if dice.random() < 0.3:
        operations = [{"op": "remove", "path": "/metadata/finalizers"}]
        return [{"method": "PATCH", "path": path, "body": operations, "headers": {"Content-Type": _JSON}}]
    body = {"metadata": {"finalizers": finalizers}}
    return [{"method": "PATCH", "path": path, "body": body, "headers": {"Content-Type": _MERGE}}]


def _change(dice: Random, kind: Kind, name: str) -> list[Step]:
    meta = dice.choice(
        (
            {"labels": {"app": dice.choice("ab")}},
            {"deletionTimestamp": None},
            {"deletionTimestamp": "2030-01-01T00:00:00Z"},
            {"deletionGracePeriodSeconds": 5},
        )
    )
    body = {"metadata": meta}
    headers = {"Content-Type": _MERGE}
    return [{"method": "PATCH", "path": f"{kind.collection}/{name}", "body": body, "headers": headers}]


def _collection(dice: Random, kind: Kind, name: str) -> list[Step]:
    query = dice.choice(("", "?labelSelector=app%3Da", "?fieldSelector=metadata.name%3Do0", "?dryRun=All", "?limit=1"))
    return [{"method": "DELETE", "path": kind.collection + query, "body": _options(dice)}]


_ACTIONS = (_delete, _get, _again, _release, _change, _collection)
_WEIGHTS = (8, 4, 2, 4, 2, 2)
