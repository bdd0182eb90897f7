"""Admission of requests for tokens: it judges and changes them like every other creation."""

import orjson
import pytest
from tests.apiserver.requests.conftest import Api, api, server

from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, Request, Verb

__all__ = ["api", "server"]

ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
GROUP = "admissionregistration.k8s.io"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["serviceaccounts/token"]}
MESSAGE = "tokens last ten minutes"


async def asked(api: Api, body, namespace: str = "default"):
    request = Request(Verb.CREATE, ACCOUNTS, namespace, "sa", "token", body=body)
    return orjson.loads(await api.transport.send(request))


async def token(api: Api, seconds: int, namespace: str = "default"):
    return await asked(api, {"spec": {"expirationSeconds": seconds}}, namespace)


async def account(api: Api, namespace: str = "default") -> None:
    await api.transport.send(Request(Verb.CREATE, ACCOUNTS, namespace, body={"metadata": {"name": "sa"}}))


async def put(api: Api, plural: str, name: str, **spec) -> None:
    body = {"metadata": {"name": name}, "spec": spec}
    await api.transport.send(Request(Verb.CREATE, GroupVersionResource(GROUP, "v1", plural), body=body))


async def test_a_policy_limits_tokens(api):
    await account(api)
    matched = {"matchConstraints": {"resourceRules": [RULE]}}
    check = {"expression": "object.spec.expirationSeconds <= 600", "message": MESSAGE}
    await put(api, "validatingadmissionpolicies", "p", validations=[check], **matched)
    await put(api, "validatingadmissionpolicybindings", "b", policyName="p", validationActions=["Deny"])
    assert (await token(api, 600))["status"]["token"]
    with pytest.raises(errors.Invalid, match=MESSAGE):
        await token(api, 601)


async def test_a_policy_sees_the_duration_and_audiences_that_nobody_gave(api):
    await account(api)
    matched = {"matchConstraints": {"resourceRules": [RULE]}}
    expression = "object.spec.expirationSeconds == 3600 && object.spec.audiences.size() == 1"
    await put(api, "validatingadmissionpolicies", "p", validations=[{"expression": expression}], **matched)
    await put(api, "validatingadmissionpolicybindings", "b", policyName="p", validationActions=["Deny"])
    for body in ({}, {"spec": {}}, {"spec": {"expirationSeconds": None, "audiences": []}}):
        made = await asked(api, body)
        assert made["spec"]["expirationSeconds"] == 3600
        assert len(made["spec"]["audiences"]) == 1


def as_patch(value: str):
    shorter = f"[JSONPatch{{op: 'replace', path: '/spec/expirationSeconds', value: {value}}}]"
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": shorter}}


def as_configuration(value: str):
    expression = f"Object{{spec: Object.spec{{expirationSeconds: {value}}}}}"
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


async def change(api: Api, mutation) -> None:
    matched = {"matchConstraints": {"resourceRules": [RULE]}, "reinvocationPolicy": "Never"}
    await put(api, "mutatingadmissionpolicies", "p", mutations=[mutation], **matched)
    await put(api, "mutatingadmissionpolicybindings", "b", policyName="p")


@pytest.mark.parametrize("form", [as_patch, as_configuration])
async def test_a_policy_shortens_tokens(api, form):
    await account(api)
    await change(api, form("600"))
    assert (await token(api, 3600))["spec"]["expirationSeconds"] == 600


async def test_a_policy_that_makes_something_else_of_a_request_gets_no_token(api):
    await account(api)
    await change(api, as_patch("'31536000'"))
    with pytest.raises(errors.BadRequest, match="cannot unmarshal string into Go struct field"):
        await token(api, 3600)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"spec": {"expirationSeconds": "31536000"}}, "cannot unmarshal string"),
        ({"spec": {"audiences": "abc"}}, "cannot unmarshal string"),
        ({"spec": [1]}, "cannot unmarshal array"),
        ({"metadata": "x"}, "cannot unmarshal string"),
        ({"kind": "Foo"}, 'no kind "Foo" is registered'),
        ({"apiVersion": "authentication.k8s.io/v1beta1"}, "is registered for version"),
        ([1], "must be a TokenRequest"),
    ],
    ids=str,
)
async def test_what_is_no_request_for_a_token_gets_none(api, body, message):
    await account(api)
    with pytest.raises(errors.BadRequest, match=message):
        await asked(api, body)


async def test_a_namespace_that_ends_gives_no_tokens(api):
    await api.create("namespaces", {"metadata": {"name": "n", "finalizers": ["a.example.com/b"]}})
    await account(api, "n")
    assert await token(api, 600, "n")
    await api.delete("namespaces", "n")
    with pytest.raises(errors.Forbidden, match="because it is being terminated"):
        await token(api, 600, "n")
