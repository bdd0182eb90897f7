"""Random transcripts of clients that read an object, change it and write the whole of it back, as controllers do."""

import copy
from random import Random
from typing import Any

from karmada.testing.differential.kube.mutations import mutated
from karmada.testing.differential.kube.scenarios import Kind, Step, kinds, merge_change

_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
_META: tuple[dict[str, Any], ...] = (
    {"labels": {"app": "b"}},
    {"labels": None},
    {"annotations": {"x": "y", "z": ""}},
    {"finalizers": ["example.com/f"]},
    {"finalizers": None},
    {"managedFields": None},
    {"managedFields": []},
    {"resourceVersion": None},
    {"uid": None},
    {"creationTimestamp": None},
    {"generation": 7},
    {"ownerReferences": None},
)


def edit_scenario(dice: Random) -> list[Step]:
    """An object that is read, changed and written back a few times, by one client or several."""
    kind = dice.choice(kinds())
    steps: list[Step] = [{"method": "POST", "path": kind.collection, "body": kind.body}]
    for _ in range(dice.randint(3, 6)):
        steps += dice.choices(_EDITS, _WEIGHTS)[0](dice, kind)
    return [*steps, {"method": "GET", "path": kind.path}]


def _back(dice: Random, kind: Kind, part: str, changes: dict[str, Any]) -> list[Step]:
    query = dice.choice(("", "", "", "?dryRun=All", "?fieldManager=me", "?fieldValidation=Strict"))
    read: Step = {"method": "GET", "path": kind.path}
    write: Step = {"method": "PUT", "path": f"{kind.path}{part}{query}", "changes": changes}
    return [read, write] if dice.random() < 0.8 else [write]


def _same(dice: Random, kind: Kind) -> list[Step]:
    return _back(dice, kind, dice.choice(("", "", "/status")) if _has_status(kind) else "", {})


def _metadata(dice: Random, kind: Kind) -> list[Step]:
    return _back(dice, kind, "", {"metadata": copy.deepcopy(dice.choice(_META))})


def _spec(dice: Random, kind: Kind) -> list[Step]:
    after = mutated(dice, kind.body, kind.schema, dice.choice((1, 1, 2)))
    return _back(dice, kind, "", merge_change(kind.body, after))


def _status(dice: Random, kind: Kind) -> list[Step]:
    if not _has_status(kind):
        return _spec(dice, kind)
    before = {**copy.deepcopy(kind.body), "status": {}}
    after = mutated(dice, before, kind.schema, dice.choice((1, 2)), "status")
    return _back(dice, kind, dice.choice(("/status", "/status", "")), merge_change(before, after))


def _between(dice: Random, kind: Kind) -> list[Step]:
    """Somebody else patches what was read."""
    after = mutated(dice, kind.body, kind.schema, 1)
    media = dice.choice((_MERGE, _STRATEGIC))
    return [
        {
            "method": "PATCH",
            "path": f"{kind.path}?fieldManager=other",
            "body": merge_change(kind.body, after),
            "headers": {"Content-Type": media},
        }
    ]


def _has_status(kind: Kind) -> bool:
    return "status" in (kind.schema.properties or {})


_EDITS = (_same, _metadata, _spec, _status, _between)
_WEIGHTS = (3, 4, 6, 4, 3)
