"""Two controller managers and two schedulers that divide their work (`--shards`), with the roles of production."""

from functools import partial

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import DEFAULTS
from karmada.api.names import SYSTEM_NAMESPACE
from karmada.controllers.composition import hold_shards
from karmada.controllers.context import Context
from karmada.controllers.manager import ControllerManager
from karmada.interpreter.facade import native_interpreter
from karmada.machinery.client import Client
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.leader import LeadershipLost
from karmada.machinery.sharding.campaign import Campaign
from karmada.machinery.sharding.ownership import Ownership, ShardedTransport
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import Transport
from karmada.membership.connections import PushMembers
from karmada.scheduler.main import hold_shards as hold_scheduler_shards
from karmada.scheduler.service import Scheduler
from karmada.testing.scenarios.federation import MANAGER, SCHEDULER
from karmada.testing.world import Component, Surroundings, World

SHARDS = 4


def start(world: World) -> None:
    """Start two of each."""
    for number in (1, 2):
        manager, scheduler = f"controller-manager-{number}", f"scheduler-{number}"
        world.start(Component(manager, partial(_run_manager, manager), MANAGER))
        world.start(Component(scheduler, partial(_run_scheduler, scheduler), SCHEDULER))


async def _run_manager(name: str, around: Surroundings) -> None:
    while True:
        try:
            await _manage(name, around)
        except LeadershipLost:
            continue  # the process is started again


async def _manage(name: str, around: Surroundings) -> None:
    client = Client(ShardedTransport(around.client.transport), field_manager="controller-manager")
    campaign = _campaign("karmada-controller-manager", name, around, undivided=1)

    async def open_member(cluster: Cluster) -> Transport:
        return ShardedTransport(around.link(cluster.metadata.name))

    members = PushMembers(open_member, around.clock)
    try:
        async with Supervisor(around.clock) as supervisor:
            context = Context(
                client,
                InformerFactory(client, supervisor, clock=around.clock),
                lambda component: EventRecorder(client, component, clock=around.clock),
                DEFAULTS,
                native_interpreter(DEFAULTS),
                around.clock,
            )
            manager = ControllerManager(context, members)
            divided = manager.start_divided(supervisor, campaign.ownership)
            hold = partial(hold_shards, campaign, divided, manager.start_undivided, around.clock)
            supervisor.start("shards", hold, restart=False)
            await supervisor.wait()
    finally:
        await members.close()


async def _run_scheduler(name: str, around: Surroundings) -> None:
    while True:
        try:
            await _schedule(name, around)
        except LeadershipLost:
            continue  # the process is started again


async def _schedule(name: str, around: Surroundings) -> None:
    client = Client(ShardedTransport(around.client.transport), field_manager="scheduler")
    campaign = _campaign("karmada-scheduler", name, around, undivided=0)
    async with Supervisor(around.clock) as supervisor:
        informers = InformerFactory(client, supervisor, clock=around.clock)
        recorder = EventRecorder(client, "default-scheduler", clock=around.clock)
        scheduler = Scheduler(client, informers, recorder, clock=around.clock)
        scheduler.divide(campaign.ownership)
        scheduler.start(supervisor)
        supervisor.start("shards", partial(hold_scheduler_shards, campaign, scheduler), restart=False)
        await supervisor.wait()


def _campaign(component: str, name: str, around: Surroundings, undivided: int) -> Campaign:
    return Campaign(around.client, component, SYSTEM_NAMESPACE, name, Ownership(SHARDS, undivided), clock=around.clock)
