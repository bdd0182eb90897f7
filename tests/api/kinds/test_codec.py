"""Bytes to typed objects and back: nothing is lost, and what is wrong is said with its place."""

import contextlib
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from karmada.api import codec
from karmada.api.autoscaling.v1alpha1 import FederatedHPA
from karmada.api.base import ABSENT, Struct
from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec
from karmada.api.kinds import BY_TYPE
from karmada.api.meta import ObjectMeta, Status, StatusCause, StatusDetails
from karmada.api.policy.v1alpha1 import OverridePolicy, PropagationPolicy
from karmada.api.work.v1alpha1 import Work
from karmada.api.work.v1alpha2 import AggregatedStatusItem, ResourceBinding

RESOURCE = '"resource":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=5), children, max_size=3),
    max_leaves=8,
)

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
patiently = settings(deadline=None, suppress_health_check=SLOW)
sparingly = settings(patiently, max_examples=25)


@cache
def objects(type_: Any) -> st.SearchStrategy[Any]:
    """Any value of an API type."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        return objects(arguments[0])
    if origin in (Union, UnionType):
        return st.one_of([objects(argument) for argument in arguments])
    if origin is tuple:
        return st.lists(objects(arguments[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(max_size=6), objects(arguments[1]), max_size=2)
    if origin is Literal:
        return st.sampled_from(arguments)
    if type_ is msgspec.Raw:
        return JSON.map(codec.raw)
    if isinstance(type_, type) and issubclass(type_, Struct):
        fields = msgspec.structs.fields(type_)
        required = {field.name: objects(field.type) for field in fields if field.required}
        optional = {field.name: objects(field.type) for field in fields if not field.required}
        return st.fixed_dictionaries(required, optional=optional).map(lambda values: type_(**values))
    return {
        str: st.text(max_size=8),
        int: st.integers(-(2**63), 2**63 - 1),
        bool: st.booleans(),
        NoneType: st.none(),
    }[type_]


@pytest.mark.parametrize(
    "type_", [*BY_TYPE, Status], ids=lambda type_: f"{type_.__module__.split('.', 2)[2]}.{type_.__name__}"
)
def test_every_kind_survives_encoding_and_decoding(type_: type[Struct]) -> None:
    @sparingly
    @given(objects(type_))
    def survives(value: Struct) -> None:
        data = codec.encode(value)
        assert codec.decode(data, type_) == value
        assert codec.encode(codec.decode(data, type_)) == data
        assert codec.from_tree(codec.to_tree(value), type_) == value

    survives()


WRONG_SHAPES = {
    "scalar for object": (ResourceBinding, '{"spec":{"resource":3}}', "$.spec.resource", "object", "int"),
    "text for number": (FederatedHPA, '{"spec":{"maxReplicas":"3"}}', "$.spec.maxReplicas", "int", "str"),
    "fraction for number": (FederatedHPA, '{"spec":{"maxReplicas":1.5}}', "$.spec.maxReplicas", "int", "float"),
    "inside a list": (Work, '{"status":{"conditions":[{"type":[]}]}}', "$.status.conditions[0].type", "str", "array"),
    "missing": (ResourceBinding, '{"spec":{}}', "$.spec", "field `resource`", "an object without it"),
    "inside a map": (Work, '{"metadata":{"labels":{"a":"b","c":7}}}', '$.metadata.labels["c"]', "str", "int"),
    "other kind": (ResourceBinding, '{"kind":"Deployment"}', "$.kind", "'ResourceBinding'", "'Deployment'"),
    "other version": (Work, '{"apiVersion":"apps/v1"}', "$.apiVersion", "'work.karmada.io/v1alpha1'", "'apps/v1'"),
    "list for object": (PropagationPolicy, "[]", "$", "object", "array"),
    "nothing for object": (PropagationPolicy, "null", "$", "object", "null"),
    "no text": (PropagationPolicy, "", "$", "JSON", "malformed text (Input data was truncated)"),
    "half a text": (PropagationPolicy, "{", "$", "JSON", "malformed text (Input data was truncated)"),
    "text with a tail": (Work, "0 0", "$", "JSON", "malformed text (JSON is malformed: trailing characters (byte 3))"),
    "not UTF-8": (Work, b'{"kind":"\xff"}', "$", "JSON", "text that is not UTF-8 (byte 0)"),
    "too deep": (Work, '{"status":' + "[" * 100_000, "$", "JSON", "values nested too deeply"),
}


@pytest.mark.parametrize(("type_", "text", "path", "expected", "given"), WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_wrong_shape_is_one_error_that_says_where_and_what(
    type_: type[Struct], text: str | bytes, path: str, expected: str, given: str
) -> None:
    with pytest.raises(codec.DecodeError) as caught:
        codec.decode(text, type_)
    assert (caught.value.path, caught.value.expected, caught.value.given) == (path, expected, given)
    assert str(caught.value) == f"{path}: expected {expected}, got {given}"


def test_absent_required_fields_are_zero_values_for_those_who_ask() -> None:
    given = {"spec": {"clusters": [{}, {"name": "m"}, None], "resource": None}}
    binding = codec.from_tree(given, ResourceBinding, complete=True)
    assert [target.name for target in binding.spec.clusters] == ["", "m", ""]
    assert binding.spec.resource.kind == ""
    assert codec.from_tree({"spec": {}}, ResourceBinding, complete=True).spec.clusters == ()


@patiently
@given(JSON, st.sampled_from([ResourceBinding, PropagationPolicy, Work, Cluster, OverridePolicy]))
def test_any_document_decodes_or_raises_the_one_error(document: Any, type_: type[Struct]) -> None:
    for candidate in (document, {"spec": document}, {"metadata": document, "spec": {"resource": document}}):
        with contextlib.suppress(codec.DecodeError):
            assert isinstance(codec.from_tree(candidate, type_), type_)


@patiently
@given(st.binary(max_size=40))
def test_any_bytes_decode_or_raise_the_one_error(data: bytes) -> None:
    with contextlib.suppress(codec.DecodeError):
        assert isinstance(codec.decode(data, Work), Work)


def test_null_is_as_absent_and_zero_where_something_is_required() -> None:
    text = f"""{{
        "metadata": {{"creationTimestamp": null, "labels": null, "annotations": {{"a": null}}, "finalizers": [null]}},
        "spec": {{{RESOURCE}, "clusters": null, "requiredBy": [{{"name": null, "clusters": null}}]}},
        "status": {{"aggregatedStatus": [{{"clusterName": "m1", "status": {{"kept": null}}}}]}}
    }}"""
    binding = codec.decode(text, ResourceBinding)
    assert binding.metadata == ObjectMeta(annotations={"a": ""}, finalizers=("",))
    assert binding.spec.clusters == ()
    assert [(snapshot.name, snapshot.clusters) for snapshot in binding.spec.required_by] == [("", ())]
    assert codec.tree(binding.status.aggregated_status[0].status) == {"kept": None}


def with_nulls(type_: Any, tree: Any) -> Any:
    """The tree of an object with a null for every field that is not there and need not be."""
    if get_origin(type_) is Annotated:
        return with_nulls(get_args(type_)[0], tree)
    if get_origin(type_) in (Union, UnionType):
        struct = next((t for t in get_args(type_) if isinstance(t, type) and issubclass(t, Struct)), None)
        return with_nulls(struct, tree) if struct and tree is not None else tree
    if get_origin(type_) is tuple:
        return [with_nulls(get_args(type_)[0], item) for item in tree]
    if not isinstance(type_, type) or not issubclass(type_, Struct):
        return tree
    optional = [f for f in msgspec.structs.fields(type_) if not f.required and f.default is not ABSENT]
    nulls = {field.encode_name: None for field in optional if field.encode_name not in ("apiVersion", "kind")}
    types = {field.encode_name: field.type for field in msgspec.structs.fields(type_)}
    return nulls | {name: with_nulls(types[name], value) for name, value in tree.items()}


@patiently
@given(objects(ResourceBinding))
def test_nulls_in_every_place_change_nothing(binding: ResourceBinding) -> None:
    assert codec.from_tree(with_nulls(ResourceBinding, codec.to_tree(binding)), ResourceBinding) == binding


def test_many_nulls_are_repaired_in_few_rounds() -> None:
    """Each round reads the whole document, so a round per null would let a document of nulls keep a reader busy."""
    clusters = [{"name": None, "replicas": None} for _ in range(20_000)]
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    binding = codec.from_tree({"spec": {"resource": resource, "clusters": clusters}}, ResourceBinding)
    assert {(cluster.name, cluster.replicas) for cluster in binding.spec.clusters} == {("", 0)}


def test_a_document_with_nulls_still_says_what_else_is_wrong() -> None:
    with pytest.raises(codec.DecodeError) as caught:
        codec.decode(f'{{"spec":{{{RESOURCE},"clusters":null,"replicas":"many"}}}}', ResourceBinding)
    assert caught.value.path == "$.spec.replicas"


def test_open_fields_keep_the_bytes_they_came_in() -> None:
    manifest = b'{"b":1.0, "a":[1e2,null]}'
    work = codec.decode(b'{"spec":{"workload":{"manifests":[' + manifest + b"]}}}", Work)
    assert bytes(work.spec.workload.manifests[0]) == manifest
    assert manifest in codec.encode(work)
    assert codec.tree(work.spec.workload.manifests[0]) == {"b": 1.0, "a": [100.0, None]}


def test_absent_open_field_is_none_and_is_not_written() -> None:
    item = AggregatedStatusItem(cluster_name="m1")
    assert codec.tree(item.status) is None
    assert codec.to_tree(item) == {"clusterName": "m1"}


def test_broken_content_of_an_open_field_is_the_same_error() -> None:
    with pytest.raises(codec.DecodeError, match="malformed"):
        codec.tree(msgspec.Raw(b"{"))


def test_a_tree_with_things_that_are_no_json_is_the_same_error() -> None:
    with pytest.raises(codec.DecodeError, match="JSON values"):
        codec.from_tree({"spec": {"resource": object()}}, ResourceBinding)


def test_words_outside_a_vocabulary_are_data() -> None:
    cluster = codec.decode('{"spec":{"syncMode":"Carry"}}', Cluster)
    assert cluster == Cluster(spec=ClusterSpec(sync_mode="Carry"))


def test_unknown_fields_are_ignored() -> None:
    assert codec.decode('{"spec":{"syncMode":"Pull","later":1}}', Cluster).spec.sync_mode == "Pull"


def test_required_fields_are_written_even_when_empty() -> None:
    policy = codec.to_tree(codec.decode('{"spec":{}}', PropagationPolicy))
    assert policy == {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "spec": {"resourceSelectors": []},
    }


def test_status_error_has_the_shape_clients_expect() -> None:
    status = Status(
        status="Failure",
        message='Work.work.karmada.io "w" is invalid',
        reason="Invalid",
        details=StatusDetails(name="w", kind="Work", causes=(StatusCause(reason="FieldValueRequired", field="spec"),)),
        code=422,
    )
    assert orjson.loads(codec.encode(status)) == {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": 'Work.work.karmada.io "w" is invalid',
        "reason": "Invalid",
        "details": {"name": "w", "kind": "Work", "causes": [{"reason": "FieldValueRequired", "field": "spec"}]},
        "code": 422,
    }
