"""Devices: admin access is for labelled namespaces, and taints are known by their time."""

import orjson
import pytest
from tests.apiserver.requests.conftest import Api, api

from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery import errors
from karmada.machinery.transport import GroupVersionResource, Request, Verb

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
