"""What a member puts into its objects: how much and how often of it reaches the control plane."""

import orjson
import pytest
from tests.controllers.plane import CLUSTERS, WORKS, OneMember, on_a_plane, server

from karmada.api.work.v1alpha1 import Work
from karmada.controllers import write_rate
from karmada.controllers.cluster_status import ClusterStatusController, StatusOptions
from karmada.controllers.execution import ExecutionController
from karmada.controllers.status_reporter import StatusReporter
from karmada.controllers.work_status import WorkStatusController
from karmada.machinery import limits
from karmada.machinery.informers.cache import Key
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource, Verb
from karmada.membership.connections import connection_of

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
SERVICES = GroupVersionResource("", "v1", "services")
NODES = GroupVersionResource("", "v1", "nodes")
EVENTS = GroupVersionResource("", "v1", "events")
SPACE = "karmada-es-m1"
QUICK = StatusOptions(success_threshold=0.0, failure_threshold=0.0)


def start(plane, members):
    works, reflection = plane.context.informers.of(Work), StatusReporter(plane.context)
    execution = ExecutionController(plane.context, members, works, reflection).controller
    status = WorkStatusController(plane.context, members, works, reflection).controller
    plane.start(execution)
    plane.start(status)
    return execution, status


SERVICE = {"apiVersion": "v1", "kind": "Service", "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}


async def deployed(plane, name="web", space=SPACE, manifest=None):
    """A Work with a Deployment, or what is given, in the member."""
    marks = {"work.karmada.io/namespace": space, "work.karmada.io/name": name}
    marks["resourcetemplate.karmada.io/generation"] = "1"
    labels = {"karmada.io/managed": "true"}
    metadata = {"name": name, "namespace": "default", "labels": labels, "annotations": marks}
    container = {"name": "web", "image": "web:1"}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec} if manifest is None else manifest
    manifest = {**manifest, "metadata": metadata}
    tree = {"metadata": {"name": name, "namespace": space}, "spec": {"workload": {"manifests": [manifest]}}}
    await plane.client.resource(WORKS).create(tree)
    await plane.clock.sleep(5)


def counting(plane, wanted):
    """Requests of the controllers to the control plane from now on."""
    seen = []

    async def before(request):
        if wanted(request):
            seen.append(request)

    plane.transport.before = before
    return seen


def status_writes(request):
    return request.verb is Verb.PATCH and request.resource == WORKS and request.subresource == "status"


def test_a_status_that_is_too_large_stays_where_it_is():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            start(plane, members)
            await deployed(plane, manifest=SERVICE)
            there = members.client.resource(SERVICES)

            async def reachable_by(count):
                ingress = [{"hostname": f"{number}.{'a' * 60}.example.com"} for number in range(count)]
                patch = {"status": {"loadBalancer": {"ingress": ingress}}}
                await there.patch("web", patch, "default", subresource="status")

            await reachable_by(limits.STATUS // 60)
            await plane.clock.sleep(30)
            found = await plane.client.resource(WORKS).get("web", SPACE)
            assert len(orjson.dumps(found)) < 20_000
            assert found["status"]["manifestStatuses"][0].get("status") is None
            messages = [e["message"] for e in (await plane.client.resource(EVENTS).list(Scope(SPACE))).items]
            assert any("is not reported: it has more than" in message for message in messages)
            await reachable_by(1)
            await plane.clock.sleep(30)
            found = await plane.client.resource(WORKS).get("web", SPACE)
            assert len(found["status"]["manifestStatuses"][0]["status"]["loadBalancer"]["ingress"]) == 1
            await members.connection.close()

    on_a_plane(scenario)


def test_a_status_that_never_stops_changing_is_reported_now_and_then():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            start(plane, members)
            await deployed(plane)
            there = members.client.resource(DEPLOYMENTS)
            seen = counting(plane, status_writes)
            for number in range(1, 601):
                changed = {"status": {"replicas": number}}
                await there.patch("web", changed, "default", subresource="status")
                await plane.clock.sleep(0.1)
            assert 30 < len(seen) <= write_rate.WORK_BURST + 60 * write_rate.WORK_RATE + 2
            await plane.clock.sleep(10)
            found = await plane.client.resource(WORKS).get("web", SPACE)
            assert found["status"]["manifestStatuses"][0]["status"]["replicas"] == 600
            await members.connection.close()

    on_a_plane(scenario)


def test_a_member_that_undoes_what_is_written_is_answered_at_a_rate():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            start(plane, members)
            await deployed(plane)
            there = members.client.resource(DEPLOYMENTS)
            undone = 0
            for _ in range(1200):
                if (await there.get("web", "default"))["spec"]["replicas"] == 1:
                    await there.patch("web", {"spec": {"replicas": 0}}, "default")
                    undone += 1
                await plane.clock.sleep(0.05)
            assert 20 < undone <= write_rate.WORK_BURST + 60 * write_rate.WORK_RATE + 2
            await plane.clock.sleep(10)
            assert (await there.get("web", "default"))["spec"]["replicas"] == 1
            await members.connection.close()

    on_a_plane(scenario)


def test_an_object_in_a_member_says_nothing_of_works_of_another():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1")
            execution, status = start(plane, members)
            await deployed(plane)
            there = members.client.resource(DEPLOYMENTS)
            claimed = {"work.karmada.io/namespace": "karmada-es-m2", "work.karmada.io/name": "theirs"}
            looked = []
            for controller in (execution, status):
                add = controller.queue.add

                def noting(key, *rest, add=add):
                    looked.append(key)
                    add(key, *rest)

                controller.queue.add = noting
            for replicas in range(2, 12):
                patch = {"metadata": {"annotations": claimed}, "spec": {"replicas": replicas}}
                await there.patch("web", patch, "default")
                await plane.clock.sleep(1)
            assert Key("karmada-es-m2", "theirs") not in looked
            await members.connection.close()

    on_a_plane(scenario)


class Scripted:
    """A member's transport on which a path is answered otherwise."""

    def __init__(self, inner, path, answer):
        self._inner, self._path, self._answer = inner, path, answer

    async def raw(self, method, path, body=None, accept=""):
        if path == self._path and self._answer is not None:
            return self._answer
        return await self._inner.raw(method, path, body, accept)

    def behave(self):
        self._answer = None

    def __getattr__(self, name):
        return getattr(self._inner, name)


def discovery(groups):
    resource = {"resource": "things", "responseKind": {"kind": "Thing"}, "verbs": ["get"]}
    items = [{"metadata": {"name": name}, "versions": [{"version": "v1", "resources": [resource]}]} for name in groups]
    return orjson.dumps({"kind": "APIGroupDiscoveryList", "items": items})


@pytest.mark.parametrize(
    ("path", "answer", "expected"),
    [
        ("/version", b"garbage\x1b[31m", "cannot be read"),
        ("/version", b'{"gitVersion":5}', "cannot be read"),
        ("/apis", b"[]", "discovery cannot be read"),
        ("/apis", b'{"items":[5]}', "discovery cannot be read"),
        ("/apis", b'{"items":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "discovery cannot be read"),
        ("/apis", discovery(["a" * 300]), "discovery cannot be read"),
        ("/apis", discovery(["evil\x1b[31m.example.com"]), "discovery cannot be read"),
        ("/apis", discovery(f"g{number}.example.com" for number in range(limits.RESOURCES)), "lists more than"),
        ("/apis", discovery(["g" * 240 + str(number) for number in range(5_000)]), "what the cluster serves"),
        ("/apis", b'{"items":[]}' + b" " * limits.DISCOVERY, "a document of more than"),
    ],
    ids=[
        "no version",
        "a number",
        "a list",
        "no group",
        "deep",
        "a long name",
        "control characters",
        "many resources",
        "long names",
        "a long document",
    ],
)
def test_a_member_whose_description_cannot_be_used_is_not_ready_until_it_can(path, answer, expected):
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            transport = Scripted(members.connection.client.transport._inner, path, answer)
            members.connection = connection_of("m1", transport, plane.clock)
            await plane.cluster("m1")
            plane.start(ClusterStatusController(plane.context, members, QUICK).controller)
            await plane.clock.sleep(60)
            found = await plane.client.resource(CLUSTERS).get("m1")
            ready = next(c for c in found["status"]["conditions"] if c["type"] == "Ready")
            assert (ready["status"], ready["reason"]) == ("False", "ClusterMisbehaving")
            assert expected in ready["message"]
            assert ready["message"].isprintable()
            events = (await plane.client.resource(EVENTS).list(Scope("default"))).items
            assert any(event["reason"] == "ClusterMisbehaving" for event in events)
            transport.behave()
            await plane.clock.sleep(180)
            assert (await plane.conditions("m1"))["Ready"] == "True"
            await members.connection.close()

    on_a_plane(scenario)


@pytest.mark.parametrize(
    "amounts",
    [
        [{f"example.com/device-{node}-{number}-{'x' * 200}": "1" for number in range(50)} for node in range(20)],
        [{f"example.com/device-{number}": "1" for number in range(2_000)}],
    ],
    ids=["many kinds", "one large node"],
)
def test_amounts_without_end_make_no_large_cluster(amounts):
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            for number, offered in enumerate(amounts):
                node = {"metadata": {"name": f"n{number}"}, "status": {"allocatable": offered, "capacity": offered}}
                await members.client.resource(NODES).create(node)
                await members.client.resource(NODES).patch(f"n{number}", node, subresource="status")
            await plane.cluster("m1")
            plane.start(ClusterStatusController(plane.context, members, QUICK).controller)
            await plane.clock.sleep(60)
            found = await plane.client.resource(CLUSTERS).get("m1")
            ready = next(c for c in found["status"]["conditions"] if c["type"] == "Ready")
            assert (ready["status"], ready["reason"]) == ("False", "ClusterMisbehaving")
            assert len(orjson.dumps(found)) < 2 * limits.SUMMARY
            await members.connection.close()

    on_a_plane(scenario)
