"""Tables as a real API server recorded them: columns of every kind, and rows of objects built from the requests."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from karmada.api import merge_patch
from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.printing import columns_of, table
from karmada.apiserver.resources import ResourceType

SHARED = Path(__file__).parents[4] / "shared"
GOLDEN = SHARED / "golden" / "kube" / "tables.jsonl"
COLUMNS = SHARED / "kubernetes" / "table_columns.json"
pytestmark = pytest.mark.skipif(not GOLDEN.exists(), reason="needs ../shared/golden/kube")

NOW = 1794700800.0
CREATED = "2026-11-14T23:00:00Z"
DEFAULTED: dict[str, Any] = {
    "pod": {"status": {"phase": "Pending"}},
    "podphase-pending": {"status": {"phase": "Pending"}},
    "podphase-gated": {
        "status": {
            "phase": "Pending",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}],
        }
    },
    "podphase-terminating": {"metadata": {"deletionTimestamp": CREATED}},
    "job": {"spec": {"completions": 1, "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "<uid:1>"}}}},
    "cronjob": {"spec": {"suspend": False}},
    "replicaset": {"spec": {"replicas": 1}},
    "horizontalpodautoscaler": {"spec": {"minReplicas": 1}},
    "persistentvolumeclaim": {"spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}},
    "service-nodeport": {"spec": {"clusterIPs": ["<clusterip>"]}},
    "service-lb": {"spec": {"clusterIPs": ["<clusterip>"]}},
    "flowschema": {
        "spec": {"matchingPrecedence": 1000},
        "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
    },
    "prioritylevelconfiguration": {"spec": {"limited": {"nominalConcurrencyShares": 30}}},
}
"""What the server sets beyond the requests."""


def resources() -> dict[tuple[str, str], ResourceType]:
    return {(t.group, t.plural): t for t in builtin_types()}


def recorded_columns() -> list[Any]:
    if not COLUMNS.exists():
        return []
    known = {(t.api_version, t.plural): t for t in builtin_types()}
    found = json.loads(COLUMNS.read_text()).items()
    keyed = [(kind, known.get((kind.rpartition("/")[0], entry["resource"])), entry) for kind, entry in found]
    return [pytest.param(t, entry["columnDefinitions"], id=kind) for kind, t, entry in keyed if t is not None]


def rows() -> Iterator[Any]:
    case = ""
    objects: dict[str, Any] = {}
    if not GOLDEN.exists():
        return
    for line in GOLDEN.read_text().splitlines():
        step = json.loads(line)
        if step["case"] != case:
            case, objects = step["case"], {}
        body = step.get("expect", {}).get("body") or {}
        path = step.get("path", "").split("?")[0]
        if step.get("method") == "POST":
            objects[path] = step["body"]
        elif step.get("method") == "PATCH" and step["expect"]["status"] == 200:
            key = path.rsplit("/", 2)[0]
            objects[key] = merge_patch.apply(objects[key], step["body"])
        elif (
            body.get("kind") == "Table" and len(body["rows"]) == 1 and (objects.get(path) or objects.get(_parent(path)))
        ):
            key = path if path in objects else _parent(path)
            group = key.split("/")[2] if key.startswith("/apis") else ""
            resource = resources().get((group, key.rsplit("/", 1)[1]))
            if resource is not None:
                obj = merge_patch.apply(objects[key], DEFAULTED.get(case, {}))
                yield pytest.param(resource, obj, body["rows"][0], id=f"{case}-{step['step']}")


def _parent(path: str) -> str:
    return path.rsplit("/", 1)[0]


@pytest.mark.parametrize(("resource", "expected"), recorded_columns())
def test_columns_as_recorded(resource: ResourceType, expected: list[dict[str, Any]]) -> None:
    shown = [{"name": c.name, "type": c.type, "format": c.format, "priority": c.priority} for c in columns_of(resource)]
    assert shown == expected


@pytest.mark.parametrize(("resource", "obj", "expected"), list(rows()))
def test_rows_as_recorded(resource: ResourceType, obj: dict[str, Any], expected: dict[str, Any]) -> None:
    created = {**obj, "metadata": {**obj["metadata"], "creationTimestamp": CREATED}}
    (row,) = table(resource, [created], now=NOW)["rows"]
    shown = ["<age>" if cell == "60m" else "<time>" if cell == CREATED else cell for cell in row["cells"]]
    assert shown == expected["cells"]
    assert row.get("conditions") == expected.get("conditions")
