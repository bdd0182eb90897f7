"""OpenAPI documents, compared with those of a real API server."""

import json
from pathlib import Path
from typing import Any

import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.crds import resource_types_of
from karmada.apiserver.openapi import OpenAPI
from karmada.apiserver.openapi.descriptions import Descriptions

SHARED = Path(__file__).parents[4] / "shared"
GOLDEN = SHARED / "golden" / "kube" / "discovery.jsonl"
SWAGGER = SHARED / "kubernetes" / "openapi_v2.json"
# Options of connections are shared under generated names there, and spelled out here.
SPELLED_OUT = ("/attach", "/exec", "/log", "/portforward", "/proxy", "/proxy/{path}")


def load(path: str, api: OpenAPI) -> Any:
    body = api.get(path)
    assert body is not None
    return json.loads(body)


@pytest.mark.golden
@pytest.mark.skipif(not SWAGGER.exists(), reason="needs ../shared/kubernetes")
def test_v2_is_that_of_the_reference() -> None:
    document, reference = load("/openapi/v2", OpenAPI(builtin_types, lambda: 0)), json.loads(SWAGGER.read_text())
    undescribed(document)
    assert document["definitions"] == reference["definitions"]
    assert document["paths"].keys() == reference["paths"].keys()
    different = [
        path
        for path, item in document["paths"].items()
        if item != reference["paths"][path] and path.startswith("/api") and not path.endswith(SPELLED_OUT)
    ]
    assert different == []


@pytest.mark.golden
@pytest.mark.skipif(not GOLDEN.exists(), reason="needs ../shared/golden/kube")
@pytest.mark.parametrize("path", ["/openapi/v3/apis/coordination.k8s.io/v1", "/openapi/v3/version"])
def test_v3_is_as_recorded(path: str, tmp_path: Path) -> None:
    steps = map(json.loads, GOLDEN.read_text().splitlines())
    expected = next(step["expect"]["body"] for step in steps if step.get("path") == path)
    # The recording has no descriptions: they are its authors'.
    nothing = Descriptions(tmp_path / "v1.36.0-local" / "_definitions.json")
    (tmp_path / "v1.36.0-local").mkdir()
    (tmp_path / "v1.36.0-local" / "_definitions.json").write_text('{"$defs": {}}')
    document = load(path, OpenAPI(builtin_types, lambda: 0, described=nothing))
    undescribed(document)
    assert document == expected


def undescribed(document: Any) -> None:
    """Take the descriptions of responses out: recordings have none."""
    for answer in responses(document):
        del answer["description"]


def responses(document: Any) -> list[Any]:
    operations = [one for item in document["paths"].values() for one in item.values() if "responses" in one]
    return [answer for one in operations for answer in one["responses"].values()]


@pytest.mark.parametrize("path", ["/openapi/v2", "/openapi/v3/apis/apps/v1"])
def test_every_response_is_described_as_the_standard_wants(path: str) -> None:
    found = {answer["description"] for answer in responses(load(path, OpenAPI(builtin_types, lambda: 0)))}
    assert {"OK", "Created", "Unauthorized"} <= found <= {"OK", "Created", "Accepted", "Unauthorized"}


@pytest.mark.parametrize("name", ["api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1", "apis/apps", "api"])
def test_v3_documents_refer_to_nothing_outside(name: str) -> None:
    api = OpenAPI(builtin_types, lambda: 0)
    assert name in load("/openapi/v3", api)["paths"]
    document = load(f"/openapi/v3/{name}", api)
    text = json.dumps(document)
    wanted = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert wanted == document["components"]["schemas"].keys()


def test_custom_kinds_are_described_as_their_author_did() -> None:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "description": "What is wanted.", "properties": {"a": {"type": "string"}}}
        },
    }
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]
    names = {"plural": "things", "kind": "Thing"}
    crd = {"spec": {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": versions}}
    types = [*builtin_types(), *resource_types_of(crd)]
    api = OpenAPI(lambda: types, lambda: 0, lambda type_: schema)
    document = load("/openapi/v3/apis/example.dev/v1", api)
    thing = document["components"]["schemas"]["dev.example.v1.Thing"]
    assert thing["properties"]["spec"]["description"] == "What is wanted."
    assert thing["x-kubernetes-group-version-kind"] == [{"group": "example.dev", "kind": "Thing", "version": "v1"}]
    assert "/apis/example.dev/v1/namespaces/{namespace}/things/{name}" in document["paths"]
    assert "dev.example.v1.ThingList" in load("/openapi/v2", api)["definitions"]


def test_unknown_documents_are_absent() -> None:
    api = OpenAPI(builtin_types, lambda: 0)
    assert api.get("/openapi/v3/apis/nosuch/v1") is None
    assert api.get("/openapi/v4") is None
