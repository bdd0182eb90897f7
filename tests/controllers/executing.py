"""A member whose Works are executed: what it is asked to write is seen, and a test may act before it is written."""

from tests.controllers.plane import CONFIG_MAPS, WORKS, Interfering, on_a_plane, server

from karmada.api.work.v1alpha1 import Work
from karmada.apiserver.server import ADMIN
from karmada.controllers.execution import ExecutionController
from karmada.machinery.client import Client
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Verb
from karmada.membership.connections import connection_of
from karmada.membership.members import MemberUnavailable

EVENTS = GroupVersionResource("", "v1", "events")
LABELS = {"karmada.io/managed": "true", "work.karmada.io/permanent-id": "mine"}
SPACE = "karmada-es-m1"
WRITES = {Verb.CREATE, Verb.UPDATE, Verb.PATCH, Verb.DELETE}


class Watched:
    """`Members` of which there is one; what it is asked to write is seen, and a test may act before."""

    def __init__(self, hosting, clock):
        self.client = Client(hosting.direct(ADMIN))
        self.transport = Interfering(hosting.direct(ADMIN), clock)
        self.transport.before = self._before
        self.connection = connection_of("m1", self.transport, clock)
        self.objects = self.client.resource(CONFIG_MAPS)
        self.written = []
        """The verbs of all writes."""
        self.read = 0
        """How many objects it was asked for one by one."""
        self.before = None
        self.unavailable = False
        self.concerned = True

    async def _before(self, request):
        self.read += request.verb is Verb.GET and request.resource == CONFIG_MAPS
        if request.verb in WRITES:
            self.written.append(request.verb)
            if self.before is not None:
                await self.before(request)

    def concerns(self, cluster):
        return self.concerned

    async def connect(self, cluster):
        if self.unavailable:
            raise MemberUnavailable("no route to it")
        return self.connection

    async def forget(self, name):
        await self.connection.close()


def executing(test):
    """Run a test with one member, its cluster ready."""

    async def scenario(plane):
        async with server(plane.clock) as hosting:
            member = Watched(hosting, plane.clock)
            await plane.cluster("m1")
            controller = begin(plane, member)
            await plane.clock.sleep(1)
            await test(plane, member, controller)
            await member.connection.close()

    on_a_plane(scenario)


def begin(plane, member):
    controller = ExecutionController(plane.context, member, plane.context.informers.of(Work)).controller
    plane.start(controller)
    return controller


def manifest(name="settings", value="1", **annotations):
    marks = {"work.karmada.io/namespace": SPACE, "work.karmada.io/name": "settings", **annotations}
    marks["resourcetemplate.karmada.io/uid"] = "template"
    metadata = {"name": name, "namespace": "default", "labels": LABELS, "annotations": marks}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": value}}


async def work(plane, *manifests, finalizers=(), **spec):
    metadata = {"name": "settings", "namespace": SPACE, "labels": LABELS, "finalizers": list(finalizers)}
    spec = {"workload": {"manifests": list(manifests) or [manifest()]}, **spec}
    await plane.client.resource(WORKS).create({"metadata": metadata, "spec": spec})
    await plane.clock.sleep(5)


async def edit(plane, *manifests, **spec):
    patch = {"spec": {"workload": {"manifests": list(manifests)}, **spec} if manifests else spec}
    await plane.client.resource(WORKS).patch("settings", patch, SPACE)
    await plane.clock.sleep(5)


async def condition(plane, type_="Applied"):
    found = (await plane.client.resource(WORKS).get("settings", SPACE)).get("status", {}).get("conditions", ())
    return next(((one["status"], one["message"]) for one in found if one["type"] == type_), None)


async def said(plane, reason):
    """Events about the template, each as its message and how often it came."""
    found = (await plane.client.resource(EVENTS).list(Scope("default"))).items
    assert {event["involvedObject"]["uid"] for event in found} <= {"template"}
    return [(event["message"], event.get("count", 1)) for event in found if event["reason"] == reason]


async def works(plane):
    return (await plane.client.resource(WORKS).list()).items
