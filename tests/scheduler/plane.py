"""A control plane in memory with a scheduler on it, in virtual time."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from karmada.aggregated.cluster_type import cluster_type
from karmada.api.crd.definition import definitions
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import Storage
from karmada.machinery.client import Client
from karmada.machinery.errors import Gone
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Request, Transport, WatchStream
from karmada.scheduler.service import AccurateEstimator, Scheduler, SchedulerOptions
from karmada.testing.blueprint import Blueprint
from karmada.testing.loop import VirtualClock, run_virtual

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
WIDE_BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings")
EVENTS = GroupVersionResource("", "v1", "events")

Tree = dict[str, Any]
DYNAMIC = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}


class Watched:
    """A transport that lets a test see and refuse the scheduler's requests, act before one, and break its watch."""

    def __init__(self, inner: Transport, clock: VirtualClock) -> None:
        self._inner = inner
        self._clock = clock
        self.requests: list[Request] = []
        self.before_request: Callable[[Request], Awaitable[None] | None] | None = None
        self.loses_events: set[GroupVersionResource] = set()
        """Collections whose events are lost, so that all has to be loaded again a moment later."""

    async def send(self, request: Request) -> bytes:
        self.requests.append(request)
        if self.before_request is not None:
            acting = self.before_request(request)
            if acting is not None:
                await acting
        return await self._inner.send(request)

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        async with self._inner.watch(request) as stream:
            yield self._events(stream, request.resource)

    async def _events(self, stream: WatchStream, type_: GroupVersionResource) -> WatchStream:
        async for batch in stream:
            if type_ in self.loses_events:
                await self._clock.sleep(0.1)
                self.loses_events.discard(type_)
                raise Gone("the revision is too old")
            yield batch

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        return await self._inner.raw(method, path, body, accept)

    async def close(self) -> None:
        await self._inner.close()


class Plane:
    """The hub as a test sees it."""

    def __init__(self, client: Client, scheduler: Scheduler, clock: VirtualClock, watched: Watched) -> None:
        self.client = client
        self.scheduler = scheduler
        self.clock = clock
        self._watched = watched

    @property
    def requests(self) -> list[Request]:
        return self._watched.requests

    @property
    def before_request(self) -> Callable[[Request], Awaitable[None] | None] | None:
        return self._watched.before_request

    @before_request.setter
    def before_request(self, check: Callable[[Request], Awaitable[None] | None] | None) -> None:
        self._watched.before_request = check

    def lose_events(self, type_: GroupVersionResource = BINDINGS) -> None:
        """What happens to a collection now is found out by loading it again."""
        self._watched.loses_events.add(type_)

    async def join(self, name: str, pods: int = 100, **spec: Any) -> None:
        metadata = {"name": name, "labels": spec.pop("labels", {}), "finalizers": spec.pop("finalizers", [])}
        await self.client.resource(CLUSTERS).create(
            {
                "apiVersion": "cluster.karmada.io/v1alpha1",
                "kind": "Cluster",
                "metadata": metadata,
                "spec": {"syncMode": "Push", **spec},
            }
        )
        await self.report(name, pods)

    async def report(self, name: str, pods: int) -> None:
        enabled = [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}]
        status = {"apiEnablements": enabled, "resourceSummary": {"allocatable": {"pods": str(pods)}}}
        await self.client.resource(CLUSTERS).patch(name, {"status": status}, subresource="status")

    async def bind(self, name: str, replicas: int = 2, placement: Tree | None = None, **spec: Any) -> None:
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name}
        await self.client.resource(BINDINGS).create(
            {
                "apiVersion": "work.karmada.io/v1alpha2",
                "kind": "ResourceBinding",
                "metadata": {
                    "name": name,
                    "namespace": "default",
                    "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
                },
                "spec": {"resource": resource, "replicas": replicas, "placement": placement or {}, **spec},
            }
        )

    async def binding(self, name: str) -> Tree:
        return await self.client.resource(BINDINGS).get(name, "default")

    async def result(self, name: str) -> dict[str, int]:
        binding = await self.binding(name)
        return {target["name"]: target.get("replicas", 0) for target in binding["spec"].get("clusters", ())}

    async def condition(self, name: str) -> Tree:
        binding = await self.binding(name)
        return next(item for item in binding["status"]["conditions"] if item["type"] == "Scheduled")

    async def events(self, kind: str, name: str) -> list[tuple[str, str, str]]:
        listing = await self.client.resource(EVENTS).list()
        return [
            (event["type"], event["reason"], event["message"])
            for event in listing.items
            if (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == (kind, name)
        ]

    async def settle(self, seconds: float = 0.5) -> None:
        await self.clock.sleep(seconds)


def _hub(storage: Storage) -> ApiServer:
    return ApiServer(ApiServerOptions(storage, apis=[LocalApi([cluster_type()])]))


async def _install_crds(client: Client) -> None:
    for crd in definitions():
        await client.resource(CRDS).create(crd)


HUB = Blueprint(_hub, _install_crds)
"""Validating and establishing the CRDs takes longer than most tests on a plane: it is done once per process."""


def on_a_plane(
    test: Callable[[Plane], Awaitable[None]],
    options: SchedulerOptions | None = None,
    estimator: AccurateEstimator | None = None,
) -> None:
    """Run a test with a scheduler."""
    HUB.prepare()

    async def scenario() -> None:
        clock = VirtualClock()
        async with HUB.server() as hub, Supervisor() as supervisor:
            client = Client(hub.direct(ADMIN))
            await clock.sleep(1)
            watched = Watched(hub.direct(ADMIN), clock)
            own = Client(watched)
            informers = InformerFactory(own, supervisor, clock=clock)
            recorder = EventRecorder(own, "default-scheduler", clock=clock)
            supervisor.start("events", recorder.run)
            scheduler = Scheduler(own, informers, recorder, options, clock, estimator)
            scheduler.start(supervisor)
            await test(Plane(client, scheduler, clock, watched))

    run_virtual(scenario)
