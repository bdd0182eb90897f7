"""The story as a scenario: components under faults, one incident after another, then peace."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.controllers.eviction_storm import StormOptions
from karmada.controllers.graceful_eviction import GracefulEvictionOptions
from karmada.controllers.taint_manager import TaintManagerOptions
from karmada.machinery.controller import Controller
from karmada.machinery.options import Options
from karmada.scheduler.core.request import Settings
from karmada.scheduler.service import SchedulerOptions
from karmada.testing.blueprint import PLAIN, Blueprint
from karmada.testing.faults import Faults
from karmada.testing.scenarios.failover.applications import MEMBERS, install
from karmada.testing.scenarios.failover.incidents import Incidents
from karmada.testing.scenarios.failover.rules import (
    AGREED,
    BUDGET,
    CAUSE,
    FENCE,
    LAST_COPY,
    NO_LOOP,
    STORM,
    THRESHOLD,
    Rules,
)
from karmada.testing.scenarios.federation import MANAGER, SCHEDULER, furnish, hub, run_manager, run_scheduler
from karmada.testing.world import HUB, Component, Scenario, World

SERVERS: Mapping[str, Blueprint] = {HUB: Blueprint(partial(hub, allow_no_execute=True), furnish)} | dict.fromkeys(
    MEMBERS, PLAIN
)
WEATHER = Faults(delay=0.2, drop=0.01, duplicate=0.01, stale_list=0.05, watch_cut=0.02, burst=0.005, crash=0.002)
GATES = DEFAULTS.with_overrides({"Failover": True, "KeepLastCopy": True, "AvoidEvictionLoops": True})
EVICTION = (TaintManagerOptions(enabled=True, rate=2.0), GracefulEvictionOptions(timeout=60.0))
EPISODES = 7
SETTLING = 500.0
NO_DEFECT = "no reconcile function fails"
Manager = Callable[..., Awaitable[None]]


def scenario(manager: Manager = run_manager, scheduling: FeatureGates = GATES) -> Scenario:
    """The whole story, with controllers and scheduler as they are or with a bug in them."""

    async def story(world: World) -> None:
        controllers: list[Controller[Any]] = []
        incidents = Incidents(world)
        rules = Rules(world, incidents)
        protected = world.seed % 2 == 0
        options = Options(*EVICTION, StormOptions(THRESHOLD if protected else 1.0))
        run = partial(manager, gates=GATES, options=options, started=controllers.extend)
        schedule = partial(run_scheduler, options=SchedulerOptions(settings=Settings(scheduling)))
        await install(world)
        world.check(LAST_COPY, rules.last_copy_stays)
        world.check(CAUSE, rules.moves_have_causes)
        world.check(NO_LOOP, rules.no_loops)
        world.check(BUDGET, rules.budget_is_kept)
        world.check(FENCE, rules.fence_holds)
        if protected:
            world.check(STORM, rules.storms_evict_nothing)
        world.start(Component("controller-manager", run, MANAGER))
        world.start(Component("scheduler", schedule, SCHEDULER))
        for member in MEMBERS:
            world.background(incidents.live(member))
        await world.clock.sleep(60)
        world.faults = WEATHER
        for _ in range(EPISODES):
            await incidents.happen()
        incidents.recover()
        await incidents.end_maintenance()
        await world.calm(SETTLING)
        for rule, problem in ((AGREED, rules.disagreement()), (NO_DEFECT, _defect(controllers))):
            if problem:
                world.fail(rule, problem)

    return story


def _defect(controllers: list[Controller[Any]]) -> str | None:
    """What a reconcile function failed with that is no answer of a server."""
    return next((f"{one.name}: {one.defects[-1]!r}" for one in controllers if one.defects), None)
