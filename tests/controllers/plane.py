"""A control plane in memory for one controller at a time, in virtual time; nothing else writes but the test."""

import contextlib
import logging

from karmada.aggregated.cluster_type import cluster_type
from karmada.api.crd.definition import definitions
from karmada.api.feature_gates import DEFAULTS
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.controllers.composition import Recorders
from karmada.controllers.context import Context
from karmada.interpreter.customizable import CustomizableInterpreter
from karmada.machinery.client import Client
from karmada.machinery.errors import ServerError
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Verb
from karmada.membership.connections import connection_of
from karmada.testing.blueprint import Blueprint
from karmada.testing.loop import VirtualClock, run_virtual
from karmada.testing.unexpected import UnexpectedFailures

INFORMERS = logging.getLogger("karmada.machinery.informers")
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


class Interfering:
    """A transport on which a test does something before a request of the controller's, or holds its events back."""

    def __init__(self, inner, clock):
        self._inner = inner
        self._clock = clock
        self.before = None
        """Called with each request, and awaited; what it raises is the answer."""
        self.held = frozenset()
        """Collections whose events are held back."""

    async def send(self, request):
        if self.before is not None:
            await self.before(request)
        return await self._inner.send(request)

    @contextlib.asynccontextmanager
    async def watch(self, request):
        async with self._inner.watch(request) as stream:
            yield self._late(stream, request.resource)

    async def _late(self, stream, type_):
        async for batch in stream:
            while type_ in self.held:
                await self._clock.sleep(1)
            yield batch

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Plane:
    """What a test has: its own client, the controller's context and transport, and members by name."""

    def __init__(self, hub, supervisor, clock):
        self.hub = hub
        self.client = Client(hub.direct(ADMIN))
        self.clock = clock
        self.transport = Interfering(hub.direct(ADMIN), clock)
        self.begin(supervisor)

    def begin(self, supervisor):
        """What controllers are given anew, as when their process starts."""
        self.supervisor = supervisor
        self._started = []
        client = Client(self.transport)
        informers = InformerFactory(client, supervisor, clock=self.clock)
        recorders = Recorders(client, supervisor, self.clock)
        interpreter = CustomizableInterpreter(post=_nobody)
        self.context = Context(client, informers, recorders, DEFAULTS, interpreter, self.clock)

    def start(self, controller):
        self._started.append(controller)
        self.supervisor.start(controller.name, controller.run)

    def check(self):
        """Every reconcile must have ended with an outcome: a key without one is never tried again."""
        for controller in self._started:
            ended = sum(controller.queue.work_seconds.counts)
            assert sum(controller.results.values()) == ended, f"{controller.name} ended a reconcile without an outcome"

    async def cluster(self, name, mode="Push", ready="True"):
        tree = {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": name, "finalizers": ["karmada.io/cluster-controller"]},
            "spec": {"syncMode": mode},
        }
        await self.client.resource(CLUSTERS).create(tree)
        await self.client.resource(NAMESPACES).create({"metadata": {"name": f"karmada-es-{name}"}})
        await self.condition(name, "Ready", ready)

    async def condition(self, name, type_, status, message=""):
        """Set a condition of a cluster, as somebody else."""
        cluster = await self.client.resource(CLUSTERS).get(name)
        found = [c for c in (cluster.get("status") or {}).get("conditions") or () if c["type"] != type_]
        new = {"type": type_, "status": status, "reason": "Test", "message": message}
        new["lastTransitionTime"] = "2023-11-14T22:13:20Z"
        await self.client.resource(CLUSTERS).patch(
            name, {"status": {"conditions": [*found, new]}}, subresource="status"
        )

    async def conditions(self, name):
        cluster = await self.client.resource(CLUSTERS).get(name)
        return {c["type"]: c["status"] for c in cluster["status"]["conditions"]}


class OneMember:
    """`Members` of which there is one, on an API server in memory."""

    def __init__(self, server, clock, name="m1"):
        self.client = Client(server.direct(ADMIN))
        self.connection = connection_of(name, server.direct(ADMIN), clock)

    def concerns(self, cluster):
        return True

    async def connect(self, cluster):
        return self.connection

    async def forget(self, name):
        await self.connection.close()


def unloadable(transport, type_):
    """Have a collection fail whenever it is loaded; its objects can be read."""
    watch = transport.watch

    @contextlib.asynccontextmanager
    async def failing(request):
        if request.resource == type_:
            raise ServerError("conversion webhook failed")
        async with watch(request) as stream:
            yield stream

    async def before(request):
        if request.resource == type_ and request.verb is Verb.LIST:
            raise ServerError("conversion webhook failed")

    transport.watch, transport.before = failing, before


async def _nobody(endpoint, body):
    raise AssertionError("no webhook is configured")


def server(clock, storage=None):
    """A member's API server, with what it holds once it has started unless there is a storage."""
    return MEMBER.server() if storage is None else _member(storage)


def _member(storage):
    return ApiServer(ApiServerOptions(storage, now=VirtualClock().now))


def make_hub(storage, clock=None):
    now = (clock or VirtualClock()).now
    return ApiServer(ApiServerOptions(storage, apis=[LocalApi([cluster_type()])], now=now))


async def install_crds(client):
    for crd in definitions():
        await client.resource(CRDS).create(crd)


HUB, MEMBER = Blueprint(make_hub, install_crds), Blueprint(_member)
"""Validating and establishing the CRDs takes longer than most tests on a plane: it is done once per process."""


def on_a_plane(test, expected="nothing"):
    """Run a test on a control plane; no handler of an informer may fail, unless what it says is expected."""
    for blueprint in (HUB, MEMBER):
        blueprint.prepare()
    failed = UnexpectedFailures()

    async def scenario():
        clock = VirtualClock()
        async with HUB.server() as hub, Supervisor(clock) as supervisor:
            await clock.sleep(1)
            plane = Plane(hub, supervisor, clock)
            await test(plane)
            plane.check()

    INFORMERS.addHandler(failed)
    try:
        run_virtual(scenario)
    finally:
        INFORMERS.removeHandler(failed)
    unexpected = [text for text in failed.found if expected not in text]
    assert not unexpected, f"handlers of informers failed: {unexpected}"
