"""What befalls the members and what the user does meanwhile, and when: rules judge by it what may be expected."""

import contextlib
from collections.abc import Callable

from karmada.machinery.errors import ApiError, Conflict, NotFound
from karmada.machinery.transport import JSONObject
from karmada.testing.scenarios.failover.applications import APPS, MEMBERS, WEB, some_replicas
from karmada.testing.scenarios.federation import CLUSTERS, DEPLOYMENTS, POLICIES
from karmada.testing.world import World

MAINTENANCE = "example.io/maintenance"
TICK = 3.0


class Incidents:
    """The kubelets of all members, and one thing after another that goes wrong or is put right."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.down: dict[str, Callable[[], None]] = {}
        """Members that cannot be reached, and how that ends."""
        self.sick: set[tuple[str, str]] = set()
        """Members in which an application does not get ready."""
        self.maintained: set[str] = set()
        """Members that the user has tainted."""
        self.healthy: dict[tuple[str, str], float] = {}
        """When a copy was last seen healthy, by member and application."""
        self.unhealthy: dict[tuple[str, str], float] = {}
        self.scaled: dict[str, float] = {}
        """When the user last scaled an application."""
        self.edited: set[str] = set()
        """Applications whose placement the user has changed."""
        self.by_hand = False
        """Whether copies are being deleted in a member by somebody else than the control plane."""
        self._locals = {name: world.client("local user", name) for name in MEMBERS}

    # What members do.

    async def live(self, member: str) -> None:
        """The kubelet of a member."""
        copies = self._locals[member].resource(DEPLOYMENTS)
        while True:
            await self.world.clock.sleep(TICK * self.world.random.uniform(0.8, 1.2))
            for copy in self.world.objects(DEPLOYMENTS, "default", member):
                name, status = copy["metadata"]["name"], self._status(member, copy)
                if copy["metadata"].get("deletionTimestamp"):
                    continue
                reported = copy.get("status") or {}
                if reported != status:
                    if reported.get("readyReplicas", 0) < copy["spec"]["replicas"]:
                        self._note_health(member, name, False)  # Until now, whoever reads it late.
                    with contextlib.suppress(ApiError):
                        await copies.patch(name, {"status": status}, "default", subresource="status")
                self._note_health(member, name, status["readyReplicas"] >= copy["spec"]["replicas"])

    def _status(self, member: str, copy: JSONObject) -> JSONObject:
        replicas = copy["spec"]["replicas"]
        ready = 0 if (member, copy["metadata"]["name"]) in self.sick else replicas
        counts = dict.fromkeys(("readyReplicas", "availableReplicas"), ready)
        generation = copy["metadata"]["generation"]
        return {"replicas": replicas, "updatedReplicas": replicas, **counts, "observedGeneration": generation}

    def _note_health(self, member: str, name: str, is_ready: bool) -> None:
        is_well = is_ready and member not in self.down
        (self.healthy if is_well else self.unhealthy)[member, name] = self.world.clock.monotonic()

    # What befalls them.

    async def happen(self) -> None:
        """One thing goes wrong, or is put right."""
        random = self.world.random
        up = [name for name in MEMBERS if name not in self.down]
        often = (self._die, self._die, self._lose_half, self._lose_most, self._flap, self._return, self._sicken)
        do = random.choice((*often, self._scale))
        do = random.choice((do, do, do, self._maintain, self._edit))
        await do(up)
        await self.world.clock.sleep(random.choice((5.0, 45.0, 90.0, 200.0)))

    async def _die(self, up: list[str]) -> None:
        if len(up) > 1:
            self._lose(self.world.random.choice(up))

    def _lose(self, member: str) -> None:
        one_way = self.world.random.random() < 0.3
        self.down[member] = self.world.outage("controller-manager", member, one_way)

    async def _lose_half(self, up: list[str]) -> None:
        for member in self.world.random.sample(up, len(up) // 2):
            self._lose(member)

    async def _lose_most(self, up: list[str]) -> None:
        """Leave one member: what a control plane sees that has lost its own network."""
        for member in self.world.random.sample(up, len(up) - 1):
            self._lose(member)

    async def _flap(self, up: list[str]) -> None:
        member = self.world.random.choice(up)
        for _ in range(self.world.random.randint(2, 5)):
            self._lose(member)
            await self.world.clock.sleep(self.world.random.choice((3.0, 15.0, 40.0)))
            self.down.pop(member)()
            await self.world.clock.sleep(self.world.random.choice((3.0, 15.0, 40.0)))

    async def _return(self, up: list[str]) -> None:
        if not self.down:
            return
        member = self.world.random.choice(sorted(self.down))
        if self.world.random.random() < 0.5:
            await self._restore_a_backup(member)
        self.down.pop(member)()

    async def _restore_a_backup(self, member: str) -> None:
        """Copies are as they once were: scaled differently, or not there at all."""
        copies = self._locals[member].resource(DEPLOYMENTS)
        for copy in self.world.objects(DEPLOYMENTS, "default", member):
            name = copy["metadata"]["name"]
            if self.world.random.random() < 0.7:
                await copies.patch(name, {"spec": {"replicas": self.world.random.randint(1, 6)}}, "default")
                continue
            self.by_hand = True
            with contextlib.suppress(NotFound):
                await copies.delete(name, "default")
            self.by_hand = False

    async def _sicken(self, up: list[str]) -> None:
        if self.sick and self.world.random.random() < 0.5:
            self.sick.clear()
        else:
            self.sick.add((self.world.random.choice(MEMBERS), self.world.random.choice(APPS)))

    async def _maintain(self, up: list[str]) -> None:
        """Taint a healthy cluster for some time, or end that."""
        if self.maintained and self.world.random.random() < 0.3:
            await self.end_maintenance()
        elif len(up) > 1:
            member = self.world.random.choice(up)
            self.maintained.add(member)
            await self._change_taints(member, [{"key": MAINTENANCE, "effect": "NoExecute"}])

    async def end_maintenance(self) -> None:
        """Take the taints of the user off all clusters."""
        while self.maintained:
            await self._change_taints(self.maintained.pop(), [])

    async def _change_taints(self, member: str, added: list[JSONObject]) -> None:
        clusters = self.world.client("user").resource(CLUSTERS)
        while True:
            cluster = await clusters.get(member)
            kept = [taint for taint in cluster["spec"].get("taints") or () if taint["key"] != MAINTENANCE]
            guard = {"resourceVersion": cluster["metadata"]["resourceVersion"]}
            with contextlib.suppress(Conflict):
                await clusters.patch(member, {"metadata": guard, "spec": {"taints": kept + added}})
                return

    async def _edit(self, up: list[str]) -> None:
        """Have the policy of `web` mean other clusters."""
        self.edited.add(WEB)
        chosen = sorted(self.world.random.sample(MEMBERS, self.world.random.randint(2, 3)))
        spec = {"placement": {"clusterAffinity": {"clusterNames": chosen}}}
        await self.world.client("user").resource(POLICIES).patch(WEB, {"spec": spec}, "default")

    async def _scale(self, up: list[str]) -> None:
        name = self.world.random.choice(APPS)
        self.scaled[name] = self.world.clock.monotonic()
        replicas = some_replicas(self.world, name)
        await self.world.client("user").resource(DEPLOYMENTS).patch(name, {"spec": {"replicas": replicas}}, "default")

    def recover(self) -> None:
        """Everything is well again."""
        while self.down:
            self.down.popitem()[1]()
        self.sick.clear()
