"""Descriptions of built-in kinds come from an installed package, or there is a pointer to them."""

import json
from pathlib import Path
from typing import Any

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.openapi import OpenAPI
from karmada.apiserver.openapi.descriptions import POINTER, Descriptions, installed

LEASE, SPEC = "io.k8s.api.coordination.v1.Lease", "io.k8s.api.coordination.v1.LeaseSpec"


def schemas(described: Descriptions) -> Any:
    body = OpenAPI(builtin_types, lambda: 0, described=described).get("/openapi/v3/apis/coordination.k8s.io/v1")
    assert body is not None
    return json.loads(body)["components"]["schemas"]


def index(described: Descriptions) -> str:
    body = OpenAPI(builtin_types, lambda: 0, described=described).get("/openapi/v3")
    assert body is not None
    return body.decode()


def written(folder: Path, version: str, text: str) -> Descriptions:
    source = folder / version / "_definitions.json"
    source.parent.mkdir()
    own = {"description": f"A {text}.", "properties": {"spec": {"description": f"What the {text} says."}}}
    source.write_text(json.dumps({"$defs": {LEASE: own}}))
    return Descriptions(source)


def test_kinds_and_fields_are_described_by_what_is_installed(tmp_path):
    found = schemas(written(tmp_path, "v1.36.0-local", "lease"))
    assert found[LEASE]["description"] == "A lease."
    assert found[LEASE]["properties"]["spec"]["description"] == "What the lease says."
    assert "description" not in found[LEASE]["properties"]["metadata"]
    assert "description" not in found[SPEC]


def test_a_kind_points_elsewhere_where_nothing_is_installed():
    found = schemas(Descriptions(None))
    assert found[LEASE]["description"] == POINTER
    assert "description" not in found[SPEC]


def test_clients_that_cache_documents_see_when_descriptions_change(tmp_path):
    older, newer = written(tmp_path, "v1.36.0-local", "lease"), written(tmp_path, "v1.37.0-local", "lease")
    assert len({index(Descriptions(None)), index(older), index(newer)}) == 3


def test_the_descriptions_of_a_version_that_is_not_installed_are_the_newest():
    assert installed("1.36").version == "v1.36.0-local"
    assert installed("1.9999").version > "v1.36"


def test_a_file_that_cannot_be_read_costs_the_words_only(tmp_path):
    broken = written(tmp_path, "v1.36.0-local", "lease")
    (tmp_path / "v1.36.0-local" / "_definitions.json").write_text("{")
    assert "description" not in schemas(broken)[LEASE]
