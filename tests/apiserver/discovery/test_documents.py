"""Discovery in both forms, compared with what a real API server answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.crds import resource_types_of
from karmada.apiserver.discovery import Discovery

SHARED = Path(__file__).parents[4] / "shared"
GOLDEN = SHARED / "golden" / "kube" / "discovery.jsonl"
DOCUMENT = SHARED / "kubernetes" / "discovery.json"


def recorded() -> list[Any]:
    steps = map(json.loads, GOLDEN.read_text().splitlines()) if GOLDEN.exists() else ()
    return [
        pytest.param(step["path"], step["expect"], id=step["path"])
        for step in steps
        if step["case"].startswith("group-") or (step["case"] == "api" and step["path"] != "/version")
    ]


CASES = recorded()


@pytest.mark.golden
@pytest.mark.skipif(not CASES, reason="needs ../shared/golden/kube")
@pytest.mark.parametrize(("path", "expected"), CASES)
def test_legacy_form_is_as_recorded(path: str, expected: dict[str, Any]) -> None:
    body = Discovery(builtin_types, lambda: 0).get(path)
    if expected["status"] == 404:
        assert body is None
        return
    assert body is not None
    document = json.loads(body)
    for resource in document.get("resources", ()):
        if "storageVersionHash" in resource:
            resource["storageVersionHash"] = "<b64>"
    assert document == expected["body"]


@pytest.mark.golden
@pytest.mark.skipif(not DOCUMENT.exists(), reason="needs ../shared/kubernetes")
@pytest.mark.parametrize(("path", "part"), [("/api", "core"), ("/apis", "groups")])
def test_aggregated_form_is_as_recorded(path: str, part: str) -> None:
    body = Discovery(builtin_types, lambda: 0).get(path, "v2")
    assert body is not None
    assert json.loads(body) == json.loads(DOCUMENT.read_text())[part]


def test_documents_follow_the_types() -> None:
    types = builtin_types()
    changes = [0]
    discovery = Discovery(lambda: types, lambda: changes[0])
    assert discovery.get("/apis/example.dev") is None
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": {"type": "object"}}}
        for name in ("v1beta1", "v1")
    ]
    names = {"plural": "things", "kind": "Thing"}
    crd = {"spec": {"group": "example.dev", "scope": "Cluster", "names": names, "versions": versions}}
    before = discovery.get("/apis")
    types += resource_types_of(crd)
    assert discovery.get("/apis") is before
    changes[0] += 1
    assert discovery.get("/apis") != before
    body = discovery.get("/apis/example.dev")
    assert body is not None
    assert [v["version"] for v in json.loads(body)["versions"]] == ["v1", "v1beta1"]


def test_groups_of_other_servers_are_listed() -> None:
    other = {"metadata": {"name": "other.dev"}, "versions": [{"version": "v1", "resources": []}]}
    discovery = Discovery(builtin_types, lambda: 0, lambda: [other])
    groups = json.loads(discovery.get("/apis") or b"")["groups"]
    assert groups[-1]["preferredVersion"] == {"groupVersion": "other.dev/v1", "version": "v1"}
    assert discovery.get("/apis/other.dev") is not None
