"""The generated CRDs are committed as they are generated, accept the documented manifests, and match the reference.

The comparison with the reference needs `../shared/crds` beside the repository; without it those cases do not exist.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import orjson
import pytest
import yaml

from karmada.api import codec
from karmada.api.crd.definition import definition, with_conversion_webhook
from karmada.api.crd.files import FOLDER, files, write
from karmada.api.crd.schema import root_schema
from karmada.api.kinds import BY_NAME, KINDS, Home, Kind

REFERENCES = sorted((Path(__file__).parents[4] / "shared" / "crds").glob("*.json"))
DIALECT_MANIFESTS = list(yaml.safe_load_all((Path(__file__).parent / "data" / "dialect.yaml").read_text()))

_MAP_OPERATORS = ["add", "remove", "replace"]

# Everything that is deliberately more than, or laxer than, the reference: (end of the path, ours, reference).
# `...` on our side is a field that the reference does not have.
DIALECT: tuple[tuple[str, Any, Any], ...] = (
    ("replicaScheduling.dynamicWeight", ..., None),
    (
        "replicaScheduling.replicaDivisionPreference.enum",
        ["Aggregated", "Weighted", "Dynamic"],
        ["Aggregated", "Weighted"],
    ),
    ("staticWeightList.items.weight.minimum", 0, 1),
    ("failover.applicationMigrationPolicy", ..., None),
    ("failover.failback", ..., None),
    ("failover.disruptionBudget", ..., None),
    ("failover.fencing", ..., None),
    ("failover.rescheduleTriggers", ..., None),
    ("work.karmada.io.v1alpha2.spec.failbackTriggeredAt", ..., None),
    ("work.karmada.io.v1alpha2.status.unhealthySince", ..., None),
    ("labelsOverrider.items.operator.enum", [*_MAP_OPERATORS, "addIfAbsent"], _MAP_OPERATORS),
    (
        "annotationsOverrider.items.operator.enum",
        ["add", "remove", "replace", "addIfAbsent"],
        ["add", "remove", "replace"],
    ),
    ("overriders.replicasOverrider", ..., None),
    ("overriders.resourcesOverrider", ..., None),
    ("multiclusterservices.networking.karmada.io.v1alpha1.spec.ports.items.targetPort", ..., None),
    ("multiclusteringresses.networking.karmada.io.v1alpha1.spec.template", ..., None),
    ("multiclusteringresses.networking.karmada.io.v1alpha1.status.conditions", ..., None),
    # Defaults inside a list would make every client-side apply a change.
    ("v1alpha1.spec.rules.items.suspend.default", None, False),
    ("v1alpha1.spec.rules.items.successfulHistoryLimit.default", None, 3),
    ("v1alpha1.spec.rules.items.failedHistoryLimit.default", None, 3),
)

Difference = tuple[str, Any, Any]


def differences(path: str, ours: Any, reference: Any) -> Iterator[Difference]:
    if isinstance(ours, dict) and isinstance(reference, dict):
        for key in ours.keys() | reference.keys():
            step = "" if key in ("properties", "openAPIV3Schema", "schema") else f".{key}"
            if key == "description" and isinstance(ours.get(key), str):
                continue
            if key not in reference:
                yield path + step, ..., None
            else:
                yield from differences(path + step, ours.get(key), reference[key])
    elif ours != reference:
        yield path, ours, reference


def by_version(crd: dict[str, Any]) -> dict[str, Any]:
    """The CRD with its list of versions as a mapping, so that paths name them."""
    versions = {version["name"]: version for version in crd["spec"]["versions"]}
    return crd | {"spec": crd["spec"] | {"versions": list(versions)}} | versions


@pytest.mark.parametrize("file", REFERENCES, ids=lambda file: file.stem)
def test_structure_differs_from_the_reference_only_by_the_dialect(file: Path) -> None:
    reference = orjson.loads(file.read_bytes())
    kind = BY_NAME[reference["spec"]["group"], reference["spec"]["names"]["kind"]]
    ours = definition(kind)
    name = ours["metadata"]["name"]

    found = differences(name, by_version(ours), by_version(reference))

    assert [
        difference
        for difference in found
        if not any(difference[0].endswith(end) and difference[1:] == (mine, theirs) for end, mine, theirs in DIALECT)
    ] == []


def test_committed_manifests_are_what_is_generated() -> None:
    committed = {str(file.relative_to(FOLDER)): file.read_text() for file in FOLDER.rglob("*.yaml")}
    assert committed == dict(files()), "run `make crds`"


def test_writing_replaces_changed_files_and_removes_stale_ones(tmp_path: Path) -> None:
    (tmp_path / "gone.karmada.io_things.yaml").write_text("stale")
    (tmp_path / "work.karmada.io_works.yaml").write_text("changed")

    write(tmp_path)

    assert {str(file.relative_to(tmp_path)): file.read_text() for file in tmp_path.rglob("*.yaml")} == dict(files())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_field_is_described(kind: Kind) -> None:
    def undescribed(path: str, schema: dict[str, Any]) -> Iterator[str]:
        for name, child in schema.get("properties", {}).items():
            if not child.get("description") and f"{path}.{name}" != ".metadata":
                yield f"{path}.{name}"
            yield from undescribed(f"{path}.{name}", child)
            yield from undescribed(f"{path}.{name}[]", child.get("items", {}))

    for version in kind.versions:
        assert list(undescribed("", root_schema(version.type))) == []


def violations(path: str, schema: dict[str, Any], value: Any) -> Iterator[str]:
    """What strict field validation would complain about, for the parts of OpenAPI these schemas use."""
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("x-kubernetes-int-or-string"):
        return
    python: type[Any] = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}[schema["type"]]
    if type(value) is not python:
        yield f"{path}: {value!r} is no {schema['type']}"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from violations(f"{path}[{index}]", schema["items"], item)
    elif isinstance(value, dict) and "properties" in schema:
        yield from (f"{path}: {name} is missing" for name in schema.get("required", ()) if name not in value)
        for name, child in value.items():
            if name in schema["properties"]:
                yield from violations(f"{path}.{name}", schema["properties"][name], child)
            else:
                yield f"{path}: {name} is unknown"
    elif value not in schema.get("enum", [value]):
        yield f"{path}: {value!r} is not allowed"
    elif "minimum" in schema and value < schema["minimum"]:
        yield f"{path}: {value} is too small"


@pytest.mark.parametrize("manifest", DIALECT_MANIFESTS, ids=lambda m: f"{m['kind']}-{m['metadata']['name']}")
def test_documented_manifest_passes_strict_validation_and_survives_the_codec(manifest: dict[str, Any]) -> None:
    group, _, version_name = manifest["apiVersion"].partition("/")
    kind = BY_NAME[group, manifest["kind"]]
    version = next(version for version in kind.versions if version.name == version_name)
    schema = root_schema(version.type)
    schema["properties"]["metadata"]["x-kubernetes-preserve-unknown-fields"] = True

    assert list(violations("", schema, manifest)) == []
    assert _without_empty(codec.to_tree(codec.from_tree(manifest, version.type))) == _without_empty(manifest)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_empty(child) for key, child in value.items() if child != ""}
    return [_without_empty(child) for child in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.home is not Home.AGGREGATED], ids=lambda kind: kind.kind
)
def test_every_crd_is_one_that_kubernetes_knows(kind: Kind) -> None:
    kubernetes_validate.validate(definition(kind), "1.36", strict=True)


def test_conversion_webhook_is_set_only_where_there_are_several_versions() -> None:
    client_config = {"url": "https://127.0.0.1/convert"}
    converted = {
        kind.kind for kind in KINDS if "conversion" in with_conversion_webhook(definition(kind), client_config)["spec"]
    }
    assert converted == {"ResourceBinding", "ClusterResourceBinding"}
