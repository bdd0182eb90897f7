"""Random strategic merge patches with their directives, and tables of objects with a random status."""

import copy
from random import Random
from typing import Any

from karmada.testing.differential.kube.mutations import mutated
from karmada.testing.differential.kube.scenarios import TABLE, Step, kinds

_STRATEGIC = "application/strategic-merge-patch+json"
_MERGE = "application/merge-patch+json"
_LISTS: tuple[tuple[str, str, tuple[dict[str, Any], ...]], ...] = (
    ("containers", "name", ({"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2"}, {"name": "c", "image": "x"})),
    ("initContainers", "name", ({"name": "i", "image": "i:1"}, {"name": "j", "image": "i:2"})),
    (
        "volumes",
        "name",
        (
            {"name": "v", "emptyDir": {}},
            {"name": "w", "configMap": {"name": "m"}},
            {"name": "v", "secret": {"secretName": "s"}},
        ),
    ),
    ("imagePullSecrets", "name", ({"name": "p"}, {"name": "q"})),
    ("hostAliases", "ip", ({"ip": "10.0.0.1", "hostnames": ["h"]}, {"ip": "10.0.0.2", "hostnames": ["g", "h"]})),
    ("tolerations", "key", ({"key": "k", "operator": "Exists"}, {"key": "l", "value": "v"})),
    (
        "topologySpreadConstraints",
        "topologyKey",
        (
            {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
            {"topologyKey": "host", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"},
        ),
    ),
)
_INNER: tuple[tuple[str, str, tuple[dict[str, Any], ...]], ...] = (
    ("env", "name", ({"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"})),
    (
        "ports",
        "containerPort",
        (
            {"containerPort": 80},
            {"containerPort": 80, "protocol": "UDP"},
            {"containerPort": 81, "name": "p"},
        ),
    ),
    ("volumeMounts", "mountPath", ({"mountPath": "/a", "name": "v"}, {"mountPath": "/b", "name": "w"})),
)


def directive_scenario(dice: Random) -> list[Step]:
    """A Deployment that is patched with directives again and again."""
    path = "/apis/apps/v1/namespaces/${ns}/deployments"
    body = copy.deepcopy(next(kind.body for kind in kinds() if kind.type.kind == "Deployment"))
    pod = body["spec"]["template"]["spec"]
    pod["containers"] = [
        {"name": "a", "image": "i:0", "env": [{"name": "A", "value": "0"}], "ports": [{"containerPort": 80}]},
        {"name": "b", "image": "i:0", "args": ["x", "y"]},
    ]
    pod["volumes"] = [{"name": "v", "emptyDir": {}}]
    pod["tolerations"] = [{"key": "k", "operator": "Exists"}]
    body["metadata"]["finalizers"] = ["example.com/a", "example.com/b"]
    steps: list[Step] = [{"method": "POST", "path": path, "body": body}]
    for _ in range(dice.randint(3, 6)):
        patch = dice.choices((_pod_patch, _meta_patch, _spec_patch), (6, 2, 2))[0](dice)
        query = dice.choice(("", "", "", "?dryRun=All", "?fieldValidation=Strict"))
        media = _STRATEGIC if dice.random() < 0.95 else _MERGE
        steps.append({"method": "PATCH", "path": f"{path}/o{query}", "body": patch, "headers": {"Content-Type": media}})
    return steps


def _pod_patch(dice: Random) -> dict[str, Any]:
    pod: dict[str, Any] = {}
    for name, key, values in dice.sample(_LISTS, dice.choice((1, 1, 2))):
        _directed(dice, pod, name, key, values)
    for item in pod.get("containers") or ():
        if isinstance(item, dict) and "$patch" not in item and dice.random() < 0.6:
            name, key, values = dice.choice(_INNER)
            _directed(dice, item, name, key, values)
    if dice.random() < 0.2:
        pod["nodeSelector"] = dice.choice(({"a": "b"}, {"$patch": "replace", "c": "d"}, {"$patch": "delete"}, None))
    return {"spec": {"template": {"spec": pod}}}


def _directed(dice: Random, holder: dict[str, Any], name: str, key: str, values: tuple[dict[str, Any], ...]) -> None:
    items: list[Any] = [copy.deepcopy(one) for one in dice.sample(values, dice.randint(0, min(2, len(values))))]
    if items and dice.random() < 0.3:
        items[0] = {key: items[0][key], "$patch": dice.choice(("delete", "delete", "replace", "merge", "nope"))}
    if dice.random() < 0.12:
        items.append({"$patch": "replace"})
    if items and dice.random() < 0.06:
        items[-1].pop(key, None)
    if dice.random() < 0.04:
        items.append(dice.choice(("text", 7, None)))
    holder[name] = items if dice.random() < 0.95 else None
    if dice.random() < 0.3:
        order = [{key: one[key]} for one in dice.sample(values, dice.randint(1, len(values)))]
        holder[f"$setElementOrder/{name}"] = order if dice.random() < 0.9 else dice.choice(([], "x", ["a"]))
    if dice.random() < 0.08:
        holder["$retainKeys"] = dice.choice(([name], [], ["other"], "x"))
    if dice.random() < 0.05:
        holder[f"$deleteFromPrimitiveList/{name}"] = ["x"]


def _meta_patch(dice: Random) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    if dice.random() < 0.6:
        meta["$deleteFromPrimitiveList/finalizers"] = dice.choice(
            (["example.com/a"], ["example.com/x"], "example.com/a")
        )
    if dice.random() < 0.5:
        meta["finalizers"] = dice.choice((["example.com/c"], ["example.com/a"], [], None))
    if dice.random() < 0.4:
        meta["$setElementOrder/finalizers"] = dice.sample(["example.com/a", "example.com/b", "example.com/c"], 2)
    if dice.random() < 0.4:
        meta["labels"] = dice.choice(({"$patch": "replace", "x": "y"}, {"app": None}, {"$patch": "delete"}, {"x": "y"}))
    return {"metadata": meta}


def _spec_patch(dice: Random) -> dict[str, Any]:
    strategy = dice.choice(
        (
            {"$retainKeys": ["type"], "type": "Recreate"},
            {"type": "Recreate"},
            {"$patch": "replace", "type": "Recreate"},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            {"$retainKeys": ["rollingUpdate"], "type": "RollingUpdate"},
            {"$patch": "delete"},
            None,
        )
    )
    spec: dict[str, Any] = {"strategy": strategy}
    if dice.random() < 0.3:
        spec["replicas"] = dice.choice((1, None, "x"))
    if dice.random() < 0.2:
        spec["$patch"] = dice.choice(("replace", "merge", "delete", "nope"))
    return {"spec": spec}


def table_scenario(dice: Random) -> list[Step]:
    """An object whose status somebody wrote, as a table shows it."""
    kind = dice.choice([kind for kind in kinds() if "status" in (kind.schema.properties or {})])
    steps: list[Step] = [{"method": "POST", "path": kind.collection, "body": kind.body}]
    for _ in range(dice.randint(2, 4)):
        made = mutated(dice, {**copy.deepcopy(kind.body), "status": {}}, kind.schema, dice.choice((2, 3, 4)), "status")
        body = {"status": made.get("status")}
        path = f"{kind.path}/status"
        steps.append({"method": "PATCH", "path": path, "body": body, "headers": {"Content-Type": _MERGE}})
        query = dice.choice(("", "?includeObject=None", "?includeObject=Object", "?includeObject=Nope"))
        where = kind.path if "${ns}" not in kind.collection or dice.random() < 0.5 else kind.collection
        steps.append({"method": "GET", "path": where + query, "headers": {"Accept": TABLE}})
    return steps
