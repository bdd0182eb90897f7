"""What a webhook server answers to an API server's reviews."""

import asyncio
import base64
from typing import Any

import orjson
import pytest

from karmada.api import json_patch
from karmada.api.feature_gates import DEFAULTS
from karmada.webhook.configurations import by_url, configurations
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.reviews import BadReview, Settings, answered, difference
from karmada.webhook.server import answers


class Nothing:
    """A lookup that knows no objects."""

    async def list(self, api_version: str, kind: str, namespace: str = "") -> list[dict[str, Any]]:
        return []

    async def replace_status(self, api_version: str, kind: str, tree: dict[str, Any], dry_run: bool) -> None:
        raise AssertionError("there is nothing to write")


PATHS = answers(Settings(Nothing(), DEFAULTS))
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "p", "namespace": "shop"},
    "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "placement": {}},
}
BINDING = {
    "apiVersion": "work.karmada.io/v1alpha2",
    "kind": "ResourceBinding",
    "metadata": {"name": "web-deployment", "namespace": "shop"},
    "spec": {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
        "replicas": 3,
        "replicaRequirements": {"resourceRequest": {"cpu": "100m"}},
        "clusters": [{"name": "member1", "replicas": 3}],
    },
}


def ask(path: str, request: dict[str, Any]) -> dict[str, Any]:
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1"} | request}
    answer = asyncio.run(answered(orjson.dumps(body), PATHS[path]))
    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    assert answer["response"]["uid"] == "u-1"
    response: dict[str, Any] = answer["response"]
    return response


def test_a_mutation_is_a_patch_that_leads_to_the_completed_object() -> None:
    request = {"operation": "CREATE", "namespace": "shop", "name": "p", "object": POLICY}
    response = ask("/mutate-propagationpolicy", request)
    assert response["allowed"] is True
    patched = json_patch.apply(POLICY, orjson.loads(base64.b64decode(response["patch"])))
    assert patched["spec"]["resourceSelectors"][0]["namespace"] == "shop"
    assert patched["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"]
    again = ask("/mutate-propagationpolicy", request | {"operation": "UPDATE", "object": patched, "oldObject": patched})
    assert "patch" not in again


@pytest.mark.parametrize("managers", [["karmada-controller-manager"], ["karmada-controller-manager", "kubectl"]])
def test_nobody_keeps_a_record_of_who_owns_the_fields_of_what_controllers_make(managers: list[str]) -> None:
    entries = [{"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {}}} for manager in managers]
    made = BINDING | {"metadata": BINDING["metadata"] | {"managedFields": entries}}
    request = {"operation": "CREATE", "namespace": "shop", "name": "web-deployment", "object": made}
    response = ask("/mutate-resourcebinding", request)
    patched = json_patch.apply(made, orjson.loads(base64.b64decode(response["patch"])))
    assert ("managedFields" in patched["metadata"]) is ("kubectl" in managers)


def test_a_refusal_has_the_reason_for_the_user() -> None:
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "other"}]
    bad = POLICY | {"spec": {"resourceSelectors": selectors, "placement": {}}}
    bad["metadata"] = bad["metadata"] | {"labels": {"propagationpolicy.karmada.io/permanent-id": "x"}}
    request = {"operation": "CREATE", "namespace": "shop", "name": "p", "object": bad}
    response = ask("/validate-propagationpolicy", request)
    assert response["allowed"] is False
    assert response["status"]["code"] == 403
    assert "namespace of resource selector" in response["status"]["message"]


def test_an_object_of_another_shape_is_a_bad_request() -> None:
    broken = POLICY | {"spec": {"resourceSelectors": "all of them"}}
    request = {"operation": "CREATE", "namespace": "shop", "name": "p", "object": broken}
    assert ask("/validate-propagationpolicy", request)["status"]["code"] == 400


def test_a_protected_object_stays() -> None:
    protected = {"metadata": {"name": "n", "labels": {"resourcetemplate.karmada.io/deletion-protected": "Always"}}}
    request = {"operation": "DELETE", "name": "n", "object": None, "oldObject": protected}
    assert ask("/validate-resourcedeletionprotection", request)["allowed"] is False


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"request": {}}', b'{"request": {"uid": "1", "operation": "CONNECT"}}'],
    ids=["nothing", "list", "no-request", "no-uid", "operation-nobody-judges"],
)
def test_what_is_no_review_is_said_to_be_none(body: bytes) -> None:
    with pytest.raises(BadReview):
        asyncio.run(answered(body, PATHS["/mutate-work"]))


def convert(objects: list[Any], version: str) -> dict[str, Any]:
    review = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "c-1", "desiredAPIVersion": f"work.karmada.io/{version}", "objects": objects},
    }
    response: dict[str, Any] = asyncio.run(answered(orjson.dumps(review), PATHS["/convert"]))["response"]
    return response


def test_bindings_are_converted_there_and_back() -> None:
    down = convert([BINDING], "v1alpha1")
    assert down["result"]["status"] == "Success"
    [old] = down["convertedObjects"]
    assert old["spec"]["resource"]["replicas"] == 3
    assert old["spec"]["resource"]["resourcePerReplicas"] == {"cpu": "100m"}
    [new] = convert([old], "v1alpha2")["convertedObjects"]
    assert new["spec"]["replicas"] == 3
    assert new["spec"]["clusters"] == BINDING["spec"]["clusters"]


def test_a_version_nobody_knows_fails_with_a_reason() -> None:
    response = convert([BINDING], "v9")
    assert response["result"]["status"] == "Failure"
    assert "v9" in response["result"]["message"]


def test_a_difference_touches_only_what_differs() -> None:
    before = {"kind": "Work", "metadata": {"name": "w"}, "status": {}}
    after = {"kind": "Work", "metadata": {"name": "w", "labels": {"a": "b"}}, "spec": {}}
    operations = difference(before, after)
    assert {operation["path"] for operation in operations} == {"/metadata", "/spec", "/status"}
    assert json_patch.apply(before, operations) == after


def test_every_configured_webhook_has_somebody_who_answers() -> None:
    mutating, validating = configurations(by_url("https://127.0.0.1:8443", "Q0E="))
    assert (mutating["metadata"]["name"], validating["metadata"]["name"]) == ("mutating-config", "validating-config")
    urls = [hook["clientConfig"]["url"] for hook in mutating["webhooks"] + validating["webhooks"]]
    served = {f"https://127.0.0.1:8443{path}" for path in PATHS}
    assert set(urls) == served - {"https://127.0.0.1:8443/convert"}
    assert len(urls) == len(set(urls))


def test_configurations_say_how_patient_and_harmless_each_webhook_is() -> None:
    _, validating = configurations(by_url("https://127.0.0.1:8443", "Q0E="))
    hooks = {hook["name"]: hook for hook in validating["webhooks"]}
    assert hooks["resourcebinding.karmada.io"]["sideEffects"] == "NoneOnDryRun"
    assert hooks["resourceinterpretercustomization.karmada.io"]["timeoutSeconds"] == 10
    protection = hooks["resourcedeletionprotection.karmada.io"]
    assert protection["rules"][0]["operations"] == ["DELETE"]
    assert protection["objectSelector"]["matchExpressions"][0]["operator"] == "Exists"
    assert all(hook["failurePolicy"] == "Fail" for hook in hooks.values())


def test_handlers_have_names_of_their_own() -> None:
    names = [handler.name for handler in HANDLERS]
    assert len(names) == len(set(names))
