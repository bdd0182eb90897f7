"""What is said of a patch whose result is no object of its kind: the object is quoted as a real server holds it."""

import orjson
import pytest
from tests.apiserver.requests.conftest import configmap
from tests.apiserver.widgets import ANYTHING, definition, version

from karmada.apiserver.protobuf.fields import places
from karmada.apiserver.requests.patch_errors import quoted
from karmada.machinery import errors
from karmada.machinery.transport import PatchType

CONTAINER = {"name": "c", "image": "i"}
DEPLOYMENT = {
    "metadata": {"name": "d"},
    "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}},
    },
}
CONTAINER_AS_DECLARED = (
    '{"name":"c","image":"i","resources":{},"terminationMessagePath":"/dev/termination-log",'
    '"terminationMessagePolicy":"File","imagePullPolicy":"Always"}'
)


async def refusal(api, resource, name, patch, kind):
    """The quoted value and the reason."""
    with pytest.raises(errors.Invalid) as caught:
        await api.patch(resource, name, patch, kind)
    [cause] = caught.value.causes
    assert cause["field"] == "patch"
    text = cause["message"].removeprefix("Invalid value: ")
    end = text.index('": ') + 1
    return orjson.loads(text[:end]), text[end + 2 :]


@pytest.mark.parametrize(
    ("kind", "patch", "data"),
    [
        (
            PatchType.MERGE,
            {"data": {"b": {"z": 1, "y": [{"d": 1, "c": 1}]}}},
            '{"b":{"y":[{"c":1,"d":1}],"z":1},"k":"v"}',
        ),
        (PatchType.JSON, [{"op": "add", "path": "/data/b", "value": {"z": 1, "y": 2}}], '{"b":{"z":1,"y":2},"k":"v"}'),
    ],
    ids=["merge patch: sorted", "JSON patch: as given"],
)
async def test_what_a_patch_brings_is_quoted_as_it_was_merged(api, kind, patch, data):
    await api.create("configmaps", configmap("a", k="v"))
    shown, why = await refusal(api, "configmaps", "a", patch, kind)
    assert shown.startswith(
        f'{{"apiVersion":"v1","data":{data},"kind":"ConfigMap","metadata":{{"name":"a","namespace":'
    )
    assert why == "json: cannot unmarshal object into Go struct field ConfigMap.data of type string"


async def test_what_a_patch_leaves_alone_is_quoted_as_its_type_declares_it(api):
    await api.create("deployments", DEPLOYMENT)
    shown, why = await refusal(api, "deployments", "d", {"spec": {"replicas": "x"}}, PatchType.MERGE)
    assert CONTAINER_AS_DECLARED in shown
    assert '"spec":{"progressDeadlineSeconds":600,"replicas":"x","revisionHistoryLimit":10,"selector":' in shown
    assert why == "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"


async def test_a_strategic_patch_is_quoted_itself(api):
    await api.create("deployments", DEPLOYMENT)
    shown, _ = await refusal(api, "deployments", "d", {"spec": {"replicas": "x"}}, PatchType.STRATEGIC)
    assert shown == "map[spec:map[replicas:x]]"


async def test_a_strategic_patch_cannot_change_the_type_of_an_object(api):
    await api.create("deployments", DEPLOYMENT)
    patch = {"apiVersion": "apps/v9", "kind": "Other", "metadata": {"labels": {"l": "1"}}}
    answer = await api.patch("deployments", "d", patch, PatchType.STRATEGIC)
    assert (answer["apiVersion"], answer["kind"]) == ("apps/v1", "Deployment")
    assert answer["metadata"]["labels"] == {"l": "1"}


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("Secret", "illegal base64 data at input byte 0"),
        ("Pod", "converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
        ("Nothing", 'no kind "Nothing" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'),
        (
            5,
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind "
            "of type string",
        ),
    ],
    ids=["contents do not fit", "contents fit", "unknown", "no text"],
)
async def test_an_object_is_read_as_the_kind_that_it_names(api, kind, why):
    await api.create("configmaps", configmap("a", k="1"))
    assert (await refusal(api, "configmaps", "a", {"kind": kind}, PatchType.MERGE))[1] == why
    if isinstance(kind, str):
        with pytest.raises(errors.BadRequest) as caught:
            await api.create("configmaps", {"apiVersion": "v1", "kind": kind, **configmap("b", k="1")})
        assert caught.value.message == f'{kind} in version "v1" cannot be handled as a ConfigMap: {why}'


async def test_html_is_escaped_as_in_every_message_of_a_kubernetes_server(api):
    await api.create("configmaps", configmap("a", k="<"))
    shown, _ = await refusal(api, "configmaps", "a", {"kind": "Pod"}, PatchType.MERGE)
    assert '"data":{"k":"\\u003c"}' in shown


@pytest.fixture
async def widgets(api):
    await api.create("crds", definition())
    await api.create("widgets", {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}})
    return api


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "Other"}, 'Other.example.dev "w" is invalid: kind: Invalid value: "Other": must be Widget'),
        (
            {"apiVersion": "x/v9", "kind": "Other"},
            'Other.x "w" is invalid: [kind: Invalid value: "Other": must be Widget, '
            'apiVersion: Invalid value: "x/v9": must be example.dev/v1]',
        ),
    ],
    ids=["kind", "kind and version"],
)
async def test_a_custom_object_keeps_its_type(widgets, change, message):
    with pytest.raises(errors.Invalid) as caught:
        await widgets.patch("widgets", "w", change)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        (5, "json: cannot unmarshal number into Go value of type v1.ObjectMeta"),
        (
            {"labels": 5},
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        ({"labels": {"a": 5}}, "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
    ],
    ids=["metadata", "labels", "one label"],
)
async def test_metadata_of_custom_objects_is_decoded_by_type(widgets, metadata, why):
    body = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": metadata}
    with pytest.raises(errors.BadRequest) as caught:
        await widgets.create("widgets", body)
    assert caught.value.message == f'Widget in version "v1" cannot be handled as a Widget: {why}'
    shown, reason = await refusal(widgets, "widgets", "w", {"metadata": metadata}, PatchType.MERGE)
    assert reason == why
    assert shown.startswith('{"apiVersion":"example.dev/v1","kind":"Widget","metadata":')


def test_custom_objects_are_quoted_sorted():
    current = {"spec": {"z": 1, "a": {"y": 1, "b": 2}}}
    assert quoted(None, {**current, "kind": "K"}, current, None) == '{"kind":"K","spec":{"a":{"b":2,"y":1},"z":1}}'


def test_fields_that_a_type_takes_over_stand_where_it_takes_them_over():
    assert list(places("io.k8s.api.core.v1.ConfigMapKeySelector")) == ["name", "key", "optional"]


async def test_types_of_embedded_objects_are_texts(api):
    embedded = {**ANYTHING, "x-kubernetes-embedded-resource": True}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"inner": embedded}}}}
    await api.create("crds", definition(version(schema=schema)))
    body = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}
    await api.create("widgets", body)
    change = {"spec": {"inner": {"apiVersion": "v1", "kind": 5}}}
    why = "spec.inner.kind: Invalid value: 5: must be a string"
    with pytest.raises(errors.BadRequest) as caught:
        await api.update("widgets", {**body, **change})
    assert str(caught.value) == f'Widget in version "v1" cannot be handled as a Widget: {why}'
    _, reason = await refusal(api, "widgets", "w", change, PatchType.MERGE)
    assert reason == why


async def test_defaults_of_a_copied_part_stay_in_the_copy(api):
    await api.create("deployments", DEPLOYMENT | {"metadata": {"name": "d", "labels": {"app": "a"}}})
    copied = [{"op": "copy", "from": "/metadata/labels", "path": "/spec/strategy"}]
    patched = await api.patch("deployments", "d", copied, PatchType.JSON)
    assert patched["metadata"]["labels"] == {"app": "a"}
    assert patched["spec"]["strategy"]["type"] == "RollingUpdate"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [(PatchType.MERGE, ["no map"]), (PatchType.JSON, {"no": "list"}), (PatchType.STRATEGIC, "no map")],
    ids=["merge", "JSON", "strategic"],
)
async def test_that_there_is_no_such_object_is_said_before_what_is_wrong_with_a_patch(api, kind, patch):
    with pytest.raises(errors.NotFound, match='configmaps "a" not found'):
        await api.patch("configmaps", "a", patch, kind)
    await api.create("configmaps", configmap("a", k="v"))
    with pytest.raises(errors.BadRequest, match="error decoding patch"):
        await api.patch("configmaps", "a", patch, kind)
