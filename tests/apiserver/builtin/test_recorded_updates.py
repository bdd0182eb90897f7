"""Updates that a real API server refused, with the words it used."""

import json
from pathlib import Path
from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.schema.decoding import decode

CRUD = Path(__file__).parents[4] / "shared" / "golden" / "kube" / "crud.jsonl"
TYPES = {t.kind: t for t in builtin_types()}


def steps(case: str) -> list[Any]:
    found = [json.loads(line) for line in CRUD.read_text().splitlines()] if CRUD.exists() else []
    return [step for step in found if step["case"] == case]


def merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@pytest.mark.golden
@pytest.mark.skipif(not CRUD.exists(), reason="needs ../shared/golden/kube")
@pytest.mark.parametrize(
    ("case", "step"),
    [
        ("immutable-pod", 2),
        ("immutable-job", 2),
        ("immutable-cm", 2),
        ("immutable-cm", 3),
        ("immutable-rolebinding", 2),
        ("immutable-service", 2),
    ],
)
def test_forbidden_changes_are_refused_as_recorded(case: str, step: int) -> None:
    found = {recorded["step"]: recorded for recorded in steps(case)}
    text = json.dumps(found).replace("<uid:1>", "u1").replace("<clusterip>", "10.96.0.9").replace("<time>", "")
    found = {int(number): value for number, value in json.loads(text).items()}
    old = found[1]["expect"]["body"]
    type_ = TYPES[old["kind"]]
    old["metadata"] = {"name": old["metadata"]["name"], "namespace": "ns", "uid": "u1"}
    new = merged(json.loads(json.dumps(old)), found[step]["body"])
    for obj in (old, new):
        decode(type_.schema, obj)
        type_.strategy.default(obj)
    type_.strategy.prepare_update(new, old)
    errors = type_.strategy.validate(new, old)
    causes = found[step]["expect"]["body"]["details"]["causes"]
    assert [(e.field, e.message) for e in errors] == [(c["field"], c["message"]) for c in causes]
