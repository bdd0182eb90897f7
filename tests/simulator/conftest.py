"""A member in virtual time, and the objects tests put into it."""

from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

import pytest

from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec, NodePool
from karmada.simulator.workloads.kinds import DEPLOYMENTS, PODS
from karmada.testing.loop import VirtualClock, run_virtual

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.yaml"))
"""Files that come true on a simulated member and on any API server that `simulate-workloads` brings to life."""
ONE_NODE = MemberSpec("m", node_pools=(NodePool(count=1, cpu="4", memory="8Gi"),))
THREE_NODES = MemberSpec("m", zones=("a", "b", "c"), node_pools=(NodePool(count=3),))


class Actor:
    """A member with the verbs that tests use all the time."""

    def __init__(self, member: Member, clock: VirtualClock) -> None:
        self.member = member
        self.clock = clock
        self.client = member.client

    async def create(self, type_: GroupVersionResource, obj: JSONObject) -> JSONObject:
        return await self.client.resource(type_).create(obj)

    async def get(self, type_: GroupVersionResource, name: str, namespace: str = "default") -> JSONObject:
        return await self.client.resource(type_).get(name, namespace)

    async def patch(self, type_: GroupVersionResource, name: str, patch: JSONObject) -> JSONObject:
        return await self.client.resource(type_).patch(name, patch, "default")

    async def delete(self, type_: GroupVersionResource, name: str, namespace: str = "default") -> None:
        await self.client.resource(type_).delete(name, namespace)

    async def exists(self, type_: GroupVersionResource, name: str, namespace: str = "default") -> bool:
        try:
            await self.get(type_, name, namespace)
        except NotFound:
            return False
        return True

    async def items(self, type_: GroupVersionResource) -> list[JSONObject]:
        return (await self.member.inside.resource(type_).list()).items

    async def pods(self) -> list[JSONObject]:
        return await self.items(PODS)

    async def status(self, type_: GroupVersionResource, name: str, namespace: str = "default") -> JSONObject:
        return (await self.member.inside.resource(type_).get(name, namespace)).get("status") or {}

    async def until(self, holds: Callable[[], Awaitable[Any]], seconds: float = 60) -> Any:
        """Wait (in virtual time) for something to become true."""
        end = self.clock.monotonic() + seconds
        while True:
            value = await holds()
            if value:
                return value
            if self.clock.monotonic() >= end:
                raise AssertionError(f"not within {seconds} s")
            await self.clock.sleep(0.1)

    async def available(self, name: str, count: int, seconds: float = 60) -> None:
        async def holds() -> bool:
            return (await self.status(DEPLOYMENTS, name)).get("availableReplicas", 0) == count

        await self.until(holds, seconds)


Scene = Callable[[Actor], Coroutine[Any, Any, Any]]


@pytest.fixture
def act() -> Callable[..., Any]:
    """Plays a scene in a new member, in virtual time; the same seed plays it in the same way."""

    def play(scene: Scene, spec: MemberSpec = THREE_NODES, seed: int = 7) -> Any:
        async def main() -> Any:
            clock = VirtualClock()
            async with Member(spec, clock=clock, random=Random(seed)) as member:
                return await scene(Actor(member, clock))

        return run_virtual(main, seed)

    return play


def template(labels: dict[str, str], image: str = "nginx:1", cpu: str = "100m", **spec: Any) -> JSONObject:
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}} | spec.pop("container", {})
    return {"metadata": {"labels": labels}, "spec": {"containers": [container], **spec}}


def deployment(
    name: str = "web", replicas: int = 3, image: str = "nginx:1", cpu: str = "100m", **spec: Any
) -> JSONObject:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template(labels, image, cpu),
            **spec,
        },
    }


def image_patch(image: str, cpu: str = "100m") -> JSONObject:
    return {"spec": {"template": template({"app": "web"}, image, cpu)}}
