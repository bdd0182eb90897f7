"""Field selectors of built-in kinds: what is absent counts as Kubernetes counts it."""

from typing import Any

import orjson
import pytest

from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.transport import GroupVersionResource, Request, Verb

POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": POD_SPEC}
EVENT = {
    "metadata": {"name": "x"},
    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
    "reason": "Killing",
    "source": {"component": "kubelet"},
}
KINDS: dict[str, tuple[GroupVersionResource, dict[str, Any]]] = {
    "nodes": (GroupVersionResource("", "v1", "nodes"), {"metadata": {"name": "x"}}),
    "pods": (GroupVersionResource("", "v1", "pods"), {"metadata": {"name": "x"}, "spec": POD_SPEC}),
    "jobs": (
        GroupVersionResource("batch", "v1", "jobs"),
        {"metadata": {"name": "x"}, "spec": {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}},
    ),
    "replicasets": (
        GroupVersionResource("apps", "v1", "replicasets"),
        {"metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}},
    ),
    "events": (GroupVersionResource("", "v1", "events"), EVENT),
    "resourceslices": (
        GroupVersionResource("resource.k8s.io", "v1", "resourceslices"),
        {
            "metadata": {"name": "x"},
            "spec": {
                "driver": "d.example",
                "nodeName": "n",
                "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            },
        },
    ),
}


@pytest.mark.parametrize(
    ("kind", "selector", "found"),
    [
        ("nodes", "spec.unschedulable=false", True),
        ("nodes", "spec.unschedulable=true", False),
        ("pods", "spec.hostNetwork=false", True),
        ("pods", "spec.host=", True),
        ("pods", "spec.host!=", False),
        ("pods", "status.podIP=", True),
        ("pods", "status.podIPs=1.2.3.4", False),
        ("jobs", "status.successful=0", True),
        ("jobs", "status.successful!=0", False),
        ("events", "source=kubelet,involvedObject.kind=Pod", True),
        ("events", "source=other", False),
        ("resourceslices", "spec.driver=d.example,spec.nodeName=n", True),
        ("resourceslices", "spec.nodeName=other", False),
    ],
)
async def test_what_is_absent_can_be_selected(kind: str, selector: str, found: bool) -> None:
    async with ApiServer() as server:
        resource, body = KINDS[kind]
        namespace = "" if kind in ("nodes", "resourceslices") else "default"
        await server.direct(ADMIN).send(Request(Verb.CREATE, resource, namespace, body=body))
        assert bool(await listed(server, resource, namespace, selector)) is found


async def test_newer_events_are_selected_by_their_own_names() -> None:
    newer = GroupVersionResource("events.k8s.io", "v1", "events")
    async with ApiServer() as server:
        resource, body = KINDS["events"]
        await server.direct(ADMIN).send(Request(Verb.CREATE, resource, "default", body=body))
        assert await listed(server, newer, "default", "regarding.kind=Pod,reason=Killing")
        assert not await listed(server, newer, "default", "regarding.name=other")
        with pytest.raises(Exception, match=r"field label not supported: involvedObject\.kind"):
            await listed(server, newer, "default", "involvedObject.kind=Pod")


async def listed(server: ApiServer, resource: GroupVersionResource, namespace: str, selector: str) -> list[Any]:
    request = Request(Verb.LIST, resource, namespace, params={"fieldSelector": selector})
    items: list[Any] = orjson.loads(await server.direct(ADMIN).send(request))["items"]
    return items
