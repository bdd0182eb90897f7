"""Small requests about large stored objects: nothing large is decoded, merged or encoded on the event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Thread, current_thread
from typing import Any

import orjson
import pytest
from tests.apiserver.requests.conftest import Api, configmap
from tests.apiserver.requests.test_large_bodies import DEPLOYMENTS, TEMPLATE, no_other_thread

from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.apiserver.requests import offload
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.served_resource import Served
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.apiserver.storage.base import Value
from karmada.apiserver.watchcache import Index
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.transport import PatchType

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
TABLE, PARTIAL = (f"application/json;as={form};v=v1;g=meta.k8s.io" for form in ("Table", "PartialObjectMetadata"))
MERGE = PatchType.MERGE.value
LABEL = {"metadata": {"labels": {"a": "b"}}}
LARGE = {f"{number}": "x" * 40 for number in range(offload.LARGE // 40)}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}

SMALL_REQUESTS: list[tuple[str, str, str, Any]] = [
    ("DELETE", f"{CONFIGMAPS}/a?dryRun=All", "", None),
    ("DELETE", f"{CONFIGMAPS}/a?propagationPolicy=Foreground", "", None),
    ("DELETE", CONFIGMAPS, "", None),
    ("PUT", f"{CONFIGMAPS}/a", "application/json", configmap("a")),
    ("PATCH", f"{CONFIGMAPS}/a", MERGE, LABEL),
    ("PATCH", f"{CONFIGMAPS}/a", PatchType.JSON.value, [{"op": "add", "path": "/data/b", "value": "c"}]),
    ("PATCH", f"{CONFIGMAPS}/a", PatchType.STRATEGIC.value, LABEL),
    ("PATCH", f"{CONFIGMAPS}/a", PatchType.APPLY.value, {"apiVersion": "v1", "kind": "ConfigMap", **LABEL}),
    ("PATCH", f"{DEPLOYMENTS}/a/status", MERGE, {"status": {"replicas": 1}}),
    ("PATCH", f"{DEPLOYMENTS}/a/scale", MERGE, {"spec": {"replicas": 2}}),
    ("GET", f"{DEPLOYMENTS}/a/scale", "", None),
    ("POST", f"{PODS}/a/eviction", "application/json", EVICTION),
]


async def send(
    server: ApiServer, method: str, target: str, media: str = "", body: Any = None, accept: str = ""
) -> HttpResponse:
    """A request over HTTP, without a connection."""
    path, _, query = target.partition("?")
    headers = {"content-type": media, "accept": accept}
    given = b"" if body is None else orjson.dumps(body)
    request = HttpRequest(method, path, query or "fieldManager=tests", headers, given, ("127.0.0.1", 1), None)
    answer = await HttpDispatcher(server.dispatcher, lambda request: ADMIN, server.api_services)(request)
    assert isinstance(answer, HttpResponse)
    return answer


async def store_malformed(server: ApiServer, group: str, plural: str) -> None:
    """Store something large that cannot be decoded: whoever tries it fails."""
    value = Value(b'{"metadata":{"resourceVersion":"', b'"}' + b"}" * offload.LARGE)
    await server.store.create((group, plural), "default", "a", value, Index("uid", {}, (), {}))


async def waits_for_the_thread(answer: Awaitable[Any]) -> bool:
    """Whether an answer is still awaited after the event loop had many turns; ends it."""
    async with no_other_thread():
        task = asyncio.ensure_future(answer)
        for _ in range(20):
            await asyncio.sleep(0)
        waiting = not task.done()
    await asyncio.gather(task, return_exceptions=True)
    return waiting


@pytest.mark.parametrize(("method", "target", "media", "body"), SMALL_REQUESTS)
async def test_no_large_object_is_decoded_on_the_event_loop(
    server: ApiServer, failures: list[str], method: str, target: str, media: str, body: Any
) -> None:
    for group, plural in (("", "configmaps"), ("apps", "deployments"), ("", "pods")):
        await store_malformed(server, group, plural)
    assert await waits_for_the_thread(send(server, method, target, media, body))
    assert "JSONDecodeError" in failures[-1]


async def test_no_large_object_is_decoded_on_the_event_loop_for_callers_in_the_process(server: ApiServer) -> None:
    await store_malformed(server, "", "configmaps")
    api = Api(server)
    assert await waits_for_the_thread(api.patch("configmaps", "a", LABEL))
    assert await waits_for_the_thread(api.delete("configmaps", "a"))


async def test_tables_of_large_objects_are_made_beside_the_event_loop(server: ApiServer, api: Api) -> None:
    await api.create("configmaps", {**configmap("a"), "data": LARGE})
    assert await waits_for_the_thread(send(server, "GET", f"{CONFIGMAPS}/a", accept=TABLE))
    answer = await send(server, "GET", f"{CONFIGMAPS}/a", accept=TABLE)
    assert orjson.loads(answer.body)["rows"][0]["cells"][:2] == ["a", len(LARGE)]


async def test_metadata_of_large_objects_is_all_that_is_read_of_them(server: ApiServer, api: Api) -> None:
    await api.create("configmaps", {**configmap("a"), "data": LARGE})
    assert not await waits_for_the_thread(send(server, "GET", f"{CONFIGMAPS}/a", accept=PARTIAL))
    answer = await send(server, "GET", f"{CONFIGMAPS}/a", accept=PARTIAL)
    metadata = (await api.get("configmaps", "a"))["metadata"]
    assert orjson.loads(answer.body) == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
    }


class Observed(Served):
    """A served resource that remembers in which thread its objects are encoded."""

    def __init__(self, served: Served) -> None:
        super().__init__(served.type, served.converter, served.since)
        self.threads: set[Thread] = set()

    def encode(self, obj: JSONObject) -> Value:
        self.threads.add(current_thread())
        return super().encode(obj)


Work = Callable[[Api, dict[str, Any]], Awaitable[Any]]
WRITES: dict[str, Work] = {
    "update": lambda api, obj: api.update("configmaps", {**obj, "data": {"a": "b"}}),
    "patch": lambda api, obj: api.patch("configmaps", "a", LABEL),
    "mark": lambda api, obj: api.delete("configmaps", "a", propagationPolicy="Orphan"),
    "delete": lambda api, obj: api.delete("configmaps", "a"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("data", [LARGE, {"small": "x"}], ids=["large", "small"])
async def test_large_objects_are_encoded_in_another_thread_and_small_ones_are_not(
    server: ApiServer, api: Api, write: Work, data: dict[str, str]
) -> None:
    obj = await api.create("configmaps", {**configmap("a"), "data": data})
    served = server.catalog.find("", "v1", "configmaps")
    assert served is not None
    observed = Observed(served)
    server.catalog.replace([("", "v1", "configmaps")], [observed])
    await write(api, obj)
    assert observed.threads
    assert (current_thread() in observed.threads) == (data is not LARGE)


async def test_the_final_state_of_a_deleted_object_is_answered_at_its_revision(server: ApiServer, api: Api) -> None:
    spec = TEMPLATE["spec"]
    await api.create("pods", {"metadata": {"name": "a", "annotations": LARGE}, "spec": spec})
    deleted = await api.delete("pods", "a")
    assert deleted["metadata"]["resourceVersion"] == str(server.store.revision)
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == 0
    await api.create("configmaps", {**configmap("a"), "data": LARGE})
    marked = await api.delete("configmaps", "a", propagationPolicy="Orphan", dryRun="All")
    assert marked["metadata"]["finalizers"] == ["orphan"]
    assert marked["data"] == LARGE
