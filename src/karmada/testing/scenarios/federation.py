"""The control plane itself: templates in, copies in two members, while processes crash and every link fails by itself.

- The *user* creates, changes and deletes Deployments that one policy places in both members.
- The *controller-manager* and the *scheduler* are the real ones, each a process that can crash at any write.

Rules, after every committed change: a copy in a member goes only when its template goes. In the end, every template has
its copies as wanted, and nothing is left of those that are gone: no copy, no Work, no binding.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from karmada.aggregated.cluster_type import cluster_type
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.crd.definition import definitions
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import Storage
from karmada.controllers.context import Context
from karmada.controllers.manager import ControllerManager
from karmada.controllers.resumption.group import Records
from karmada.interpreter.facade import native_interpreter
from karmada.machinery.client import Client
from karmada.machinery.committer import Committer
from karmada.machinery.controller import Controller
from karmada.machinery.errors import ApiError
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.options import Options
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject, Transport
from karmada.membership import installation
from karmada.membership.connections import PushMembers
from karmada.scheduler.service import Scheduler, SchedulerOptions
from karmada.standalone.admission import KarmadaAdmission
from karmada.standalone.control_plane import component_user
from karmada.testing.blueprint import PLAIN, Blueprint
from karmada.testing.faults import Faults
from karmada.testing.loop import VirtualClock
from karmada.testing.world import HUB, Component, Step, Surroundings, World
from karmada.webhook.lookup import ClientLookup

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
MEMBERS = ("member1", "member2")
NAMES = ("web", "shop")
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
    crash=0.03,
)


def hub(storage: Storage, allow_no_execute: bool = False) -> ApiServer:
    """The control plane's API server, with Karmada's admission inside."""
    lookup, clock = ClientLookup(), VirtualClock()
    server = ApiServer(
        ApiServerOptions(
            storage=storage,
            admission=[KarmadaAdmission(lookup, DEFAULTS, allow_no_execute=allow_no_execute, now=clock.now)],
            apis=[LocalApi([cluster_type()])],
            now=clock.now,
            random=clock.random(),
        )
    )
    lookup.client = Client(server.direct(component_user("karmada-webhook")))
    return server


async def furnish(client: Client) -> None:
    """Kinds, namespaces and roles of the control plane."""
    crds = Committer(client.resource(CRDS))
    for wanted in definitions():
        await crds.ensure(wanted["metadata"]["name"], "", partial(_or, wanted))
    for name in ("karmada-system", "karmada-cluster"):
        await client.resource(NAMESPACES).create({"metadata": {"name": name}})
    await installation.install(client)


def _or(wanted: JSONObject, seen: JSONObject | None) -> JSONObject:
    return seen or wanted


MANAGER, SCHEDULER = component_user("karmada-controller-manager"), component_user("karmada-scheduler")
SERVERS: Mapping[str, Blueprint] = {HUB: Blueprint(hub, furnish)} | dict.fromkeys(MEMBERS, PLAIN)


Wrap = Callable[[Transport, Surroundings], Transport]
"""Puts something between a component and its servers: planted bugs."""


def _as_it_is(transport: Transport, around: Surroundings) -> Transport:
    return transport


async def run_manager(
    around: Surroundings,
    wrap: Wrap = _as_it_is,
    gates: FeatureGates = DEFAULTS,
    options: Options | None = None,
    started: Callable[[list[Controller[Any]]], None] = lambda _: None,
    records: Records | None = None,
) -> None:
    """The controllers of the control plane; `started` is called with them. `records` outlive a crash."""
    client = Client(wrap(around.client.transport, around), field_manager="controller-manager")

    async def open_member(cluster: Cluster) -> Transport:
        return wrap(around.link(cluster.metadata.name), around)

    async with Supervisor(around.clock) as supervisor:
        informers = InformerFactory(client, supervisor, clock=around.clock)
        context = Context(
            client,
            informers,
            lambda component: EventRecorder(client, component, clock=around.clock),
            gates,
            native_interpreter(gates),
            around.clock,
        )
        members = PushMembers(open_member, around.clock)
        manager = ControllerManager(context, members, options=options or Options(), records=records)
        started(manager.start(supervisor))
        await supervisor.wait()


async def run_scheduler(around: Surroundings, options: SchedulerOptions | None = None) -> None:
    """The scheduler."""
    async with Supervisor(around.clock) as supervisor:
        informers = InformerFactory(around.client, supervisor, clock=around.clock)
        recorder = EventRecorder(around.client, "default-scheduler", clock=around.clock)
        Scheduler(around.client, informers, recorder, options, clock=around.clock).start(supervisor)
        await supervisor.wait()


async def install(world: World) -> None:
    """Members and the policy."""
    client = world.client()
    for name in MEMBERS:
        await client.resource(CLUSTERS).create({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})
    spec = {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
        "placement": {"clusterAffinity": {"clusterNames": list(MEMBERS)}},
    }
    await client.resource(POLICIES).create({"metadata": {"name": "all", "namespace": "default"}, "spec": spec})


class User:
    """Changes templates as a person with kubectl would."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._templates = world.client("user").resource(DEPLOYMENTS)

    async def act(self) -> None:
        """Do one thing to one template."""
        random = self._world.random
        name = random.choice(NAMES)
        present = self._world.object(DEPLOYMENTS, name, "default")
        try:
            if present is None:
                await self._templates.create(deployment(name, random.randint(1, 5)))
            elif random.random() < 0.3:
                await self._templates.delete(name, "default")
            else:
                await self._templates.patch(name, {"spec": {"replicas": random.randint(1, 5)}}, "default")
        except ApiError:
            return


def deployment(name: str, replicas: int) -> JSONObject:
    """A template."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def copies_stay(world: World) -> Callable[[Step], str | None]:
    """The rule that no copy of a living template is deleted."""

    def rule(step: Step) -> str | None:
        if step.server == HUB or step.kind != ("apps", "deployments") or step.type is not EventType.DELETED:
            return None
        template = world.object(DEPLOYMENTS, step.object["metadata"]["name"], "default")
        alive = template is not None and "deletionTimestamp" not in template["metadata"]
        # A template created again under the name may still wait for the end of the copy of the one before.
        same = alive and template is not None and _template_uid(step.object) == template["metadata"]["uid"]
        return f"the copy of {step.object['metadata']['name']} in {step.server} was deleted" if same else None

    return rule


def _template_uid(copy: JSONObject) -> str:
    annotations = copy["metadata"].get("annotations") or {}
    return str(annotations.get("resourcetemplate.karmada.io/uid", ""))


def agreed(world: World) -> str | None:
    """Whether members hold what the templates say, and nothing is left over."""
    templates = {tree["metadata"]["name"]: tree for tree in world.objects(DEPLOYMENTS, "default")}
    for member in MEMBERS:
        copies = {tree["metadata"]["name"]: tree for tree in world.objects(DEPLOYMENTS, "default", member)}
        for name, template in templates.items():
            if name not in copies:
                return f"{name} is not in {member}"
            if copies[name]["spec"]["replicas"] != template["spec"]["replicas"]:
                return f"{name} has {copies[name]['spec']['replicas']} replicas in {member}, not the template's"
        if left := copies.keys() - templates.keys():
            return f"{sorted(left)} are left in {member}"
    works = [tree["metadata"]["name"] for tree in world.objects(WORKS)]
    if len(works) != len(templates) * len(MEMBERS):
        return f"there are works {works} for templates {sorted(templates)}"
    bindings = [tree["metadata"]["name"] for tree in world.objects(BINDINGS)]
    return f"there are bindings {bindings}" if len(bindings) != len(templates) else None


async def scenario(world: World, records: Records | None = None) -> None:
    """The whole story; with `records` the controller-manager keeps over its crashes what it need not look at."""
    await install(world)
    world.check("a copy goes only when its template goes", copies_stay(world))
    user = User(world)
    world.start(Component("controller-manager", partial(run_manager, records=records), MANAGER))
    world.start(Component("scheduler", run_scheduler, SCHEDULER))
    await world.clock.sleep(60)

    async def use() -> None:
        for _ in range(12):
            await world.clock.sleep(world.random.random() ** 2 * 20)
            await user.act()

    using = world.background(use())
    await world.storm(90, WEATHER)
    await using
    await world.calm(900)
    problem = agreed(world)
    if problem:
        world.fail("in the end members hold what templates say", problem)
