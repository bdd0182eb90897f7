"""The descheduler on a control plane."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.scheduler.plane import BINDINGS, CLUSTERS, DYNAMIC, Plane, on_a_plane

from karmada.descheduler.service import Descheduler
from karmada.machinery.client import Client
from karmada.machinery.errors import Invalid
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Request, Transport, WatchStream
from karmada.scheduler.estimators.messages import UnschedulableRequest

POLICIES = GroupVersionResource("config.karmada.io", "v1alpha1", "replicaschedulingpolicies")


async def deschedule(plane: Plane, supervisor: Supervisor, waiting: dict[str, int]) -> None:
    async def ask(request: UnschedulableRequest) -> int:
        return waiting.get(request.cluster, -1)

    informers = InformerFactory(plane.client, supervisor, clock=plane.clock)
    recorder = EventRecorder(plane.client, "karmada-descheduler", clock=plane.clock)
    supervisor.start("events", recorder.run)
    Descheduler(plane.client, informers, recorder, ask, clock=plane.clock).start(supervisor)
    await plane.settle(2)


def test_replicas_that_find_no_node_are_taken_back_and_placed_elsewhere() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", pods=10)
        await plane.join("member2", pods=10)
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}
        items = [
            {"clusterName": "member1", "status": {"readyReplicas": 2}, "applied": True},
            {"clusterName": "member2", "status": {"readyReplicas": 1}, "applied": True},
        ]
        await plane.client.resource(BINDINGS).patch(
            "web", {"status": {"aggregatedStatus": items}}, "default", subresource="status"
        )
        await plane.report("member2", 0)
        async with Supervisor() as supervisor:
            await deschedule(plane, supervisor, {"member2": 1})
            assert await plane.result("web") == {"member1": 3, "member2": 1}
            events = [event for event in await plane.events("Deployment", "web") if "Deschedule" in event[1]]
        text = "Binding has been descheduled, 1 replica(s) in cluster(member2), 1 total descheduled replica(s)"
        assert events == [("Normal", "DescheduleBindingSucceed", text)]

    on_a_plane(scenario)


def test_a_binding_that_is_being_deleted_keeps_its_replicas() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", pods=10)
        await plane.join("member2", pods=10)
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        items = [
            {"clusterName": name, "status": {"readyReplicas": 1}, "applied": True} for name in ("member1", "member2")
        ]
        bindings = plane.client.resource(BINDINGS)
        await bindings.patch("web", {"status": {"aggregatedStatus": items}}, "default", subresource="status")
        await bindings.patch("web", {"metadata": {"finalizers": ["test/held"]}}, "default")
        await bindings.delete("web", "default")
        async with Supervisor() as supervisor:
            await deschedule(plane, supervisor, {"member2": 1})
            assert await plane.result("web") == {"member1": 2, "member2": 2}
            assert not [event for event in await plane.events("Deployment", "web") if "Deschedule" in event[1]]

    on_a_plane(scenario)


def test_a_policy_moves_replicas_out_of_a_cluster_that_is_too_full_and_says_so() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.join("member2")
        needs = {"resourceRequest": {"cpu": "1"}}
        for name, used in (("member1", "1"), ("member2", "1")):
            summary = {"allocatable": {"cpu": "10", "pods": "100"}, "allocated": {"cpu": used}}
            await plane.client.resource(CLUSTERS).patch(
                name, {"status": {"resourceSummary": summary}}, subresource="status"
            )
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC}, replicaRequirements=needs)
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}
        full = {"status": {"resourceSummary": {"allocated": {"cpu": "9"}}}}
        await plane.client.resource(CLUSTERS).patch("member1", full, subresource="status")
        await plane.client.resource(POLICIES).create(
            {
                "apiVersion": "config.karmada.io/v1alpha1",
                "kind": "ReplicaSchedulingPolicy",
                "metadata": {"name": "balance"},
                "spec": {"reschedulePolicy": {"enabled": True, "interval": "60s", "threshold": {"cpuUtilization": 80}}},
            }
        )
        async with Supervisor() as supervisor:
            await deschedule(plane, supervisor, {})
            await plane.settle(5)
            assert await plane.result("web") == {"member1": 1, "member2": 3}
            status = (await plane.client.resource(POLICIES).get("balance"))["status"]
        assert status["overloadedClusters"] == ["member1"]
        (moved,) = status["rescheduled"]
        assert (moved["name"], moved["fromCluster"], moved["replicas"]) == ("web", "member1", 1)
        assert status["conditions"][0]["status"] == "True"

    on_a_plane(scenario)


class Corrupting:
    """A transport that gives what asks for 77 replicas a number that is none."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> bytes:
        return (await self._inner.send(request)).replace(b'"replicas":77', b'"replicas":"?"')

    @asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        if "sendInitialEvents" in request.params:
            raise Invalid("sendInitialEvents is forbidden for watch")
        async with self._inner.watch(request) as stream:
            yield stream

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        return await self._inner.raw(method, path, body, accept)

    async def close(self) -> None:
        await self._inner.close()


def test_a_binding_that_cannot_be_read_keeps_nobody_from_looking_at_the_others() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1", pods=100)
        await plane.join("member2", pods=100)
        await plane.bind("bad", 77, {"replicaScheduling": DYNAMIC})
        await plane.bind("web", 4, {"replicaScheduling": DYNAMIC})
        await plane.settle()
        before = await plane.result("web")
        items = [{"clusterName": name, "status": {"readyReplicas": 1}, "applied": True} for name in before]
        await plane.client.resource(BINDINGS).patch(
            "web", {"status": {"aggregatedStatus": items}}, "default", subresource="status"
        )
        await plane.report("member2", 0)
        plane.client = Client(Corrupting(plane.client.transport))
        async with Supervisor() as supervisor:
            await deschedule(plane, supervisor, {"member2": 1})
            assert supervisor.restarts == {}
        assert (await plane.result("web"))["member2"] == before["member2"] - 1

    on_a_plane(scenario)
