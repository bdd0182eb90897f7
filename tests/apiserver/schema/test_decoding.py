"""Objects of built-in kinds: types are checked, unknown fields pruned, values brought into canonical form."""

from typing import Any

import pytest

from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.definitions import definition
from karmada.apiserver.schema.scalars import Mismatch

CORE, APPS = "io.k8s.api.core.v1.", "io.k8s.api.apps.v1."
CRD = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        pytest.param(CORE + "ConfigMap", {"data": {}, "metadata": None}, {"metadata": {}}, id="empty-map-vanishes"),
        pytest.param(
            "io.k8s.api.rbac.v1.Role", {"rules": []}, {"metadata": {}, "rules": None}, id="required-list-becomes-null"
        ),
        pytest.param(
            APPS + "ReplicaSetStatus", {"readyReplicas": 0}, {"replicas": 0}, id="zero-written-only-where-required"
        ),
        pytest.param(
            APPS + "DeploymentSpec",
            {"replicas": 0, "minReadySeconds": 0},
            {
                "replicas": 0,
                "selector": None,
                "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": None}},
            },
            id="pointer-keeps-zero",
        ),
        pytest.param(
            CORE + "ResourceRequirements",
            {"limits": {"cpu": 2, "memory": "1024Mi"}},
            {"limits": {"cpu": "2", "memory": "1Gi"}},
            id="quantities-are-canonical",
        ),
        pytest.param(
            "io.k8s.api.coordination.v1.LeaseSpec",
            {"renewTime": "2020-01-02T03:04:05.000000+01:00"},
            {"renewTime": "2020-01-02T02:04:05.000000Z"},
            id="times-are-utc",
        ),
        pytest.param(
            CORE + "ServicePort",
            {"port": 80, "targetPort": "http"},
            {"port": 80, "targetPort": "http"},
            id="int-or-string",
        ),
    ],
)
def test_canonical_form(name: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert decode(definition(name), given) == []
    assert given == expected


@pytest.mark.parametrize(
    ("given", "rest", "part"),
    [
        pytest.param("2020-01-01T00:00:00Z", "Z", ".000000", id="whole seconds"),
        pytest.param("2020-01-01T00:00:00.123Z", ".123Z", ".000000", id="milliseconds"),
        pytest.param("2020-01-01T00:00:00.1234567Z", "7Z", "Z07:00", id="finer"),
        pytest.param("yesterday", "yesterday", "2006", id="no time"),
    ],
)
def test_times_of_leases_have_microseconds(given: str, rest: str, part: str) -> None:
    with pytest.raises(Mismatch) as caught:
        decode(definition("io.k8s.api.coordination.v1.LeaseSpec"), {"renewTime": given})
    layout = "2006-01-02T15:04:05.000000Z07:00"
    assert str(caught.value) == f'parsing time "{given}" as "{layout}": cannot parse "{rest}" as "{part}"'


def test_unknown_fields_are_removed_and_reported_in_document_order() -> None:
    container = {"name": "c", "bogus": 1}
    obj = {
        "metadata": {"extra": 1},
        "spec": {"template": {"spec": {"containers": [{"name": "a"}, container]}}, "more": {"x": 1}},
    }
    unknown = decode(definition(APPS + "Deployment"), obj)
    assert unknown == ["metadata.extra", "spec.template.spec.containers[1].bogus", "spec.more"]
    assert "bogus" not in container
    assert "more" not in obj["spec"]


def test_opaque_parts_are_kept_whole() -> None:
    obj = {"data": {"any": [1, {"b": None}]}, "revision": 1}
    assert decode(definition(APPS + "ControllerRevision"), obj) == []
    assert obj["data"] == {"any": [1, {"b": None}]}


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        pytest.param(
            CORE + "ConfigMap",
            {"data": {"a": 5}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            id="map-value",
        ),
        pytest.param(
            APPS + "Deployment",
            {"spec": {"replicas": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
            id="fraction",
        ),
        pytest.param(
            APPS + "Deployment",
            {"spec": {"template": {"spec": {"containers": {}}}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers "
            "of type []v1.Container",
            id="list-of-objects",
        ),
        pytest.param(
            CORE + "Pod",
            {"spec": {"volumes": [{"configMap": {"name": 5}}]}},
            "json: cannot unmarshal number into Go struct field "
            "ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.LocalObjectReference.name of type string",
            id="taken-over-from-other-types",
        ),
        pytest.param(CORE + "Secret", {"data": {"a": "!!"}}, "illegal base64 data at input byte 0", id="base64"),
        pytest.param(
            APPS + "Deployment",
            {"spec": {"replicas": 2**31}},
            "json: cannot unmarshal number 2147483648 into Go struct field DeploymentSpec.spec.replicas of type int32",
            id="too-large",
        ),
        pytest.param(
            CRD,
            {"spec": {"versions": [{"subresources": {"status": 5}}]}},
            "json: cannot unmarshal number into Go struct field "
            "CustomResourceSubresources.spec.versions.subresources.status of type v1.CustomResourceSubresourceStatus",
            id="without-fields",
        ),
    ],
)
def test_wrong_types_are_refused_with_the_place(name: str, given: dict[str, Any], text: str) -> None:
    with pytest.raises(Mismatch) as caught:
        decode(definition(name), given)
    assert str(caught.value) == text


def test_an_object_without_fields_has_none() -> None:
    version: dict[str, Any] = {"subresources": {"status": {"x": {"y": 1}}}}
    assert decode(definition(CRD), {"spec": {"versions": [version]}}) == ["spec.versions[0].subresources.status.x"]
    assert version["subresources"] == {"status": {}}


def test_schemas_of_recursive_types_end() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"not": {"properties": {}, "bogus": 1}}}}
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    assert decode(definition(name), schema) == ["properties.a.not.bogus"]
    assert schema == {"type": "object", "properties": {"a": {"not": {}}}}


@pytest.mark.parametrize("text", ["YWI=", "YWI=\n", "YW\nI=\n", "YW\r\nI=\r\n", "Y\nWI\n=", "YWJ="])
def test_bytes_may_be_broken_into_lines_and_are_kept_in_one(text: str) -> None:
    secret = {"data": {"a": text}}
    decode(definition(CORE + "Secret"), secret)
    assert secret["data"] == {"a": "YWI="}


@pytest.mark.parametrize(
    ("text", "place"),
    [("YQ", 0), ("YQ=", 3), ("YQ==x", 4), ("YQ==\nx", 5), ("YQ== ", 4), ("Y===", 1), ("YW\tJj", 2), ("YWJj\nYQ", 5)],
)
def test_what_is_no_base64_is_refused_where_it_stops_to_be(text: str, place: int) -> None:
    with pytest.raises(Mismatch, match=f"at input byte {place}$"):
        decode(definition(CORE + "Secret"), {"data": {"a": text}})
