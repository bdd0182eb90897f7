"""Tables beyond what is recorded: custom columns, ages, what rows carry."""

from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.printing import columns_of, table
from karmada.apiserver.resources import Column, ResourceType
from karmada.apiserver.schema.model import Schema

NOW = 1_800_000_000.0
HOUR_AGO = "2027-01-15T07:00:00Z"
META = {"name": "x", "creationTimestamp": HOUR_AGO}


def custom(*columns: Column) -> ResourceType:
    return ResourceType("example.dev", "v1", "things", "Thing", True, Schema(), columns=columns, custom=True)


def builtin(plural: str) -> ResourceType:
    return next(t for t in builtin_types() if t.plural == plural)


def cells(resource: ResourceType, obj: dict[str, Any]) -> list[Any]:
    (row,) = table(resource, [{"metadata": META, **obj}], now=NOW)["rows"]
    return list(row["cells"])


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", "a", "a"),
        ("string", 3, "3"),
        ("string", ["a", "b"], '["a","b"]'),
        ("integer", 3, 3),
        ("integer", 3.0, 3),
        ("integer", "3", None),
        ("number", 0.5, 0.5),
        ("boolean", True, True),
        ("boolean", "true", None),
        ("date", HOUR_AGO, "60m"),
        ("date", "soon", "<invalid>"),
        ("date", 3, None),
        ("string", None, "<no value>"),
        ("boolean", None, None),
        ("integer", 1e21, None),
        ("integer", 2**63 - 1, 2**63 - 1),
        ("integer", 2**63, None),
        ("date", "", "<unknown>"),
        ("date", "0001-01-01T00:00:00Z", "<unknown>"),
    ],
)
def test_custom_cells_follow_the_type_of_their_column(kind: str, value: Any, cell: Any) -> None:
    resource = custom(Column("Value", kind, path=".spec.value"))
    assert cells(resource, {"spec": {"value": value}}) == ["x", cell]
    assert cells(resource, {}) == ["x", None]


def test_custom_kinds_without_columns_show_their_age() -> None:
    assert [column.name for column in columns_of(custom())] == ["Name", "Age"]
    assert cells(custom(), {}) == ["x", "60m"]


def test_columns_end_before_one_with_a_broken_path() -> None:
    good, bad = Column("Good", "string", path=".spec"), Column("Bad", "string", path=".spec[")
    assert [column.name for column in columns_of(custom(good, bad, good))] == ["Name", "Good"]
    assert cells(custom(bad, good), {"spec": "a"}) == ["x"]


@pytest.mark.parametrize(
    ("plural", "obj", "expected"),
    [
        pytest.param("namespaces", {"status": {"phase": "Active"}}, ["x", "Active", "60m"], id="namespace"),
        pytest.param("secrets", {"type": "Opaque", "data": {"a": "YQ=="}}, ["x", "Opaque", 1, "60m"], id="secret"),
        pytest.param("configmaps", {"data": {"a": ""}, "binaryData": {"b": ""}}, ["x", 2, "60m"], id="configmap"),
        pytest.param(
            "statefulsets",
            {"spec": {"replicas": 3}, "status": {"readyReplicas": 1}},
            ["x", "1/3", "60m", "", ""],
            id="set",
        ),
        pytest.param(
            "resourcequotas",
            {"status": {"hard": {"limits.cpu": "2", "pods": "5"}, "used": {"pods": "1", "limits.cpu": "1"}}},
            ["x", "pods: 1/5", "limits.cpu: 1/2", "60m"],
            id="quota",
        ),
        pytest.param(
            "persistentvolumes",
            {
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                    "claimRef": {"namespace": "n", "name": "c"},
                    "persistentVolumeReclaimPolicy": "Retain",
                    "volumeMode": "Filesystem",
                },
                "status": {"phase": "Bound"},
            },
            ["x", "1Gi", "RWO,RWX", "Retain", "Bound", "n/c", "", "<unset>", "", "60m", "Filesystem"],
            id="volume",
        ),
        pytest.param(
            "services",
            {
                "spec": {"type": "LoadBalancer", "ports": []},
                "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}},
            },
            ["x", "LoadBalancer", "<none>", "192.0.2.1", "<none>", "60m", "<none>"],
            id="balancer",
        ),
        pytest.param(
            "jobs",
            {
                "spec": {"parallelism": 2},
                "status": {"startTime": HOUR_AGO, "conditions": [{"type": "Complete", "status": "True"}]},
            },
            ["x", "Complete", "0/1 of 2", "60m", "60m", "", "", "<none>"],
            id="job",
        ),
    ],
)
def test_rows_of_kinds_that_are_not_recorded(plural: str, obj: dict[str, Any], expected: list[Any]) -> None:
    assert cells(builtin(plural), obj) == expected


def test_a_crash_looping_pod_shows_its_restarts() -> None:
    status = {
        "phase": "Running",
        "containerStatuses": [
            {
                "name": "c",
                "restartCount": 4,
                "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                "lastState": {"terminated": {"finishedAt": HOUR_AGO}},
            }
        ],
    }
    row = cells(builtin("pods"), {"spec": {"containers": [{"name": "c"}]}, "status": status})
    assert row[1:4] == ["0/1", "CrashLoopBackOff", "4 (60m ago)"]


def test_rows_carry_what_was_asked_for() -> None:
    obj = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": META, "data": {}}

    def carried(include: str) -> Any:
        return table(builtin("configmaps"), [obj], include, "meta.k8s.io/v1beta1", now=NOW)["rows"][0]["object"]

    assert carried("None") is None
    assert carried("Object") == obj
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": META}
    assert carried("Metadata") == partial


def test_headers_can_be_left_out() -> None:
    assert table(builtin("configmaps"), [], now=NOW, headers=False)["columnDefinitions"] is None


def test_flow_schemas_are_listed_by_precedence() -> None:
    found = [
        {"metadata": {**META, "name": name}, "spec": {"matchingPrecedence": precedence}}
        for name, precedence in (("a", 900), ("b", 10), ("c", 10))
    ]
    rows = table(builtin("flowschemas"), found, now=NOW)["rows"]
    assert [row["cells"][0] for row in rows] == ["b", "c", "a"]
