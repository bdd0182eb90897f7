"""Nothing of a Secret is quoted in a refusal, wherever the Secret is; other things are, as by a real server."""

from copy import deepcopy

import pytest
from tests.apiserver.requests.conftest import RESOURCES, configmap
from tests.apiserver.widgets import definition

from karmada.apiserver.redaction import REDACTED, holds_secret
from karmada.machinery import errors
from karmada.machinery.transport import PatchType, Request, Verb

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s"},
    "data": {"password": "aHVudGVyMg=="},
}
WIDGET = {"apiVersion": "example.dev/v1", "kind": "Widget", "metadata": {"name": "w"}}
NESTED = {"manifests": [{"kind": "List", "items": [SECRET]}]}
IN_TEXT = {"file": "# a comment\nkind: Secret\ndata:\n  password: aHVudGVyMg==\n"}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": ["v"]}}


async def refusal_of(request):
    with pytest.raises(errors.ApiError) as caught:
        await request
    return f"{caught.value.message} {caught.value.causes}"


def assert_hidden(text):
    assert REDACTED in text
    assert "aHVudGVyMg" not in text
    assert "c2VjcmV0" not in text


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        pytest.param(PatchType.MERGE, {"password": 7, "token": "c2VjcmV0"}, id="merge patch"),
        pytest.param(PatchType.STRATEGIC, {"password": 7, "token": "c2VjcmV0"}, id="strategic merge patch"),
        pytest.param(PatchType.STRATEGIC, {"$patch": "c2VjcmV0"}, id="unknown directive"),
        pytest.param(PatchType.APPLY, ["c2VjcmV0"], id="applied, no map"),
        pytest.param(PatchType.APPLY, {"password": ["c2VjcmV0"]}, id="applied, no text"),
    ],
)
async def test_no_patch_of_a_secret_is_quoted(api, kind, data):
    await api.create("secrets", deepcopy(SECRET))
    options = {"fieldManager": "m"} if kind is PatchType.APPLY else {}
    patch = {**SECRET, "data": data} if kind is PatchType.APPLY else {"data": data}
    assert_hidden(await refusal_of(api.patch("secrets", "s", patch, kind, **options)))


@pytest.mark.parametrize(
    ("spec", "patch"),
    [
        pytest.param({"manifests": [SECRET]}, {}, id="held"),
        pytest.param(NESTED, {"spec": None}, id="held in a list, and taken away"),
        pytest.param(IN_TEXT, {}, id="held in a text"),
        pytest.param({}, {"spec": {"manifests": [SECRET]}}, id="brought by the patch"),
    ],
)
async def test_a_custom_object_that_holds_a_secret_is_not_quoted(api, spec, patch):
    await api.create("crds", definition())
    await api.create("widgets", deepcopy({**WIDGET, "spec": spec}))
    assert_hidden(await refusal_of(api.patch("widgets", "w", {**patch, "metadata": {"labels": 5}})))


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        pytest.param(PatchType.JSON, [{"op": "add", "path": "/data/s", "value": SECRET}], id="in a value"),
        pytest.param(PatchType.MERGE, SECRET, id="instead of another object"),
    ],
)
async def test_a_secret_brought_to_the_wrong_object_is_not_quoted(api, kind, patch):
    await api.create("configmaps", configmap("a", k="v"))
    assert_hidden(await refusal_of(api.patch("configmaps", "a", deepcopy(patch), kind)))


async def test_an_applied_secret_in_the_wrong_place_is_not_quoted(api):
    await api.create("crds", definition())
    config = deepcopy({**WIDGET, "spec": [SECRET]})
    assert_hidden(await refusal_of(api.patch("widgets", "w", config, PatchType.APPLY, fieldManager="m")))


async def test_what_holds_no_secret_is_quoted_when_applied(api):
    text = await refusal_of(api.patch("configmaps", "a", CONFIG, PatchType.APPLY, fieldManager="m"))
    wanted = '.data.k: expected string, got &value.valueUnstructured{Value:[]interface {}{"v"}}'
    assert text.startswith(f"failed to create typed patch object (/a; /v1, Kind=ConfigMap): {wanted}")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        pytest.param(b'{"kind":"ConfigMap"', '{"kind":"ConfigMap"', id="short"),
        pytest.param(b'{"kind":"ConfigMap","data":{"a":"hunter2"', '{"kind":"ConfigMap","data":{"a ...', id="long"),
        pytest.param(b'{"kind":5,"data":{"a":"hunter2"}}', '{"kind":5,"data":{"a":"hunter2 ...', id="no kind"),
        pytest.param(b"x" * 31, "78" * 30 + " ...", id="no JSON"),
        pytest.param(b'{"kind":"Secret","data":{"a":"', REDACTED, id="a secret"),
    ],
)
async def test_the_beginning_of_a_malformed_body_is_shown(api, body, shown):
    request = Request(Verb.CREATE, RESOURCES["configmaps"], "default", body=body)
    assert f" ({shown}) " in await refusal_of(api.transport.send(request))


@pytest.mark.parametrize(
    ("tree", "held"),
    [
        pytest.param({"items": [{"kind": "Secret"}]}, True, id="a kind"),
        pytest.param({"kind": "SecretList"}, True, id="a list of them"),
        pytest.param({"annotation": '{"kind":"Secret"}'}, True, id="in a text"),
        pytest.param({"kind": "SealedSecret"}, True, id="a kind of secret"),
        pytest.param({"imagePullSecrets": [{"name": "s"}], "secretRef": {"key": "k"}}, False, id="references"),
    ],
)
def test_a_secret_is_known_by_its_kind(tree, held):
    assert holds_secret(tree) is held
