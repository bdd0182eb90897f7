"""HTTP and the direct transport ask the same authoriser."""

import pytest
from tests.apiserver.requests.conftest import Api, configmap

from karmada.apiserver.auth.model import UserInfo
from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

GROUP = "rbac.authorization.k8s.io"
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
    role = {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]}
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "bob", "apiGroup": GROUP}],
    }
    for plural, body in (("roles", role), ("rolebindings", binding)):
        request = Request(Verb.CREATE, GroupVersionResource(GROUP, "v1", plural), "default", body=body)
        await api.transport.send(request)
    assert await Api(server, BOB).create("configmaps", configmap("a"))


async def test_nobody_grants_more_than_they_have(server, api):
    rules = [{"apiGroups": [GROUP], "resources": ["roles"], "verbs": ["create"]}]
    subject = {"kind": "User", "name": "bob", "apiGroup": GROUP}
    for plural, body in (
        ("clusterroles", {"metadata": {"name": "maker"}, "rules": rules}),
        (
            "clusterrolebindings",
            {
                "metadata": {"name": "maker"},
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "maker"},
                "subjects": [subject],
            },
        ),
    ):
        await api.transport.send(Request(Verb.CREATE, GroupVersionResource(GROUP, "v1", plural), body=body))
    wanted = {"metadata": {"name": "x"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}
    request = Request(Verb.CREATE, GroupVersionResource(GROUP, "v1", "roles"), "default", body=wanted)
    with pytest.raises(errors.Forbidden, match="attempting to grant RBAC permissions not currently held"):
        await server.direct(BOB).send(request)


LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
SERVICES = GroupVersionResource("", "v1", "services")
PODS = GroupVersionResource("", "v1", "pods")
WAYS = ("exec", "attach", "portforward")


async def grant(api: Api, *verbs: str) -> None:
    """Let bob do some things with services, their status, leases, and what leads into pods."""
    resources = ["services", "services/status", "leases", *(f"pods/{way}" for way in WAYS)]
    rules = [{"apiGroups": ["", LEASES.group], "resources": resources, "verbs": [*verbs]}]
    binding = {
        "roleRef": {"apiGroup": GROUP, "kind": "Role", "name": "x"},
        "subjects": [{"kind": "User", "name": "bob", "apiGroup": GROUP}],
    }
    for plural, body in (("roles", {"rules": rules}), ("rolebindings", binding)):
        type_ = GroupVersionResource(GROUP, "v1", plural)
        tree = {"metadata": {"name": "x"}, **body}
        verb = Verb.UPDATE if "create" in verbs else Verb.CREATE
        name = "x" if verb is Verb.UPDATE else ""
        await api.transport.send(Request(verb, type_, "default", name, body=tree))


def making(how: str, name: str) -> Request:
    """A change of something that is not there, in all ways that create it."""
    service = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
    match how:
        case "update":
            return Request(Verb.UPDATE, LEASES, "default", name, body={"metadata": {"name": name}, "spec": {}})
        case "apply":
            subresource = ""
        case _:
            subresource = "status"
    head = {"apiVersion": "v1", "kind": "Service"}
    params = {"fieldManager": "x"}
    return Request(Verb.PATCH, SERVICES, "default", name, subresource, params, head | service, PatchType.APPLY)


@pytest.mark.parametrize("how", ["update", "apply", "apply to status"])
async def test_who_may_change_what_is_there_does_not_create_what_is_not(server, api, how):
    await grant(api, "get", "update", "patch")
    bob = server.direct(BOB)
    with pytest.raises(errors.Forbidden, match='"bob" cannot create resource'):
        await bob.send(making(how, "made"))
    await api.transport.send(making(how, "made"))
    if how != "update":  # it would have to name the version
        await bob.send(making(how, "made"))
    await grant(api, "get", "update", "patch", "create")
    await bob.send(making(how, "other"))


@pytest.mark.parametrize("way", WAYS)
async def test_who_may_read_everything_does_not_enter_pods_by_a_websocket(server, api, way):
    await grant(api, "get")
    bob = server.direct(BOB)
    with pytest.raises(errors.Forbidden, match=f'"bob" cannot create resource "pods/{way}"'):
        await bob.send(Request(Verb.GET, PODS, "default", "nosuch", way))
    await grant(api, "get", "create")
    with pytest.raises(errors.NotFound):
        await bob.send(Request(Verb.GET, PODS, "default", "nosuch", way))
