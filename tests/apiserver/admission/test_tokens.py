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


async def token(api: Api, seconds: int, namespace: str = "default"):
    body = {"spec": {"expirationSeconds": seconds}}
    return orjson.loads(await api.transport.send(Request(Verb.CREATE, ACCOUNTS, namespace, "sa", "token", body=body)))


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


async def test_a_policy_shortens_tokens(api):
    await account(api)
    shorter = "[JSONPatch{op: 'replace', path: '/spec/expirationSeconds', value: 600}]"
    patch = {"patchType": "JSONPatch", "jsonPatch": {"expression": shorter}}
    matched = {"matchConstraints": {"resourceRules": [RULE]}, "reinvocationPolicy": "Never"}
    await put(api, "mutatingadmissionpolicies", "p", mutations=[patch], **matched)
    await put(api, "mutatingadmissionpolicybindings", "b", policyName="p")
    assert (await token(api, 3600))["spec"]["expirationSeconds"] == 600


async def test_a_namespace_that_ends_gives_no_tokens(api):
    await api.create("namespaces", {"metadata": {"name": "n", "finalizers": ["a.example.com/b"]}})
    await account(api, "n")
    assert await token(api, 600, "n")
    await api.delete("namespaces", "n")
    with pytest.raises(errors.Forbidden, match="because it is being terminated"):
        await token(api, 600, "n")
