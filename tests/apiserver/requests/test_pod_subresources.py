"""Bindings and evictions: never stored, but decoded and judged like everything that is."""

import pytest

from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, Request, Verb

POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
SHOWN = (
    "object.?metadata.?managedFields.hasValue() ? "
    "object.metadata.managedFields[0].manager + ' by ' + object.metadata.managedFields[0].subresource : 'nobody'"
)
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods/binding", "pods/eviction"]}
POLICY = {
    "metadata": {"name": "show"},
    "spec": {
        "matchConstraints": {"resourceRules": [RULE]},
        "validations": [{"expression": "false", "messageExpression": SHOWN}],
    },
}


@pytest.fixture
async def pod(api):
    await api.create("pods", POD)
    return api


@pytest.fixture
async def showing_owners(pod):
    """A server that refuses both with a message that says who owns what they hold."""
    binding = {"metadata": {"name": "show"}, "spec": {"policyName": "show", "validationActions": ["Deny"]}}
    for plural, body in (("validatingadmissionpolicies", POLICY), ("validatingadmissionpolicybindings", binding)):
        group = GroupVersionResource("admissionregistration.k8s.io", "v1", plural)
        await pod.transport.send(Request(Verb.CREATE, group, body=body))
    return pod


@pytest.mark.parametrize(
    ("subresource", "body", "owner"),
    [
        ("binding", {"target": {"kind": "Node", "name": "n"}}, "tests by binding"),
        ("eviction", {"deleteOptions": {"gracePeriodSeconds": 5}}, "tests by eviction"),
        ("eviction", {}, "nobody"),
    ],
    ids=["binding", "eviction with options", "empty eviction"],
)
async def test_admission_sees_who_owns_what(showing_owners, subresource, body, owner):
    with pytest.raises(errors.Invalid, match=f"denied request: {owner}$"):
        await showing_owners.send("create", "pods", "p", {"metadata": {"name": "p"}, **body}, subresource=subresource)


@pytest.mark.parametrize(
    ("subresource", "body", "why"),
    [
        ("binding", {"metadata": 5}, "number into Go struct field Binding.metadata of type v1.ObjectMeta"),
        ("binding", {"target": []}, "array into Go struct field Binding.target of type v1.ObjectReference"),
        ("eviction", {"metadata": {"name": 5}}, "number into Go struct field ObjectMeta.metadata.name of type string"),
    ],
    ids=["metadata", "target", "name"],
)
async def test_what_does_not_fit_its_type_is_refused(pod, subresource, body, why):
    with pytest.raises(errors.BadRequest, match=f"cannot unmarshal {why}$"):
        await pod.send("create", "pods", "p", body, subresource=subresource)
