"""Services across clusters: slices, providers, consumers and clusters come and go while processes crash and links fail.

- *Pods* of three members come, get ready and go: each member's own EndpointSlices of two Services change.
- The *user* edits who provides and who consumes, and deletes MultiClusterServices and makes them anew.
- *Clusters* are lost for a while, put under traffic control by a Remedy, and taken out of the federation and back.

Rules, after every committed change: what a consumer has from others bears the provider's name and holds addresses of
that provider only. In the end every consumer has exactly the ready endpoints of all providers, and nobody else has any;
when a provider is lost for good, the others have exactly those of the providers that are left, until it is back.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from karmada.api import annotations, labels
from karmada.api.feature_gates import DEFAULTS
from karmada.machinery.errors import ApiError
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject
from karmada.testing.blueprint import PLAIN, Blueprint
from karmada.testing.faults import Faults
from karmada.testing.scenarios.federation import CLUSTERS, MANAGER, SCHEDULER, furnish, hub, run_manager, run_scheduler
from karmada.testing.world import HUB, Component, Scenario, Step, World

SLICES = GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")
SERVICES = GroupVersionResource("", "v1", "services")
EXPOSED = GroupVersionResource("networking.karmada.io", "v1alpha1", "multiclusterservices")
REMEDIES = GroupVersionResource("remedy.karmada.io", "v1alpha1", "remedies")
MEMBERS = ("member1", "member2", "member3")
NAMES = ("web", "shop")
SERVERS: Mapping[str, Blueprint] = {HUB: Blueprint(hub, furnish)} | dict.fromkeys(MEMBERS, PLAIN)
GATES = DEFAULTS.with_overrides({"MultiClusterService": True})
WEATHER = Faults(
    delay=0.2,
    slow=0.02,
    drop=0.02,
    duplicate=0.01,
    stale_list=0.1,
    no_streaming=0.2,
    watch_cut=0.03,
    watch_gone=0.05,
    burst=0.01,
    crash=0.01,
)
REMEDY = "no-traffic"
STEPS = 14
SETTLING = 600.0
OWN = "what a consumer has of a provider is the provider's"
AGREED = "in the end every consumer has exactly the ready endpoints of all reachable providers"
Manager = Callable[..., Awaitable[None]]


def network(member: str) -> str:
    """Where the pods of a member have their addresses."""
    return f"10.{MEMBERS.index(member) + 1}."


class Story:
    """What happens to pods, services and clusters."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._hub = world.client("user")
        self._members = {name: world.client("kubelet", name) for name in MEMBERS}
        self._addresses = 0

    async def act(self) -> None:
        """One thing."""
        random = self.world.random
        do = random.choice((self._pods, self._pods, self._pods, self._expose, self._block, self._lose, self._leave))
        try:
            await do()
        except ApiError:
            return

    async def _pods(self) -> None:
        """Endpoints of a Service in one member change."""
        random = self.world.random
        member, service = random.choice(MEMBERS), random.choice(NAMES)
        name, slices = f"{service}-{random.choice('xy')}", self._members[member].resource(SLICES)
        present = self.world.object(SLICES, name, "default", member)
        if present is not None and random.random() < 0.25:
            await slices.delete(name, "default")
            return
        endpoints = [self._endpoint(member) for _ in range(random.randint(0, 3))]
        if present is None:
            await slices.create(_slice(name, service, endpoints))
        else:
            await slices.patch(name, {"endpoints": endpoints}, "default")

    def _endpoint(self, member: str) -> JSONObject:
        self._addresses += 1
        address = f"{network(member)}{self._addresses >> 8}.{self._addresses & 255}"
        return {"addresses": [address], "conditions": {"ready": self.world.random.random() < 0.7}}

    async def _expose(self) -> None:
        """Who provides and who consumes changes."""
        random = self.world.random
        name, exposed = random.choice(NAMES), self._hub.resource(EXPOSED)
        present = self.world.object(EXPOSED, name, "default")
        if present is None:
            await exposed.create(_exposed(name, self._some(), self._some()))
        elif random.random() < 0.3:
            await exposed.delete(name, "default")
        else:
            spec = _exposed(name, self._some(), self._some())["spec"]
            changed = {key: spec[key] for key in ("providerClusters", "consumerClusters")}
            await exposed.patch(name, {"spec": changed}, "default")

    def _some(self) -> list[str]:
        """Some members; none means all."""
        return self.world.random.sample(MEMBERS, self.world.random.randint(0, len(MEMBERS)))

    async def _block(self) -> None:
        """A Remedy takes members out of traffic, or is taken back."""
        remedies = self._hub.resource(REMEDIES)
        if self.world.object(REMEDIES, REMEDY) is not None:
            await remedies.delete(REMEDY)
            return
        chosen = {"clusterNames": [self.world.random.choice(MEMBERS)]}
        await remedies.create(
            {
                "apiVersion": "remedy.karmada.io/v1alpha1",
                "kind": "Remedy",
                "metadata": {"name": REMEDY},
                "spec": {"clusterAffinity": chosen, "actions": ["TrafficControl"]},
            }
        )

    async def _lose(self) -> None:
        """A member cannot be reached for a while."""
        random = self.world.random
        heal = self.world.outage("controller-manager", random.choice(MEMBERS), random.random() < 0.3)
        self.world.clock.call_later(random.choice((5.0, 60.0, 150.0)), heal)

    async def _leave(self) -> None:
        """A member leaves the federation, and comes back after a while."""
        name = self.world.random.choice(MEMBERS)
        await self._hub.resource(CLUSTERS).delete(name)
        self.world.background(self._return(name))

    async def _return(self, name: str) -> None:
        while True:
            await self.world.clock.sleep(self.world.random.uniform(5.0, 60.0))
            if self.world.object(CLUSTERS, name) is None:
                try:
                    await self._hub.resource(CLUSTERS).create(_cluster(name))
                except ApiError:
                    continue
                return

    async def tidy(self) -> None:
        """Everything that takes traffic away is over."""
        if self.world.object(REMEDIES, REMEDY) is not None:
            await self._hub.resource(REMEDIES).delete(REMEDY)


def _cluster(name: str) -> JSONObject:
    return {"metadata": {"name": name}, "spec": {"syncMode": "Push"}}


def _slice(name: str, service: str, endpoints: list[JSONObject]) -> JSONObject:
    managed = "endpointslice-controller.k8s.io"
    marks = {labels.KUBERNETES_SERVICE_NAME: service, labels.KUBERNETES_ENDPOINT_SLICE_MANAGED_BY: managed}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": marks},
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
    }


def _exposed(name: str, providers: list[str], consumers: list[str]) -> JSONObject:
    return {
        "apiVersion": "networking.karmada.io/v1alpha1",
        "kind": "MultiClusterService",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "types": ["CrossCluster"],
            "providerClusters": [{"name": each} for each in providers],
            "consumerClusters": [{"name": each} for each in consumers],
        },
    }


def provider_of(one: JSONObject) -> str:
    """The member whose endpoints a slice in another has; empty for a member's own."""
    found = (one["metadata"].get("annotations") or {}).get(annotations.ENDPOINT_SLICE_PROVISION_CLUSTER, "")
    return str(found)


def _is_own(step: Step) -> str | None:
    if step.server == HUB or step.kind != ("discovery.k8s.io", "endpointslices") or step.type is EventType.DELETED:
        return None
    provider = provider_of(step.object)
    if not provider:
        return None
    name = step.object["metadata"]["name"]
    if provider == step.server or not name.startswith(f"{provider}-"):
        return f"{step.server} got {name} as a slice of {provider}"
    foreign = [each for each in _addresses([step.object], ready=False) if not each.startswith(network(provider))]
    return f"{name} of {provider} in {step.server} holds {foreign}" if foreign else None


def _addresses(slices: list[JSONObject], ready: bool = True) -> set[str]:
    return {
        address
        for one in slices
        for endpoint in one.get("endpoints") or ()
        if not ready or (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint["addresses"]
    }


def _of_service(world: World, member: str, name: str) -> list[JSONObject]:
    found = world.objects(SLICES, "default", member)
    return [one for one in found if one["metadata"].get("labels", {}).get(labels.KUBERNETES_SERVICE_NAME) == name]


def agreed(world: World, lost: str = "") -> str | None:
    """Whether every consumer has exactly what it should, but for one that is lost."""
    for name in NAMES:
        exposed = world.object(EXPOSED, name, "default")
        spec = exposed["spec"] if exposed is not None else {}
        providers, consumers = (
            {each["name"] for each in spec.get(key) or ()} or set(MEMBERS if exposed is not None else ())
            for key in ("providerClusters", "consumerClusters")
        )
        for member in MEMBERS:
            if member == lost:
                continue
            brought = [one for one in _of_service(world, member, name) if provider_of(one)]
            offering = [each for each in providers if each not in (member, lost)] if member in consumers else []
            own = {each: [one for one in _of_service(world, each, name) if not provider_of(one)] for each in offering}
            wanted = {address for slices in own.values() for address in _addresses(slices)}
            if (found := _addresses(brought)) != wanted:
                missing, left = sorted(wanted - found), sorted(found - wanted)
                return f"{member} has not {missing}, and {left} too much, of {name}"
    return None


async def install(world: World) -> None:
    """Members and the Services."""
    client = world.client()
    for name in MEMBERS:
        await client.resource(CLUSTERS).create(_cluster(name))
    for name in NAMES:
        ports = [{"name": "http", "port": 80}]
        metadata = {"name": name, "namespace": "default"}
        await client.resource(SERVICES).create({"metadata": metadata, "spec": {"ports": ports}})
        await client.resource(EXPOSED).create(_exposed(name, [], []))


def scenario(manager: Manager = run_manager) -> Scenario:
    """The whole story; `manager` runs the controllers."""

    async def run(world: World) -> None:
        await install(world)
        world.check(OWN, _is_own)
        story = Story(world)
        world.start(Component("controller-manager", partial(manager, gates=GATES), MANAGER))
        world.start(Component("scheduler", run_scheduler, SCHEDULER))
        await world.clock.sleep(60)

        async def happen() -> None:
            for _ in range(STEPS):
                await world.clock.sleep(world.random.random() ** 2 * 40)
                await story.act()

        using = world.background(happen())
        await world.storm(120, WEATHER)
        await using
        await story.tidy()
        await world.calm(SETTLING)
        if problem := agreed(world):
            world.fail(AGREED, problem)
            return
        lost = world.random.choice(MEMBERS)
        heal = world.outage("controller-manager", lost)
        await world.clock.sleep(SETTLING)
        if problem := agreed(world, lost):
            world.fail(AGREED, f"without {lost}: {problem}")
        heal()
        await world.calm(SETTLING)
        if problem := agreed(world):
            world.fail(AGREED, f"after {lost} came back: {problem}")

    return run
