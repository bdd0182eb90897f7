"""HTTP and the direct transport ask the same authoriser."""

import pytest
from tests.apiserver.requests.conftest import Api, configmap

from karmada.apiserver.auth.model import UserInfo
from karmada.machinery import errors

BOB = UserInfo("bob", ("system:authenticated",))


async def test_a_stranger_is_refused_in_the_reference_s_words(server):
    bob = Api(server, BOB)
    with pytest.raises(errors.Forbidden) as refused:
        await bob.list("configmaps")
    assert refused.value.message == (
        'configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" '
        'in the namespace "default"'
    )


async def test_a_role_takes_effect_with_the_very_next_request(server, api):
    from karmada.machinery.transport import GroupVersionResource, Request, Verb

    group = "rbac.authorization.k8s.io"
    role = {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]}
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "bob", "apiGroup": group}],
    }
    for plural, body in (("roles", role), ("rolebindings", binding)):
        request = Request(Verb.CREATE, GroupVersionResource(group, "v1", plural), "default", body=body)
        await api.transport.send(request)
    assert await Api(server, BOB).create("configmaps", configmap("a"))


async def test_nobody_grants_more_than_they_have(server, api):
    from karmada.machinery.transport import GroupVersionResource, Request, Verb

    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [group], "resources": ["roles"], "verbs": ["create"]}]
    subject = {"kind": "User", "name": "bob", "apiGroup": group}
    for plural, body in (
        ("clusterroles", {"metadata": {"name": "maker"}, "rules": rules}),
        (
            "clusterrolebindings",
            {
                "metadata": {"name": "maker"},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "maker"},
                "subjects": [subject],
            },
        ),
    ):
        await api.transport.send(Request(Verb.CREATE, GroupVersionResource(group, "v1", plural), body=body))
    wanted = {"metadata": {"name": "x"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    request = Request(Verb.CREATE, GroupVersionResource(group, "v1", "roles"), "default", body=wanted)
    with pytest.raises(errors.Forbidden, match="attempting to grant RBAC permissions not currently held"):
        await server.direct(BOB).send(request)
