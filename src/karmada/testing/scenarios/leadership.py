"""Two candidates for one lease: whoever writes holds it, whatever is delayed, lost, cut off or crashes.

While it leads, each candidate writes its name into a shared object, without any other guard than the fence. The rule:
at the moment a write is committed, the lease names the writer.
"""

from collections.abc import Awaitable, Callable

from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.leader import LEASES, LeaderElector, LeadershipLost
from karmada.machinery.transport import EventType, GroupVersionResource
from karmada.testing.faults import STORMY
from karmada.testing.world import Component, Scenario, Step, Surroundings, World

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
CANDIDATES = ("one", "two")


class Candidate:
    """Campaigns for ever; leads whenever it can."""

    def __init__(self, surroundings: Surroundings, name: str) -> None:
        self._around = surroundings
        self._name = name
        self._elector = LeaderElector(surroundings.client, "leader", "default", name, clock=surroundings.clock)
        fenced = Client(self._elector.fenced(surroundings.client.transport), field_manager=name)
        self._journal = fenced.resource(CONFIG_MAPS)

    async def run(self) -> None:
        """Lead, lose, campaign again."""
        while True:
            try:
                await self._elector.run(self._write)
            except LeadershipLost:
                continue

    async def _write(self) -> None:
        while True:
            try:
                await self._journal.patch("journal", {"data": {"writer": self._name}}, "default")
                await self._journal.patch("journal", {"data": {"writer": None}}, "default")
            except ApiError:
                pass
            await self._around.clock.sleep(self._around.random.random() * 2)


def _runner(candidate: type[Candidate], name: str) -> Callable[[Surroundings], Awaitable[None]]:
    return lambda around: candidate(around, name).run()


def scenario(candidate: type[Candidate] = Candidate) -> Scenario:
    """Two candidates through a storm; in the end one of them leads."""

    async def live(world: World) -> None:
        config_maps = world.client().resource(CONFIG_MAPS)
        await config_maps.create({"metadata": {"name": "journal", "namespace": "default"}})

        def holder() -> str:
            lease = world.object(LEASES, "leader", "default") or {}
            return str((lease.get("spec") or {}).get("holderIdentity") or "")

        def writer_leads(step: Step) -> str | None:
            if step.kind != ("", "configmaps") or step.type is not EventType.MODIFIED:
                return None
            writer = (step.object.get("data") or {}).get("writer")
            return f"{writer} wrote while {holder() or 'nobody'} led" if writer and writer != holder() else None

        world.check("only the leader writes", writer_leads)
        for name in CANDIDATES:
            world.start(Component(name, _runner(candidate, name)))
        await world.storm(60, STORMY)
        await world.calm(60)
        if holder() not in CANDIDATES:
            world.fail("somebody leads in the end", "nobody does")

    return live
