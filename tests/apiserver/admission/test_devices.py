"""Devices: admin access is for labelled namespaces, and taints are known by their time."""

import orjson
import pytest
from tests.apiserver.requests.conftest import Api, api

from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, PatchType, Request, Verb

__all__ = ["api"]

CLAIMS = GroupVersionResource("resource.k8s.io", "v1", "resourceclaims")
TEMPLATES = GroupVersionResource("resource.k8s.io", "v1", "resourceclaimtemplates")
SLICES = GroupVersionResource("resource.k8s.io", "v1", "resourceslices")
LABEL = "resource.kubernetes.io/admin-access"
WHY = f"adminAccess: Forbidden: admin access to devices requires the `{LABEL}: true` label on the containing namespace"


async def send(client: Api, verb: Verb, resource, body, namespace="default", **more):
    name = "" if verb is Verb.CREATE else body["metadata"]["name"]
    return orjson.loads(await client.transport.send(Request(verb, resource, namespace, name, body=body, **more)))


def claim(admin: bool):
    exactly = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1, "adminAccess": admin}
    first = {"name": "a", "exactly": {**exactly, "adminAccess": False}}
    requests = [first, {"name": "b", "exactly": exactly}]
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}


@pytest.fixture
async def server():
    async with ApiServer(ApiServerOptions(now=lambda: 1_700_000_000.0)) as running:
        yield running


@pytest.fixture
async def labelled(api: Api) -> Api:
    await api.create("namespaces", {"metadata": {"name": "admins", "labels": {LABEL: "true"}}})
    return api


@pytest.mark.parametrize("resource", [CLAIMS, TEMPLATES], ids=["claim", "template"])
async def test_admin_access_is_for_labelled_namespaces(labelled, resource):
    def body():
        made = claim(admin=True)
        return made if resource == CLAIMS else {**made, "spec": {"spec": made["spec"]}}

    with pytest.raises(errors.Invalid) as caught:
        await send(labelled, Verb.CREATE, resource, body())
    assert caught.value.message.endswith(f'"c" is invalid: spec.devices.requests[1].{WHY}')
    assert await send(labelled, Verb.CREATE, resource, body(), "admins")


async def test_who_wants_no_admin_access_needs_no_label(api):
    assert await send(api, Verb.CREATE, CLAIMS, claim(admin=False))


async def test_admin_access_is_granted_in_labelled_namespaces_only(labelled):
    result = {"request": "a", "driver": "d.example.com", "pool": "p", "device": "x", "adminAccess": True}
    for namespace in ("admins", "default"):
        made = await send(labelled, Verb.CREATE, CLAIMS, claim(admin=False), namespace)
        made["status"] = {"allocation": {"devices": {"results": [result]}}}
        if namespace == "admins":
            assert await send(labelled, Verb.UPDATE, CLAIMS, made, namespace, subresource="status")
            continue
        with pytest.raises(errors.Invalid) as caught:
            await send(labelled, Verb.UPDATE, CLAIMS, made, namespace, subresource="status")
        assert caught.value.message.endswith(f"status.allocation.devices.results[0].{WHY}")


def result(driver: str):
    return {"request": "a", "driver": driver, "pool": "p", "device": "x"}


def device(driver: str, **said):
    return {"driver": driver, "pool": "p", "device": "x", "data": said}


HERE = [{"key": "metadata.name", "operator": "In", "values": ["here"]}]
ALLOCATED = {
    "devices": {"results": [result("one.example.com"), result("two.example.com")]},
    "nodeSelector": {"nodeSelectorTerms": [{"matchFields": HERE}]},
}
RBAC = "rbac.authorization.k8s.io"
EVE = UserInfo("eve", ("system:authenticated",))


@pytest.fixture
async def allocated(api: Api) -> Api:
    """A claim with the devices of two drivers, on one node."""
    await send(api, Verb.CREATE, CLAIMS, claim(admin=False))
    await say(api, allocation=ALLOCATED)
    return api


async def say(client: Api, **status) -> None:
    """Change the status of the claim."""
    body = {"metadata": {"name": "c"}, "status": status}
    await send(client, Verb.PATCH, CLAIMS, body, subresource="status", patch_type=PatchType.MERGE)


async def let(api: Api, user: str, name: str, what: str, *verbs: str, names=()) -> None:
    """Let somebody do something with claims everywhere."""
    rule = {"apiGroups": [CLAIMS.group], "resources": [what], "verbs": [*verbs], "resourceNames": [*names]}
    binding = {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": user, "apiGroup": RBAC}],
    }
    for plural, body in (("clusterroles", {"rules": [rule]}), ("clusterrolebindings", binding)):
        type_ = GroupVersionResource(RBAC, "v1", plural)
        await send(api, Verb.CREATE, type_, {"metadata": {"name": name}, **body}, "")


async def test_a_claim_is_allocated_and_reserved_by_who_may_bind_claims(allocated):
    eve = Api(allocated.server, EVE)
    await let(allocated, "eve", "status", "resourceclaims/status", "patch", "update")
    reserved = [{"resource": "pods", "name": "p", "uid": "u"}]
    for status in ({"reservedFor": reserved}, {"allocation": None}):
        with pytest.raises(errors.Invalid, match='resource="resourceclaims/binding", verb="patch" permission'):
            await say(eve, **status)
    await let(allocated, "eve", "one", "resourceclaims/binding", "patch", names=["c"])
    with pytest.raises(errors.Invalid, match="resourceclaims/binding"):  # in which claims is not asked
        await say(eve, reservedFor=reserved)
    await let(allocated, "eve", "all", "resourceclaims/binding", "patch")
    await say(eve, reservedFor=reserved)
    made = await send(allocated, Verb.GET, CLAIMS, {"metadata": {"name": "c"}})
    del made["status"]["reservedFor"]
    with pytest.raises(errors.Invalid, match='verb="update"'):
        await send(eve, Verb.UPDATE, CLAIMS, made, subresource="status")


async def test_of_a_device_its_driver_speaks(allocated):
    eve = Api(allocated.server, EVE)
    await let(allocated, "eve", "status", "resourceclaims/status", "patch")
    await let(allocated, "eve", "one", "resourceclaims/driver", "arbitrary-node:patch", names=["one.example.com"])
    await say(eve, devices=[device("one.example.com", a=1)])
    both = [device("one.example.com", a=1), device("two.example.com", a=1)]
    with pytest.raises(errors.Invalid, match=r'verb="\[arbitrary-node:patch\]" permission: .*"two\.example\.com"'):
        await say(eve, devices=both)
    await say(allocated, devices=both)
    for devices in (both[:1], [both[0], device("two.example.com", a=2)]):
        with pytest.raises(errors.Invalid, match=r"two\.example\.com"):
            await say(eve, devices=devices)
    await say(eve, devices=both[1:])
    await say(allocated, allocation=None)


@pytest.mark.parametrize(("node", "may"), [("here", True), ("there", False), ("", False)])
async def test_a_driver_on_the_node_of_a_claim_speaks_with_a_right_to_its_own_node(allocated, node, may):
    name = "system:serviceaccount:drivers:one"
    extra = {"authentication.kubernetes.io/node-name": (node,)} if node else {}
    driver = Api(allocated.server, UserInfo(name, ("system:authenticated",), "", extra))
    await let(allocated, name, "status", "resourceclaims/status", "patch")
    await let(allocated, name, "own", "resourceclaims/driver", "associated-node:patch")
    if may:
        await say(driver, devices=[device("one.example.com")])
        return
    with pytest.raises(errors.Invalid, match=r"\[arbitrary-node:patch\]"):
        await say(driver, devices=[device("one.example.com")])


async def test_a_taint_of_a_device_says_since_when_it_is(api):
    taints = [
        {"key": "k", "effect": "NoSchedule"},
        {"key": "l", "effect": "NoSchedule", "timeAdded": "2020-01-01T00:00:00Z"},
    ]
    spec = {
        "driver": "d.example.com",
        "nodeName": "n",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "x", "taints": taints}],
    }
    made = await send(api, Verb.CREATE, SLICES, {"metadata": {"name": "s"}, "spec": spec}, "")
    [first, second] = made["spec"]["devices"][0]["taints"]
    assert first["timeAdded"] == "2023-11-14T22:13:20Z"
    assert second["timeAdded"] == "2020-01-01T00:00:00Z"
