"""DaemonSets: one pod on every node that suits."""

from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result, Retry, own_key
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import DAEMON_SETS
from karmada.simulator.workloads.pod_making import PodMaker, from_template, owner_name
from karmada.simulator.workloads.replicaset import is_available, next_available
from karmada.simulator.workloads.revisions import LABEL, Revisions
from karmada.simulator.workloads.rollout import resolved
from karmada.simulator.workloads.scheduling.matching import REQUIRED, mismatch, pinned
from karmada.simulator.workloads.views import POD, Node, Pod

COMPONENT = "daemonset-controller"
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


class DaemonSetController:
    """Reconciles DaemonSets: one pod on every eligible node."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._sets = context.trees(DAEMON_SETS)
        self._commit = Committer(context.client.resource(DAEMON_SETS))
        self._maker = PodMaker(context, COMPONENT)
        self._revisions = Revisions(context)
        needs = (self._sets, self._revisions.informer, context.pods, context.nodes)
        self.controller = context.controller(COMPONENT, self.reconcile, needs)
        self.controller.watch(self._sets, own_key)
        self.controller.watch(context.pods, self._owners)
        self.controller.watch(context.nodes, self._on_node)

    def _owners(self, change: Change[Pod]) -> list[Key]:
        self._maker.expectations.gone(change)
        return [Key(*which) for which in owner_name(change, "DaemonSet")]

    def _on_node(self, change: Change[Node]) -> list[Key]:
        """All sets, when a node comes, goes, or changes in a way that decides who may run there."""
        old, new = (item.value if item is not None else None for item in (change.old, change.new))
        same = (
            old is not None and new is not None and (old.spec, old.metadata.labels) == (new.spec, new.metadata.labels)
        )
        if same or change.initial or not self._sets.has_synced:
            return []
        return [item.key for item in self._sets.all_items()]

    async def reconcile(self, key: Key) -> Result:
        """Bring one set to all its nodes and report."""
        one = self._sets.get(key.name, key.namespace)
        if one is None or one["metadata"].get("deletionTimestamp"):
            return DONE
        newest = await self._revisions.current(one)
        pods = self._maker.owned(one["metadata"]["uid"])
        by_node: dict[str, list[Pod]] = {}
        for pod in pods:
            by_node.setdefault(pinned(pod) or pod.spec.node_name or "", []).append(pod)
        model = POD.decode(self._context.client.resource(DAEMON_SETS).codec.encode(self._pod(one, "", newest)))
        nodes = [item.value for item in self._context.nodes.all_items()]
        tolerations = model.spec.tolerations
        suited = {node.metadata.name for node in nodes if mismatch(model, node, tolerations) is None}
        failure = None
        if self._maker.expectations.satisfied(one["metadata"]["uid"], pods):
            unwanted = [pod for name, group in by_node.items() if name not in suited for pod in group]
            unwanted += [pod for pod in pods if pod.status.phase == "Failed" and pod not in unwanted]
            await self._maker.delete(one, [pod for pod in unwanted if not pod.is_deleted])
            missing = sorted(suited - by_node.keys())
            failure = await self._maker.create(one, [self._pod(one, name, newest) for name in missing])
            if not missing and (one["spec"].get("updateStrategy") or {}).get("type") != "OnDelete":
                await self._maker.delete(one, replaceable(one, pods, newest, len(suited)))
        now = self._context.clock.now()
        status = status_of(one, by_node, suited, newest, now)
        await self._commit.commit(one, lambda seen: seen | {"status": status})
        if failure is not None:
            return Retry(failure)
        soonest = next_available(pods, one["spec"].get("minReadySeconds") or 0, now)
        return RequeueAfter(soonest) if soonest is not None else DONE

    def _pod(self, one: JSONObject, node: str, mark: str) -> JSONObject:
        pod = from_template(one, one["spec"]["template"], generateName=f"{one['metadata']['name']}-")
        pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), LABEL: mark}
        spec = pod["spec"]
        extra = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *extra]
        if node:
            affinity = dict(spec.get("affinity") or {})
            fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
            affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [{"matchFields": fields}]}}
            spec["affinity"] = affinity
        return pod


def replaceable(one: JSONObject, pods: list[Pod], newest: str, nodes: int) -> list[Pod]:
    """The old pods that may be replaced now."""
    rolling = (one["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    allowed = max(1, resolved(rolling.get("maxUnavailable", 1), nodes, up=True))
    down = sum(not pod.is_ready or pod.is_deleted for pod in pods)
    old = [pod for pod in pods if (pod.metadata.labels or {}).get(LABEL) != newest and not pod.is_deleted]
    idle = [pod for pod in old if not pod.is_ready]
    serving = [pod for pod in old if pod.is_ready]
    return [*idle, *serving[: max(0, allowed - down)]]


def status_of(one: JSONObject, by_node: dict[str, list[Pod]], suited: set[str], newest: str, now: float) -> JSONObject:
    """The status of a set whose pods are on these nodes."""
    seconds = one["spec"].get("minReadySeconds") or 0
    placed = {name: [pod for pod in group if pod.is_active] for name, group in by_node.items()}
    here = [group[0] for name, group in placed.items() if group and name in suited]
    available = sum(is_available(pod, seconds, now) for pod in here)
    status = {
        "currentNumberScheduled": len(here),
        "numberMisscheduled": sum(bool(group) and name not in suited for name, group in placed.items()),
        "desiredNumberScheduled": len(suited),
        "numberReady": sum(pod.is_ready for pod in here),
        "observedGeneration": one["metadata"].get("generation", 0),
        "updatedNumberScheduled": sum((pod.metadata.labels or {}).get(LABEL) == newest for pod in here),
        "numberAvailable": available,
        "numberUnavailable": len(suited) - available,
    }
    optional = ("updatedNumberScheduled", "numberAvailable", "numberUnavailable")
    return {field: value for field, value in status.items() if value or field not in optional}
