"""What must hold of every committed change, and in the end."""

from karmada.api import annotations
from karmada.machinery.transport import EventType, JSONObject
from karmada.testing.scenarios.failover.applications import BLUNT, HOME, HOME_MEMBERS, LEDGER, MEMBERS, UNAVAILABLE, WEB
from karmada.testing.scenarios.failover.incidents import Incidents
from karmada.testing.scenarios.federation import BINDINGS, DEPLOYMENTS, WORKS
from karmada.testing.world import HUB, Step, World

THRESHOLD = 0.55
LAG = 120.0
"""Virtual seconds for which the control plane may believe what was: an outage shows when it has lasted 30 seconds, and
a decision takes time to reach a member."""
SHORT_LAG = 60.0
"""The same for what the scheduler sees of taints."""
STORM_LAG = 15.0
"""The same for what the taint manager sees of conditions."""
LAST_COPY = "a copy goes only while another is healthy"
CAUSE = "a binding leaves a cluster only for a cause that is written down"
STORM = "nothing is evicted while most clusters are not ready"
NO_LOOP = "nothing new goes where a taint evicts it"
BUDGET = "moves keep to the disruption budget"
FENCE = "a fenced application runs in one cluster"
AGREED = "in the end every application runs as wanted"


class Rules:
    """Judges steps by what befell the members so far."""

    def __init__(self, world: World, incidents: Incidents) -> None:
        self._world = world
        self._incidents = incidents
        self._tainted: dict[str, float] = {}
        """Since when members have the evicting taint."""
        self._untainted: dict[str, float] = {}
        self._ready: dict[str, bool] = {}
        self._storm_since: float | None = None
        """Since when most members are not ready."""
        self._unready: dict[str, float] = {}
        """Since when members are not ready."""
        self._reports: dict[str, list[tuple[float, int]]] = {}
        """When members reported how many ready replicas of `web`, by execution space."""
        self._replaced: set[tuple[str, str]] = set()
        """Copies whose deletion was ordered while another was healthy, by member and application."""

    def last_copy_stays(self, step: Step) -> str | None:
        """No copy is deleted unless another is, or just was, healthy."""
        if step.server == HUB and step.kind == ("work.karmada.io", "works"):
            self._note_order(step)
        if step.server == HUB or step.kind != ("apps", "deployments") or step.type is not EventType.DELETED:
            return None
        name, now = step.object["metadata"]["name"], self._world.clock.monotonic()
        if self._incidents.by_hand or name in (BLUNT, LEDGER) or now - self._incidents.scaled.get(name, -LAG) < LAG:
            return None
        if self._is_elsewhere(name, step.server):
            return None
        if name in self._incidents.edited:
            # The user wants it elsewhere, and it serves nobody here, or the order was right when it was given and could
            # not be carried out before its member came back.
            is_healthy = now - self._incidents.healthy.get((step.server, name), -LAG) < LAG
            if not is_healthy or (step.server, name) in self._replaced:
                return None
        return f"{name} was deleted in {step.server}, and no other copy of it is healthy"

    def _note_order(self, step: Step) -> None:
        """Remember which copies were to go while another was healthy."""
        member, name = step.object["metadata"]["namespace"].removeprefix("karmada-es-"), _carried(step.object)
        if not step.object["metadata"].get("deletionTimestamp"):
            self._replaced.discard((member, name))
        elif (step.previous is None or not step.previous["metadata"].get("deletionTimestamp")) and self._is_elsewhere(
            name, member
        ):
            self._replaced.add((member, name))

    def _is_elsewhere(self, name: str, member: str) -> bool:
        """Whether a copy in another member than this one is, or just was, healthy."""
        now = self._world.clock.monotonic()
        lately = (place for place, when in self._incidents.healthy.items() if now - when < LAG)
        if any(app == name and other != member for other, app in lately):
            return True
        # A member may have come back after its kubelet last looked.
        return any(self._runs_well(name, other) for other in MEMBERS if other != member)

    def _runs_well(self, name: str, member: str) -> bool:
        """Whether a member that can be reached has all replicas of an application ready."""
        copy = self._world.object(DEPLOYMENTS, name, "default", member)
        if copy is None or member in self._incidents.down:
            return False
        return int((copy.get("status") or {}).get("readyReplicas", 0)) >= int(copy["spec"]["replicas"])

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
            elif task is None and _is_complete(before, after) and not _is_requested(step.previous, step.object):
                return f"{name} left {cluster} without an eviction task"
        return None

    def _untrue(self, task: JSONObject, name: str) -> str | None:
        cluster, now = task["fromCluster"], self._world.clock.monotonic()
        match task["reason"]:
            case "TaintUntolerated":
                is_true = cluster in self._tainted or now - self._untainted.get(cluster, -LAG) < LAG
            case "ApplicationFailure":
                is_true = now - self._incidents.unhealthy.get((cluster, name), -LAG) < LAG
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
                if self._world.clock.monotonic() - self._tainted.get(cluster, float("inf")) > SHORT_LAG:
                    return f"{step.object['spec']['resource']['name']} goes to {cluster}, which evicts it"
        return None

    def _note_taint(self, cluster: JSONObject) -> None:
        name, now = cluster["metadata"]["name"], self._world.clock.monotonic()
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
            self._unready.setdefault(name, self._world.clock.monotonic())
        if list(self._ready.values()).count(False) <= THRESHOLD * len(MEMBERS):
            self._storm_since = None
        elif self._storm_since is None:
            self._storm_since = self._world.clock.monotonic()

    def budget_is_kept(self, step: Step) -> str | None:
        """A Work of `web` gives ready replicas up only while enough are, or just were, ready elsewhere."""
        if step.server != HUB or step.kind != ("work.karmada.io", "works") or _carried(step.object) != WEB:
            return None
        now, space = self._world.clock.monotonic(), step.object["metadata"]["namespace"]
        self._reports.setdefault(space, []).append((now, _reported(step.object)))
        if step.previous is None or now - self._incidents.scaled.get(WEB, -LAG) < LAG or self._incidents.by_hand:
            return None
        before, after = _requested(step.previous), 0 if step.type is EventType.DELETED else _requested(step.object)
        lost = min(before, _reported(step.previous)) - after
        if lost <= 0 or not self._ready.get(space.removeprefix("karmada-es-"), True):
            return None
        left = after + sum(
            min(_requested(work), self._lately_ready(other))
            for work in self._world.objects(WORKS)
            if _carried(work) == WEB and (other := work["metadata"]["namespace"]) != space
        )
        wanted = next(
            one["spec"]["replicas"]
            for one in self._world.objects(BINDINGS, "default")
            if one["spec"]["resource"]["name"] == WEB
        )
        if left >= wanted - UNAVAILABLE:
            return None
        return f"{space} gave up {lost} ready replicas, {left} of {wanted} are left"

    def _lately_ready(self, space: str) -> int:
        """The most replicas of `web` that a member may be believed to have ready."""
        now, reports = self._world.clock.monotonic(), self._reports[space]
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
        running = [one for one in others if self._world.object(DEPLOYMENTS, LEDGER, "default", one) is not None]
        return f"it is in {step.server} and in {', '.join(running)}" if running else None

    def storms_evict_nothing(self, step: Step) -> str | None:
        """No binding gets an eviction task while most members have been not ready for a while."""
        if step.server != HUB or step.kind != ("work.karmada.io", "resourcebindings") or step.previous is None:
            return None
        if self._storm_since is None or self._world.clock.monotonic() - self._storm_since < STORM_LAG:
            return None
        before, after = _evicted(step.previous["spec"]), _evicted(step.object["spec"])
        name = step.object["spec"]["resource"]["name"]
        return f"{name} was evicted from {sorted(after - before)}" if after - before else None

    def disagreement(self) -> str | None:
        """What is not as it should be when everything is well."""
        trees = self._world.objects(BINDINGS, "default")
        bindings = {tree["spec"]["resource"]["name"]: tree["spec"] for tree in trees}
        for tree in trees:
            for condition in ("MovesWaiting", "FailingBack"):
                if _holds(tree, condition):
                    return f"{tree['spec']['resource']['name']} is {condition} still: {tree['status']['conditions']}"
        if away := _targets(bindings[HOME]).keys() - set(HOME_MEMBERS):
            return f"{HOME} has not come back from {sorted(away)}"
        for template in self._world.objects(DEPLOYMENTS, "default"):
            name, wanted = template["metadata"]["name"], template["spec"]["replicas"]
            spec = bindings[name]
            if spec.get("gracefulEvictionTasks"):
                return f"{name} is still being evicted: {spec['gracefulEvictionTasks']}"
            if sum(_targets(spec).values()) != wanted:
                return f"{name} has {_targets(spec)} of {wanted} replicas"
            copies = {member: self._world.object(DEPLOYMENTS, name, "default", member) for member in MEMBERS}
            found = {member: copy["spec"]["replicas"] for member, copy in copies.items() if copy is not None}
            if found != _targets(spec):
                return f"{name} is in {found}, not in {_targets(spec)}"
            ready = {member: copy["status"]["readyReplicas"] for member, copy in copies.items() if copy is not None}
            if ready != found:
                return f"{name} runs with {ready} of {found}"
        return None


def _evicted(spec: JSONObject) -> set[str]:
    return {task["fromCluster"] for task in spec.get("gracefulEvictionTasks") or ()}


def _targets(spec: JSONObject) -> dict[str, int]:
    return {target["name"]: target.get("replicas", 0) for target in spec.get("clusters") or ()}


def _is_complete(before: JSONObject, after: JSONObject) -> bool:
    """Whether all replicas that were wanted had a cluster, and no others are wanted now."""
    return bool(sum(_targets(before).values()) == before["replicas"] == after["replicas"])


def _is_requested(before: JSONObject, after: JSONObject) -> bool:
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


def _requested(work: JSONObject) -> int:
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
