"""Server-side apply beyond what is recorded: refusals in words, list order, migration, subresources."""

import copy
from typing import Any

import orjson
import pytest

from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.managedfields import ApplyConflict, apply, reset_fields, scale_config, track_update
from karmada.apiserver.managedfields.checking import check
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.decoding import decode
from karmada.apiserver.schema.model import Schema
from karmada.apiserver.schema.openapi import from_openapi, no_references
from karmada.machinery.httpserver.failure import Failure

JSONObject = dict[str, Any]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def resource(plural: str) -> ResourceType:
    return next(t for t in builtin_types() if t.plural == plural)


def deployment(spec: JSONObject, metadata: JSONObject | None = None) -> JSONObject:
    named = {"name": "d", "namespace": "n", **(metadata or {})}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": named, "spec": spec}


def put(
    live: JSONObject | None, config: JSONObject, manager: str = "m", force: bool = False, subresource: str = ""
) -> JSONObject:
    kind = resource("deployments")
    return apply(
        live, config, kind.schema, manager, force, "apps/v1", subresource, "now", reset_fields(kind, subresource)
    )


def pod(*containers: JSONObject) -> JSONObject:
    return {"template": {"spec": {"containers": list(containers)}}}


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        pytest.param({"replicas": "x"}, ".spec.replicas: expected numeric (int or float), got string", id="number"),
        pytest.param({"paused": "x"}, ".spec.paused: expected boolean, got &{", id="boolean"),
        pytest.param(
            pod({"name": "c", "env": [{"name": "A", "value": 8080}]}),
            '.spec.template.spec.containers[name="c"].env[name="A"].value: expected string, '
            "got &value.valueUnstructured{Value:8080}",
            id="string",
        ),
        pytest.param({"template": []}, ".spec.template: expected map, got &{[]}", id="map"),
        pytest.param(
            {"template": {"spec": {"containers": {"a": 1}}}},
            ".spec.template.spec.containers: expected list, got &{map[a:1]}",
            id="list",
        ),
        pytest.param({"replica": 1}, ".spec.replica: field not declared in schema", id="undeclared"),
        pytest.param(
            pod({"name": "c"}, {"name": "c"}),
            '.spec.template.spec.containers: duplicate entries for key [name="c"]',
            id="duplicate",
        ),
        pytest.param(
            {"replicas": "x", "bogus": 1},
            "errors:\n  .spec.replicas: expected numeric (int or float), got string\n"
            "  .spec.bogus: field not declared in schema",
            id="several",
        ),
    ],
)
def test_a_configuration_that_does_not_fit_the_schema_is_refused(spec: JSONObject, complaint: str) -> None:
    with pytest.raises(Failure) as refusal:
        put(None, deployment(spec))
    assert refusal.value.code == 500
    prefix = "failed to create typed patch object (n/d; apps/v1, Kind=Deployment): "
    assert refusal.value.message.startswith(prefix + complaint)


def test_a_list_item_without_its_key_is_refused() -> None:
    item = Schema(type="object", properties={"port": Schema(type="integer")})
    ports = Schema(type="array", items=item, list_type="map", list_keys=("port",))
    with pytest.raises(
        Failure, match=r'element 0: associative list with keys has an element that omits all key fields \["port"\]'
    ):
        apply(
            None,
            {"metadata": {"name": "x"}, "ports": [{}]},
            Schema(properties={"ports": ports}),
            "m",
            False,
            "v1",
            "",
            "t",
        )


def test_sent_managed_fields_are_refused() -> None:
    with pytest.raises(Failure, match="managedFields must be nil") as refusal:
        put(None, deployment({}, {"managedFields": []}))
    assert refusal.value.code == 400


def test_applied_items_keep_their_order_and_others_their_place() -> None:
    live = put(None, deployment(pod(*({"name": name} for name in "abcd"))), "other")
    result = put(live, deployment(pod({"name": "x"}, {"name": "d"}, {"name": "b"})))
    names = [item["name"] for item in result["spec"]["template"]["spec"]["containers"]]
    assert names == ["a", "c", "x", "d", "b"]


def test_conflicts_with_several_managers_are_listed_by_manager() -> None:
    live = put(None, deployment({"replicas": 1, "minReadySeconds": 1}), "a")
    new = copy.deepcopy(live)
    new["metadata"]["uid"] = live["metadata"]["uid"] = "u"
    new["spec"]["minReadySeconds"] = 2
    kind = resource("deployments")
    track_update(live, new, kind.schema, "b", "apps/v1", "", "now", reset_fields(kind, ""))
    with pytest.raises(ApplyConflict) as refusal:
        put(new, deployment({"replicas": 5, "minReadySeconds": 5}), "c")
    assert refusal.value.message == (
        "Apply failed with 2 conflicts: "
        'conflicts with "a":\n- .spec.replicas\nconflicts with "b" using apps/v1:\n- .spec.minReadySeconds'
    )


def test_what_client_side_apply_set_is_no_conflict_for_kubectl() -> None:
    config = deployment({"replicas": 1})
    annotated = deployment({"replicas": 1}, {"annotations": {LAST_APPLIED: orjson.dumps(config).decode()}, "uid": "u"})
    kind = resource("deployments")
    track_update(None, annotated, kind.schema, "kubectl-client-side-apply", "apps/v1", "", "then")
    with pytest.raises(ApplyConflict):
        put(annotated, deployment({"replicas": 3}), "someone")
    migrated = put(annotated, deployment({"replicas": 3}), "kubectl")
    assert migrated["spec"]["replicas"] == 3
    assert orjson.loads(migrated["metadata"]["annotations"][LAST_APPLIED])["spec"] == {"replicas": 3}


def test_a_field_changed_since_client_side_apply_is_a_conflict_for_kubectl() -> None:
    config = deployment({"replicas": 1})
    annotated = deployment({"replicas": 2}, {"annotations": {LAST_APPLIED: orjson.dumps(config).decode()}, "uid": "u"})
    track_update(None, annotated, resource("deployments").schema, "scaler", "apps/v1", "", "then")
    with pytest.raises(ApplyConflict):
        put(annotated, deployment({"replicas": 3}), "kubectl")


def test_the_status_subresource_owns_status_alone() -> None:
    live = put(None, deployment({"replicas": 1}))
    config = {**deployment({"replicas": 9}), "status": {"replicas": 4}}
    result = put(live, config, "controller", subresource="status")
    assert result["spec"] == {"replicas": 1}
    assert result["status"] == {"replicas": 4}
    entry = next(item for item in result["metadata"]["managedFields"] if item["manager"] == "controller")
    assert entry["fieldsV1"] == {"f:status": {"f:replicas": {}}}
    assert entry["subresource"] == "status"


def test_applying_a_scale_owns_the_replicas_of_the_scaled_object() -> None:
    live = put(None, deployment({"minReadySeconds": 1}))
    result = put(live, scale_config(live, 7), "scaler", subresource="scale")
    assert result["spec"] == {"minReadySeconds": 1, "replicas": 7}
    entry = next(item for item in result["metadata"]["managedFields"] if item["manager"] == "scaler")
    assert entry["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
    assert "time" not in entry


def test_apply_changes_neither_the_live_object_nor_the_configuration() -> None:
    live = put(None, deployment(pod({"name": "a", "image": "1"})))
    config = deployment(pod({"name": "a", "image": "2"}))
    before = copy.deepcopy((live, config))
    result = put(live, config)
    result["spec"]["template"]["spec"]["containers"][0]["image"] = "3"
    assert (live, config) == before


def test_an_empty_list_of_entries_survives_decoding_because_it_resets_ownership() -> None:
    kind = resource("configmaps")
    obj: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "managedFields": []}}
    decode(kind.schema, obj)
    live = {"metadata": {"name": "x", "uid": "u", "managedFields": [{"manager": "m"}]}}
    track_update(live, obj, kind.schema, "m", "v1", "", "now")
    assert "managedFields" not in obj["metadata"]


@pytest.mark.parametrize(
    ("before", "after"), [(1, True), (False, 0), ({"a": 1}, {"a": True}), ([{"a": 1}], [{"a": True}])], ids=repr
)
def test_a_number_that_becomes_a_boolean_is_a_change(before: Any, after: Any) -> None:
    free = Schema(properties={"spec": Schema(preserve_unknown=True)})

    def put_free(live: JSONObject | None, value: Any) -> JSONObject:
        config = {"metadata": {"name": "x"}, "spec": {"value": value}}
        return apply(live, config, free, "m", False, "v1", "", "now")

    result = put_free(put_free(None, before), after)
    assert orjson.dumps(result["spec"]["value"]) == orjson.dumps(after)


def test_one_of_several_keys_distinguishes_a_list_item() -> None:
    item = Schema(type="object", properties={"device": Schema(type="string"), "share": Schema(type="string")})
    devices = Schema(type="array", items=item, list_type="map", list_keys=("device", "share"))
    config = {"metadata": {"name": "x"}, "devices": [{"device": "a"}, {"device": "a", "share": "b"}]}
    made = apply(None, config, Schema(properties={"devices": devices}), "m", False, "v1", "", "t")
    [entry] = made["metadata"]["managedFields"]
    assert set(entry["fieldsV1"]["f:devices"]) >= {'k:{"device":"a"}', 'k:{"device":"a","share":"b"}'}


@pytest.mark.parametrize(("format_", "value"), [("date-time", 1.5), ("duration", True), ("int-or-string", 1)])
def test_a_string_with_a_format_is_any_scalar_until_it_is_validated(format_, value):
    schema = from_openapi({"type": "object", "properties": {"f": {"type": "string", "format": format_}}}, no_references)
    config = {"apiVersion": "e/v1", "kind": "Thing", "metadata": {"name": "o"}}
    check({**config, "f": value}, schema)
    with pytest.raises(Failure, match=r"\.f: expected any scalar, got &\{map\[a:1\]\}"):
        check({**config, "f": {"a": 1}}, schema)
