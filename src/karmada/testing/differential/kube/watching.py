"""Random transcripts of lists and watches: pages, versions, selectors and what is sent from which version on."""

import copy
from random import Random
from typing import Any
from urllib.parse import urlencode

from karmada.testing.differential.kube.scenarios import PARTIAL, PARTIALS, TABLE, Kind, Step, kinds

_KINDS = ("ConfigMap", "Secret", "Pod", "Deployment", "Service", "Job", "Lease", "ServiceAccount")
_LABELS = (
    "app=a",
    "app",
    "!app",
    "app in (a,b)",
    "app notin (a)",
    "app!=a",
    "zone=b",
    "app=a,zone",
    "tier>3",
    "tier<3",
)
_BAD_LABELS = ("a b", "app in", "a/b/c=1", ",", "=1", "app>x", "app=bad value!", "app in (", "app==", "app=a,,zone")
_FIELDS = ("metadata.name=o0", "metadata.name!=o0", "metadata.namespace=${ns}", "metadata.name=o0,metadata.namespace=x")
_MERGE = "application/merge-patch+json"


def watch_scenario(dice: Random) -> list[Step]:
    """A few objects that come, change and go, and readers who want to know."""
    kind = dice.choice([kind for kind in kinds() if kind.type.kind in _KINDS])
    names = [f"o{number}" for number in range(dice.randint(2, 4))]
    steps: list[Step] = [_create(dice, kind, name) for name in names]
    steps.extend(_change(dice, kind, dice.choice(names)) for _ in range(dice.randint(2, 5)))
    for _ in range(dice.randint(2, 6)):
        steps += dice.choices((_list, _pages, _watch, _read), (5, 3, 4, 1))[0](dice, kind)
    return steps


def _create(dice: Random, kind: Kind, name: str) -> Step:
    body = copy.deepcopy(kind.body)
    labels = {"app": dice.choice("ab"), "zone": dice.choice("ab"), "tier": dice.choice("15")}
    body["metadata"] = {"name": name, "labels": {key: labels[key] for key in labels if dice.random() < 0.7}}
    if dice.random() < 0.15:
        body["metadata"]["finalizers"] = ["example.com/f"]
    return {"method": "POST", "path": kind.collection, "body": body}


def _change(dice: Random, kind: Kind, name: str) -> Step:
    path = f"{kind.collection}/{name}"
    if dice.random() < 0.25:
        return {"method": "DELETE", "path": path, "body": {"gracePeriodSeconds": 0}}
    meta = dice.choice(
        (
            {"labels": {"app": dice.choice(("a", "b", "c", None))}},
            {"labels": {"tier": dice.choice(("1", "7", None))}},
            {"annotations": {"x": dice.choice("ab")}},
            {"finalizers": dice.choice((None, ["example.com/f"]))},
        )
    )
    return {"method": "PATCH", "path": path, "body": {"metadata": meta}, "headers": {"Content-Type": _MERGE}}


def _selectors(dice: Random) -> dict[str, str]:
    query = {}
    if dice.random() < 0.4:
        query["labelSelector"] = dice.choice(_LABELS if dice.random() < 0.85 else _BAD_LABELS)
    if dice.random() < 0.2:
        query["fieldSelector"] = dice.choice((*_FIELDS, "spec.x=1", "metadata.name", "=a", "metadata.name=a=b"))
    return query


def _list(dice: Random, kind: Kind) -> list[Step]:
    query = _selectors(dice)
    if dice.random() < 0.4:
        query["resourceVersion"] = dice.choice(("0", "${rv}", "${rv}", "${first}", "1", "abc", "-1", ""))
    if dice.random() < 0.35:
        query["resourceVersionMatch"] = dice.choice(("NotOlderThan", "Exact", "Exact", "Nope", ""))
    if dice.random() < 0.3:
        query["limit"] = dice.choice(("1", "2", "0", "-1", "x", "500"))
    if dice.random() < 0.05:
        query[dice.choice(("sendInitialEvents", "allowWatchBookmarks", "continue", "nope"))] = "true"
    if query.get("limit") and query.get("resourceVersion") == "0":
        query.pop("limit")  # a cache is free to answer with everything or with a page
    accept = dice.choice(("", "", TABLE, PARTIALS))
    return [_get(kind.collection, query, accept)]


def _pages(dice: Random, kind: Kind) -> list[Step]:
    query = _selectors(dice) | {"limit": dice.choice(("1", "1", "2"))}
    steps = [_get(kind.collection, query)]
    if dice.random() < 0.3:
        steps.append(_change(dice, kind, dice.choice(("o0", "o1"))))
    following = {**query, "continue": dice.choice(("${continue}", "${continue}", "${continue}", "eyJ2IjoiYiJ9", "x"))}
    if dice.random() < 0.1:
        following["resourceVersion"] = dice.choice(("0", "5"))
    return [*steps, _get(kind.collection, following), _get(kind.collection, following)]


def _watch(dice: Random, kind: Kind) -> list[Step]:
    query = _selectors(dice) | {"watch": dice.choice(("1", "true")), "timeoutSeconds": "1"}
    version = dice.choice(("", "0", "${first}", "${first}", "${rv}", "abc"))
    if version:
        query["resourceVersion"] = version
    if dice.random() < 0.3:
        query["allowWatchBookmarks"] = dice.choice(("true", "false", "x"))
    if dice.random() < 0.3:
        query["sendInitialEvents"] = dice.choice(("true", "true", "false"))
        if dice.random() < 0.8:
            query |= {"resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    elif dice.random() < 0.1:
        query["resourceVersionMatch"] = dice.choice(("NotOlderThan", "Exact"))
    accept = dice.choice(("", "", "", TABLE, PARTIAL))
    path = kind.collection
    if dice.random() < 0.15:
        path = path.replace("/v1/", "/v1/watch/", 1)
        query.pop("watch")
    return [_get(path, query, accept)]


def _read(dice: Random, kind: Kind) -> list[Step]:
    query = {"resourceVersion": dice.choice(("0", "${first}", "${rv}", "abc", ""))}
    if dice.random() < 0.2:
        query["resourceVersionMatch"] = "Exact"
    return [_get(f"{kind.collection}/o0", query, dice.choice(("", TABLE, PARTIAL)))]


def _get(path: str, query: dict[str, str], accept: str = "") -> Step:
    text = urlencode(query, safe="${}")
    step: dict[str, Any] = {"method": "GET", "path": f"{path}?{text}" if text else path}
    return {**step, "headers": {"Accept": accept}} if accept else step
