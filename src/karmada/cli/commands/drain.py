"""`karmadactl drain`: moves everything that may move away from a cluster, one replacement after another.

The cluster is cordoned, then bindings are evicted a few at a time. Each old copy is kept (`suppressDeletion`) until the
replacement is confirmed healthy: whoever stops the command, or loses it, loses no copy. Running it again goes on.
"""

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from karmada.api.counting import counted
from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.commands.cordon import mark
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.progress import Waiting
from karmada.cli.reading import named_cluster
from karmada.cli.session import Session
from karmada.machinery.errors import NotFound

if TYPE_CHECKING:
    from karmada.api.work.v1alpha2 import ResourceBindingSpec
    from karmada.explain.simulate.outcome import Outcome
    from karmada.explain.simulate.subjects import Binding

LOOK = 0.5
"""Seconds between two looks at a move."""


async def run(session: Session, flags: Values) -> int:
    """Show what would move, then move it; the exit status is 1 where something stays."""
    from karmada.cli.output.simulation import moves

    if len(flags.arguments) != 1:
        raise CommandError("write the name of one cluster: karmadactl drain member1")
    if flags.max_moves < 1:
        raise CommandError(f"--max-moves {flags.max_moves}: write 1 or more")
    hub, name = session.hub(flags), flags.arguments[0]
    await named_cluster(hub, name)
    planned, begun = await _plan(hub, name, flags.namespace)
    session.out.write(moves([outcome for _, outcome in planned], columns=session.columns))
    stay = [outcome.name for _, outcome in planned if outcome.refused]
    if flags.dry_run:
        return 1 if stay else 0
    await mark(session, flags, cordoned=True)
    movable = [*begun, *(binding for binding, outcome in planned if not outcome.refused)]
    turns = asyncio.Semaphore(flags.max_moves)
    try:
        with Waiting(session, f"moving {counted(len(movable), 'workload')} away from {name}"):
            done = await asyncio.gather(*(_in_turn(session, hub, one, name, flags.timeout, turns) for one in movable))
    except asyncio.CancelledError:
        session.warn(f"stopped: copies without a healthy replacement stay in {name}; the same command goes on")
        raise
    for left in stay:
        session.warn(f"{left} stays in {name}: no other cluster has room for it")
    session.print(f"{sum(done)} of {counted(len(movable) + len(stay), 'workload')} left {name}")
    return 0 if all(done) and not stay else 1


async def _plan(hub: Access, name: str, namespace: str) -> "tuple[list[tuple[Binding, Outcome]], list[Binding]]":
    """What runs in the cluster with where it would go, and the moves that an earlier run began."""
    from karmada.api.cluster.v1alpha1 import Cluster
    from karmada.explain.simulate import world
    from karmada.explain.simulate.gathering import all_subjects
    from karmada.explain.simulate.outcome import outcome
    from karmada.explain.simulate.terms import running
    from karmada.scheduler.core.snapshot import Snapshot

    clusters = list(world.without(world.of((await hub.client.of(Cluster).list()).items), [name]).values())
    terms, snapshot = await running(hub.client), Snapshot(clusters)
    planned, begun = [], []
    for subject in await all_subjects(hub.client, namespace, None):
        binding = subject.before
        if binding is None or binding.spec.placement is None:
            continue
        if any(target.name == name for target in binding.spec.clusters):
            planned.append((binding, outcome(subject, clusters, snapshot, terms)))
        elif _own_task(binding.spec, name) is not None:
            begun.append(binding)
    return planned, begun


async def _in_turn(
    session: Session, hub: Access, binding: "Binding", name: str, timeout: float, turns: asyncio.Semaphore
) -> bool:
    resource = binding.spec.resource
    what = f"{resource.kind} {f'{resource.namespace}/' if resource.namespace else ''}{resource.name}"
    async with turns:
        try:
            async with asyncio.timeout(timeout or None):
                where = await _move(hub, binding, name)
        except TimeoutError:
            session.warn(f"{what}: no healthy replacement after {timeout:g} s; its copy stays in {name}")
            return False
    session.print(f"{what}: moved to {where}")
    return True


async def _move(hub: Access, binding: "Binding", name: str) -> str:
    """Evict one binding, wait for its replacement, let the old copy go; where it runs then."""
    from karmada.api import evictions
    from karmada.api.cluster.v1alpha1 import Cluster
    from karmada.api.work.v1alpha2 import GracefulEvictionTask
    from karmada.controllers.clusters import is_ready
    from karmada.machinery.committer import Committer
    from karmada.policies.failover.last_copy import is_replaced
    from karmada.policies.failover.tasks import evict

    resource: Any = hub.client.of(type(binding))
    committer: Committer[Any] = Committer(resource)
    task = GracefulEvictionTask(
        from_cluster=name,
        purge_mode=evictions.PURGE_GRACEFULLY,
        reason=evictions.REASON_DRAINED,
        message="drained by karmadactl; the copy stays until its replacement is healthy",
        producer=evictions.PRODUCER_DRAIN,
        suppress_deletion=True,
    )
    await committer.commit(binding, lambda one: msgspec.structs.replace(one, spec=evict(one.spec, [task])))
    while True:
        try:
            seen = await resource.get(binding.metadata.name, binding.metadata.namespace)
        except NotFound:
            return "nowhere, as it was deleted"
        pending = _own_task(seen.spec, name)
        if pending is None:
            return ", ".join(f"{target.name}:{target.replicas}" for target in seen.spec.clusters) or "no cluster"
        ready = {one.metadata.name: is_ready(one) for one in (await hub.client.of(Cluster).list()).items}
        has_health = any(item.health in ("Healthy", "Unhealthy") for item in seen.status.aggregated_status)
        settled = seen.status.scheduler_observed_generation == seen.metadata.generation
        if pending.suppress_deletion and settled and is_replaced(seen.spec, seen.status, ready.get, has_health):
            await committer.commit(seen, lambda one: msgspec.structs.replace(one, spec=_released(one.spec, name)))
        await asyncio.sleep(LOOK)


def _own_task(spec: "ResourceBindingSpec", name: str) -> Any:
    from karmada.api.evictions import PRODUCER_DRAIN

    tasks = spec.graceful_eviction_tasks
    return next((one for one in tasks if one.from_cluster == name and one.producer == PRODUCER_DRAIN), None)


def _released(spec: "ResourceBindingSpec", name: str) -> "ResourceBindingSpec":
    """The spec whose copy in a cluster may go."""
    tasks = tuple(
        msgspec.structs.replace(task, suppress_deletion=False) if task is _own_task(spec, name) else task
        for task in spec.graceful_eviction_tasks
    )
    return msgspec.structs.replace(spec, graceful_eviction_tasks=tasks)


COMMAND = Command(
    "drain",
    "CLUSTER",
    "Move everything that may move away from a cluster.\n\n"
    "Shows first what would go where, cordons the cluster, and moves workloads a few at a time: each replacement has\n"
    "to be healthy before its old copy goes. What has no room elsewhere stays, and the exit status is 1. Stopping the\n"
    "command loses no copy; the same command goes on. karmadactl uncordon lets workloads in again.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        Flag("dry-run", False, "Only show what would move."),
        Flag("max-moves", 1, "Workloads that move at the same time."),
        common.waiting("timeout", 600, "How long one replacement may take to be healthy; 0 waits for ever."),
    ),
    examples="""
# What would move?
karmadactl drain member1 --dry-run
# Move it, five workloads at a time
karmadactl drain member1 --max-moves 5
# Let workloads in again
karmadactl uncordon member1
""",
    takes_members=True,
)
