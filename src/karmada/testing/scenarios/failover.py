"""Failover with all that goes wrong: clusters die, flap, lose answers, come back with old state, half of them at once.

- *Members* run what they are given: each has a kubelet that brings Deployments up, or reports them sick.
- The *user* scales templates, edits a placement and taints clusters for maintenance. Applications fail over in several
  ways: `web` is divided, evicted at once and has a disruption budget, `shop` runs in one cluster, tolerates taints for
  a while and is also moved when it is sick, `blunt` is purged directly, `ledger` is fenced, `home` goes back to its
  first affinity term.
- The gates KeepLastCopy and AvoidEvictionLoops are on; in even seeds evictions stop while most clusters are not ready.

Rules, after every committed change: a copy goes only while another is healthy, or when someone asked for the purge; a
binding leaves a cluster only for a cause that is written down, and not while evictions have to stop; it does not come
to a cluster whose taint evicts it. Moves take no more ready replicas of `web` away than its budget allows, and `ledger`
is never in two clusters. In the end every application has its replicas, all of them run where they should, nothing is
left over or waits, and no reconcile function failed.
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from karmada.api import annotations
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.controllers.eviction_storm import StormOptions
from karmada.controllers.graceful_eviction import GracefulEvictionOptions
from karmada.controllers.taint_manager import TaintManagerOptions
from karmada.machinery.controller import Controller
from karmada.machinery.errors import ApiError, Conflict, NotFound
from karmada.machinery.options import Options
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject
from karmada.scheduler.core.request import Settings
from karmada.scheduler.service import SchedulerOptions
from karmada.testing.blueprint import PLAIN, Blueprint
from karmada.testing.faults import Faults
from karmada.testing.scenarios.federation import (
    BINDINGS,
    CLUSTERS,
    DEPLOYMENTS,
    MANAGER,
    POLICIES,
    SCHEDULER,
    WORKS,
    deployment,
    furnish,
    hub,
    run_manager,
    run_scheduler,
)
from karmada.testing.world import HUB, Component, Scenario, Step, World

TAINT_POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "clustertaintpolicies")
MEMBERS = ("member1", "member2", "member3", "member4")
SERVERS: Mapping[str, Blueprint] = {HUB: Blueprint(partial(hub, allow_no_execute=True), furnish)} | dict.fromkeys(
    MEMBERS, PLAIN
)
WEB, SHOP, BLUNT, LEDGER, HOME = "web", "shop", "blunt", "ledger", "home"
APPS = (WEB, SHOP, BLUNT, LEDGER, HOME)
HOME_MEMBERS = MEMBERS[:2]
UNAVAILABLE = 1
"""Replicas of `web` that moves may make unavailable."""
TAINT, MAINTENANCE = "example.io/down", "example.io/maintenance"
WEATHER = Faults(delay=0.2, drop=0.01, duplicate=0.01, stale_list=0.05, watch_cut=0.02, burst=0.005, crash=0.002)
GATES = DEFAULTS.with_overrides({"Failover": True, "KeepLastCopy": True, "AvoidEvictionLoops": True})
THRESHOLD = 0.55
EVICTION = (TaintManagerOptions(enabled=True, rate=2.0), GracefulEvictionOptions(timeout=60.0))
EPISODES = 7
LAG = 120.0
"""Virtual seconds for which the control plane may believe what was: an outage shows when it has lasted 30 seconds, and
a decision takes time to reach a member."""
SHORT_LAG = 60.0
"""The same for what the scheduler sees of taints."""
TICK = 3.0
SETTLING = 500.0
LAST_COPY = "a copy goes only while another is healthy"
CAUSE = "a binding leaves a cluster only for a cause that is written down"
STORM = "nothing is evicted while most clusters are not ready"
NO_LOOP = "nothing new goes where a taint evicts it"
BUDGET = "moves keep to the disruption budget"
FENCE = "a fenced application runs in one cluster"
AGREED, NO_DEFECT = "in the end every application runs as wanted", "no reconcile function fails"
Manager = Callable[..., Awaitable[None]]


class Story:
    """What befalls members, and what may be expected of the control plane meanwhile."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.controllers: list[Controller[Any]] = []
        self.down: dict[str, Callable[[], None]] = {}
        """Members that cannot be reached, and how that ends."""
        self.sick: set[tuple[str, str]] = set()
        """Members in which an application does not get ready."""
        self.maintained: set[str] = set()
        """Members that the user has tainted."""
        self._locals = {name: world.client("local user", name) for name in MEMBERS}
        self._healthy: dict[tuple[str, str], float] = {}
        """When a copy was last seen healthy, by member and application."""
        self._unhealthy: dict[tuple[str, str], float] = {}
        self._scaled: dict[str, float] = {}
        self._tainted: dict[str, float] = {}
        """Since when members have the evicting taint."""
        self._untainted: dict[str, float] = {}
        self._ready: dict[str, bool] = {}
        self._storm_since: float | None = None
        """Since when most members are not ready."""
        self._by_hand = False
        self._unready: dict[str, float] = {}
        """Since when members are not ready."""
        self._reports: dict[str, list[tuple[float, int]]] = {}
        """When members reported how many ready replicas of `web`, by execution space."""

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
                if (copy.get("status") or {}) != status:
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
        (self._healthy if is_well else self._unhealthy)[member, name] = self.world.clock.monotonic()

    # What befalls them.

    async def episode(self) -> None:
        """One thing that goes wrong, or is put right."""
        random = self.world.random
        up = [name for name in MEMBERS if name not in self.down]
        do = random.choice((self._die, self._die, self._lose_half, self._flap, self._return, self._sicken, self._scale))
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
            self._by_hand = True
            with contextlib.suppress(NotFound):
                await copies.delete(name, "default")
            self._by_hand = False

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
        chosen = sorted(self.world.random.sample(MEMBERS, self.world.random.randint(2, 3)))
        spec = {"placement": {"clusterAffinity": {"clusterNames": chosen}}}
        await self.world.client("user").resource(POLICIES).patch(WEB, {"spec": spec}, "default")

    async def _scale(self, up: list[str]) -> None:
        name = self.world.random.choice(APPS)
        self._scaled[name] = self.world.clock.monotonic()
        replicas = _replicas(self.world, name)
        await self.world.client("user").resource(DEPLOYMENTS).patch(name, {"spec": {"replicas": replicas}}, "default")

    def recover(self) -> None:
        """Everything is well again."""
        while self.down:
            self.down.popitem()[1]()
        self.sick.clear()

    # What must hold.

    def last_copy_stays(self, step: Step) -> str | None:
        """No copy is deleted unless another is, or just was, healthy."""
        if step.server == HUB or step.kind != ("apps", "deployments") or step.type is not EventType.DELETED:
            return None
        name, now = step.object["metadata"]["name"], self.world.clock.monotonic()
        if self._by_hand or name in (BLUNT, LEDGER) or now - self._scaled.get(name, -LAG) < LAG:
            return None
        others = [seen for (member, app), seen in self._healthy.items() if app == name and member != step.server]
        if any(now - seen < LAG for seen in others):
            return None
        return f"{name} was deleted in {step.server}, and no other copy of it is healthy"

    def moves_have_causes(self, step: Step) -> str | None:
        """A cluster leaves a result by a task that says why and is true, or because replicas have to be divided."""
        if step.server != HUB or step.kind != ("work.karmada.io", "resourcebindings") or step.previous is None:
            return None
        before, after, name = step.previous["spec"], step.object["spec"], step.object["spec"]["resource"]["name"]
        tasks = {task["fromCluster"]: task for task in after.get("gracefulEvictionTasks") or ()}
        known = _evicted(before)
        for cluster in _targets(before).keys() - _targets(after).keys():
            task = tasks.get(cluster)
            if task is not None and cluster not in known:
                if (problem := self._untrue(task, name)) is not None:
                    return problem
            elif task is None and _is_complete(before, after) and not _is_asked(step.previous, step.object):
                return f"{name} left {cluster} without an eviction task"
        return None

    def _untrue(self, task: JSONObject, name: str) -> str | None:
        cluster, now = task["fromCluster"], self.world.clock.monotonic()
        match task["reason"]:
            case "TaintUntolerated":
                is_true = cluster in self._tainted or now - self._untainted.get(cluster, -LAG) < LAG
            case "ApplicationFailure":
                is_true = now - self._unhealthy.get((cluster, name), -LAG) < LAG
            case _:
                is_true = False
        return None if is_true else f"{name} left {cluster} for {task['reason']}, which is not so"

    def no_loops(self, step: Step) -> str | None:
        """No binding gets a cluster that has long had the taint that evicts it."""
        if step.server != HUB:
            return None
        if step.kind == ("cluster.karmada.io", "clusters"):
            self._note_taint(step.object)
            self._note_readiness(step.object)
        elif step.kind == ("work.karmada.io", "resourcebindings") and step.previous is not None:
            for cluster in _targets(step.object["spec"]).keys() - _targets(step.previous["spec"]).keys():
                if self.world.clock.monotonic() - self._tainted.get(cluster, float("inf")) > SHORT_LAG:
                    return f"{step.object['spec']['resource']['name']} goes to {cluster}, which evicts it"
        return None

    def _note_taint(self, cluster: JSONObject) -> None:
        name, now = cluster["metadata"]["name"], self.world.clock.monotonic()
        if any(taint["effect"] == "NoExecute" for taint in cluster["spec"].get("taints") or ()):
            self._tainted.setdefault(name, now)
        elif self._tainted.pop(name, None) is not None:
            self._untainted[name] = now

    def _note_readiness(self, cluster: JSONObject) -> None:
        found = (cluster.get("status") or {}).get("conditions") or ()
        ready = next((one["status"] for one in found if one["type"] == "Ready"), "True")
        name = cluster["metadata"]["name"]
        self._ready[name] = ready == "True"
        if self._ready[name]:
            self._unready.pop(name, None)
        else:
            self._unready.setdefault(name, self.world.clock.monotonic())
        if list(self._ready.values()).count(False) <= THRESHOLD * len(MEMBERS):
            self._storm_since = None
        elif self._storm_since is None:
            self._storm_since = self.world.clock.monotonic()

    def budget_is_kept(self, step: Step) -> str | None:
        """A Work of `web` gives ready replicas up only while enough are, or just were, ready elsewhere."""
        if step.server != HUB or step.kind != ("work.karmada.io", "works") or _carried(step.object) != WEB:
            return None
        now, space = self.world.clock.monotonic(), step.object["metadata"]["namespace"]
        self._reports.setdefault(space, []).append((now, _reported(step.object)))
        if step.previous is None or now - self._scaled.get(WEB, -LAG) < LAG or self._by_hand:
            return None
        before, after = _asked(step.previous), 0 if step.type is EventType.DELETED else _asked(step.object)
        lost = min(before, _reported(step.previous)) - after
        if lost <= 0 or not self._ready.get(space.removeprefix("karmada-es-"), True):
            return None
        left = after + sum(
            min(_asked(work), self._lately_ready(other))
            for work in self.world.objects(WORKS)
            if _carried(work) == WEB and (other := work["metadata"]["namespace"]) != space
        )
        wanted = next(
            one["spec"]["replicas"]
            for one in self.world.objects(BINDINGS, "default")
            if one["spec"]["resource"]["name"] == WEB
        )
        if left >= wanted - UNAVAILABLE:
            return None
        return f"{space} gave up {lost} ready replicas, {left} of {wanted} are left"

    def _lately_ready(self, space: str) -> int:
        """The most replicas of `web` that a member may be believed to have ready."""
        now, reports = self.world.clock.monotonic(), self._reports[space]
        if now - self._unready.get(space.removeprefix("karmada-es-"), now) > SHORT_LAG:
            return 0
        return max(count for then, count in reports if now - then < LAG or (then, count) == reports[-1])

    def fence_holds(self, step: Step) -> str | None:
        """No member gets `ledger` while another has it."""
        if step.server == HUB or step.kind != ("apps", "deployments") or step.object["metadata"]["name"] != LEDGER:
            return None
        if step.type is EventType.DELETED:
            return None
        others = [one for one in MEMBERS if one != step.server]
        running = [one for one in others if self.world.object(DEPLOYMENTS, LEDGER, "default", one) is not None]
        return f"it is in {step.server} and in {', '.join(running)}" if running else None

    def storms_evict_nothing(self, step: Step) -> str | None:
        """No binding gets an eviction task while most members have been not ready for a while."""
        if step.server != HUB or step.kind != ("work.karmada.io", "resourcebindings") or step.previous is None:
            return None
        if self._storm_since is None or self.world.clock.monotonic() - self._storm_since < SHORT_LAG:
            return None
        before, after = _evicted(step.previous["spec"]), _evicted(step.object["spec"])
        name = step.object["spec"]["resource"]["name"]
        return f"{name} was evicted from {sorted(after - before)}" if after - before else None

    def disagreement(self) -> str | None:
        """What is not as it should be when everything is well."""
        trees = self.world.objects(BINDINGS, "default")
        bindings = {tree["spec"]["resource"]["name"]: tree["spec"] for tree in trees}
        for tree in trees:
            for condition in ("MovesWaiting", "FailingBack"):
                if _holds(tree, condition):
                    return f"{tree['spec']['resource']['name']} is {condition} still: {tree['status']['conditions']}"
        if away := _targets(bindings[HOME]).keys() - set(HOME_MEMBERS):
            return f"{HOME} has not come back from {sorted(away)}"
        for template in self.world.objects(DEPLOYMENTS, "default"):
            name, wanted = template["metadata"]["name"], template["spec"]["replicas"]
            spec = bindings[name]
            if spec.get("gracefulEvictionTasks"):
                return f"{name} is still being evicted: {spec['gracefulEvictionTasks']}"
            if sum(_targets(spec).values()) != wanted:
                return f"{name} has {_targets(spec)} of {wanted} replicas"
            copies = {member: self.world.object(DEPLOYMENTS, name, "default", member) for member in MEMBERS}
            found = {member: copy["spec"]["replicas"] for member, copy in copies.items() if copy is not None}
            if found != _targets(spec):
                return f"{name} is in {found}, not in {_targets(spec)}"
            ready = {member: copy["status"]["readyReplicas"] for member, copy in copies.items() if copy is not None}
            if ready != found:
                return f"{name} runs with {ready} of {found}"
        return None

    def defect(self) -> str | None:
        """What a reconcile function failed with that is no answer of a server."""
        return next((f"{one.name}: {one.defects[-1]!r}" for one in self.controllers if one.defects), None)


def scenario(manager: Manager = run_manager, scheduling: FeatureGates = GATES) -> Scenario:
    """The whole story, with controllers and scheduler as they are or with a bug in them."""

    async def story(world: World) -> None:
        told = Story(world)
        protected = world.seed % 2 == 0
        options = Options(*EVICTION, StormOptions(THRESHOLD if protected else 1.0))
        run = partial(manager, gates=GATES, options=options, started=told.controllers.extend)
        schedule = partial(run_scheduler, options=SchedulerOptions(settings=Settings(scheduling)))
        await _install(world)
        world.check(LAST_COPY, told.last_copy_stays)
        world.check(CAUSE, told.moves_have_causes)
        world.check(NO_LOOP, told.no_loops)
        world.check(BUDGET, told.budget_is_kept)
        world.check(FENCE, told.fence_holds)
        if protected:
            world.check(STORM, told.storms_evict_nothing)
        world.start(Component("controller-manager", run, MANAGER))
        world.start(Component("scheduler", schedule, SCHEDULER))
        for member in MEMBERS:
            world.background(told.live(member))
        await world.clock.sleep(60)
        world.faults = WEATHER
        for _ in range(EPISODES):
            await told.episode()
        told.recover()
        await told.end_maintenance()
        await world.calm(SETTLING)
        for rule, problem in ((AGREED, told.disagreement()), (NO_DEFECT, told.defect())):
            if problem:
                world.fail(rule, problem)

    return story


async def _install(world: World) -> None:
    client = world.client()
    for name in MEMBERS:
        await client.resource(CLUSTERS).create({"metadata": {"name": name}, "spec": {"syncMode": "Push"}})
    down, up = ({"conditionType": "Ready", "operator": op, "statusValues": ["True"]} for op in ("NotIn", "In"))
    spec: JSONObject = {"taints": [{"key": TAINT, "effect": "NoExecute"}]}
    spec |= {"addOnConditions": [down], "removeOnConditions": [up]}
    await client.resource(TAINT_POLICIES).create({"metadata": {"name": "down"}, "spec": spec})
    divided = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
    one = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    back = {"windowSeconds": 60, "hysteresisSeconds": 30, "maxMoves": 1}
    for name, wanted in (
        (WEB, _policy(divided, disruptionBudget={"maxUnavailable": UNAVAILABLE})),
        (BLUNT, _policy(divided, cluster="Directly")),
        (SHOP, _shop()),
        (LEDGER, _policy(one, fencing={})),
        (HOME, _home(back)),
    ):
        selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}]
        metadata = {"name": name, "namespace": "default"}
        await client.resource(POLICIES).create(
            {"metadata": metadata, "spec": {"resourceSelectors": selectors, **wanted}}
        )
        await client.resource(DEPLOYMENTS).create(deployment(name, _replicas(world, name)))


def _replicas(world: World, name: str) -> int:
    """Some replicas, and of `web` more than its budget lets go: what may all be unavailable may be gone."""
    return max(world.random.randint(1, 8), 1 + UNAVAILABLE if name == WEB else 1)


def _policy(placement: JSONObject, cluster: str = "Gracefully", **failover: Any) -> JSONObject:
    everywhere = {"clusterAffinity": {"clusterNames": list(MEMBERS)}}
    return {"placement": everywhere | placement, "failover": {"cluster": {"purgeMode": cluster}, **failover}}


def _home(failback: JSONObject) -> JSONObject:
    terms = [("home", HOME_MEMBERS), ("away", MEMBERS[len(HOME_MEMBERS) :])]
    spec = _policy({"replicaScheduling": {"replicaSchedulingType": "Divided"}}, failback=failback)
    spec["placement"].pop("clusterAffinity")
    spec["placement"]["clusterAffinities"] = [{"affinityName": name, "clusterNames": list(of)} for name, of in terms]
    return spec


def _shop() -> JSONObject:
    patience = {"effect": "NoExecute", "operator": "Exists", "tolerationSeconds": 30}
    one = {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}
    spec = _policy({"clusterTolerations": [patience], "spreadConstraints": [one]})
    spec["failover"]["application"] = {"decisionConditions": {"tolerationSeconds": 20}, "gracePeriodSeconds": 60}
    spec["failover"]["application"]["purgeMode"] = "Gracefully"
    return spec | {"propagateDeps": True}


def _evicted(spec: JSONObject) -> set[str]:
    return {task["fromCluster"] for task in spec.get("gracefulEvictionTasks") or ()}


def _targets(spec: JSONObject) -> dict[str, int]:
    return {target["name"]: target.get("replicas", 0) for target in spec.get("clusters") or ()}


def _is_complete(before: JSONObject, after: JSONObject) -> bool:
    """Whether all replicas that were wanted had a cluster, and no others are wanted now."""
    return bool(sum(_targets(before).values()) == before["replicas"] == after["replicas"])


def _is_asked(before: JSONObject, after: JSONObject) -> bool:
    """Whether replicas move because they go back, or because the placement that chose their clusters was edited."""
    applied = [one["metadata"].get("annotations", {}).get(annotations.APPLIED_PLACEMENT) for one in (before, after)]
    return _holds(after, "FailingBack") or applied[0] != applied[1]


def _holds(binding: JSONObject, type_: str) -> bool:
    found = (binding.get("status") or {}).get("conditions") or ()
    return any(one["type"] == type_ and one["status"] == "True" for one in found)


def _carried(work: JSONObject) -> str:
    """The Deployment that a Work carries; empty when it carries something else."""
    (manifest, *_) = work["spec"]["workload"].get("manifests") or [{}]
    return str(manifest["metadata"]["name"]) if manifest.get("kind") == "Deployment" else ""


def _asked(work: JSONObject) -> int:
    """Replicas that a Work asks for; none when it goes."""
    if work["metadata"].get("deletionTimestamp"):
        return 0
    replicas: int = work["spec"]["workload"]["manifests"][0]["spec"]["replicas"]
    return replicas


def _reported(work: JSONObject) -> int:
    """Ready replicas that the member reported last."""
    for one in (work.get("status") or {}).get("manifestStatuses") or ():
        return int((one.get("status") or {}).get("readyReplicas") or 0)
    return 0
