"""Nodes: ready while their kubelet lives, tainted when it does not, with a heartbeat that costs next to nothing.

Heartbeats are leases, renewed in small batches spread over the period, so that thousands of nodes make an even trickle
of writes. A node whose kubelet is gone becomes unknown after `GRACE` seconds; pods leave it when the tolerations for
its taint have run out.
"""

import contextlib

from karmada.machinery.clock import rfc3339, rfc3339_micro
from karmada.machinery.codec import Identity
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result, own_key
from karmada.machinery.errors import AlreadyExists, ApiError, Conflict, NotFound
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.conditions import find, with_condition
from karmada.simulator.workloads.context import Workloads, pod_reference
from karmada.simulator.workloads.kinds import LEASES, NODES, PODS
from karmada.simulator.workloads.scheduling.matching import tolerates_execution
from karmada.simulator.workloads.views import Pod, Taint

COMPONENT = "node-controller"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
CORDONED = "node.kubernetes.io/unschedulable"
PERIOD = 10.0
PER_SECOND = 50
"""Renewed leases per second at most; the period grows with the number of nodes."""
GRACE = 40.0
"""Seconds without a heartbeat after which a node counts as gone."""
_UNKNOWN = ("NodeStatusUnknown", "Kubelet stopped posting node status.")
_HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


class NodeController:
    """Node lifecycle: leases, readiness and taints."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._nodes = context.client.resource(NODES)
        self._pods = context.client.resource(PODS)
        self._leases = context.client.resource(LEASES)
        self._commit = Committer(self._nodes)
        self._silent: dict[str, float] = {}
        """Since when nodes have had no heartbeat."""
        self._leased: set[str] = set()
        self.controller = context.controller(COMPONENT, self.reconcile, (context.nodes, context.pods))
        self.controller.watch(context.nodes, own_key)
        context.behaviour.on_change(self._look_again)
        context.supervisor.start("node heartbeats", self._heartbeats)

    def _look_again(self) -> None:
        if self._context.nodes.has_synced:
            for item in self._context.nodes.all_items():
                self.controller.enqueue(item.key)

    async def reconcile(self, key: Key) -> Result:
        """Judge one node."""
        item = self._context.nodes.item(key)
        if item is None:
            self._silent.pop(key.name, None)
            return DONE
        now = self._context.clock.now()
        node: JSONObject = self._nodes.codec.decode(item.body)
        if key.name in self._context.behaviour.dead_nodes:
            since = self._silent.setdefault(key.name, now)
            if now < since + GRACE:
                return RequeueAfter(since + GRACE - now)
            await self._commit.commit(node, lambda seen: with_conditions(seen, lost(seen, now)))
            await self._taint(node, UNREACHABLE)
            return await self._evict(key.name, now)
        self._silent.pop(key.name, None)
        conditions = (node.get("status") or {}).get("conditions")
        if (find(conditions, "Ready") or {}).get("status") != "True":
            written = await self._commit.commit(node, lambda seen: with_conditions(seen, healthy(seen, now)))
            node = getattr(written, "value", node)
        await self._taint(node, "")
        return DONE

    async def _taint(self, node: JSONObject, key: str) -> None:
        """Give a node the taints of its state and take those of other states away."""
        stamp = self._context.now()

        def decide(seen: JSONObject) -> JSONObject:
            spec = seen.get("spec") or {}
            taints = tainted(spec.get("taints") or [], key, bool(spec.get("unschedulable")), stamp)
            if taints == (spec.get("taints") or []):
                return seen
            rest = {name: value for name, value in spec.items() if name != "taints"}
            return seen | {"spec": rest | ({"taints": taints} if taints else {})}

        await self._commit.commit(node, decide)

    async def _evict(self, name: str, now: float) -> Result:
        """Have pods leave whose patience with a lost node is over."""
        since = self._silent[name] + GRACE
        taint = Taint(UNREACHABLE, effect="NoExecute")
        soonest = None
        for pod in self._context.pods.indexed("node", name):
            toleration = tolerates_execution(pod, taint)
            if pod.is_deleted or (toleration is not None and toleration.toleration_seconds is None):
                continue
            due = since + ((toleration.toleration_seconds or 0) if toleration is not None else 0)
            if due <= now:
                await self._delete(pod)
            elif soonest is None or due < soonest:
                soonest = due
        return DONE if soonest is None else RequeueAfter(soonest - now)

    async def _delete(self, pod: Pod) -> None:
        meta = pod.metadata
        text = f"Marking for deletion Pod {meta.namespace}/{meta.name}"
        self._context.event("taint-eviction-controller", pod_reference(pod), "Normal", "TaintManagerEviction", text)
        with contextlib.suppress(NotFound):
            await self._pods.delete(meta.name, meta.namespace, only_if=Identity(uid=meta.uid))

    async def _heartbeats(self) -> None:
        await self._context.nodes.synced()
        while True:
            names = sorted(item.key.name for item in self._context.nodes.all_items())
            period = max(PERIOD, len(names) / PER_SECOND)
            batch = max(1, -(-len(names) // max(1, int(period))))
            for start in range(0, max(1, len(names)), batch):
                for name in names[start : start + batch]:
                    if name not in self._context.behaviour.dead_nodes:
                        await self._renew(name, period)
                await self._context.clock.sleep(period * batch / max(batch, len(names)))

    async def _renew(self, name: str, period: float) -> None:
        stamp = rfc3339_micro(self._context.clock.now())
        spec = {"holderIdentity": name, "leaseDurationSeconds": int(period * 4), "renewTime": stamp}
        try:
            if name in self._leased:
                await self._leases.patch(name, {"spec": {"renewTime": stamp}}, "kube-node-lease")
                return
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "namespace": "kube-node-lease"},
                "spec": spec,
            }
            await self._leases.create(lease)
        except AlreadyExists:
            pass
        except Conflict:
            return
        except NotFound:
            self._leased.discard(name)
            return
        except ApiError as error:
            if not error.transient:
                raise
            return
        self._leased.add(name)


def healthy(node: JSONObject, now: float) -> list[JSONObject]:
    """The conditions that a living kubelet reports."""
    stamp = rfc3339(now)
    conditions = (node.get("status") or {}).get("conditions")
    for type_, status, reason, text in _HEALTHY:
        conditions = with_condition(conditions, type_, status, reason, text, stamp, lastHeartbeatTime=stamp)
    return conditions or []


def lost(node: JSONObject, now: float) -> list[JSONObject]:
    """The conditions of a node whose kubelet stopped posting status."""
    stamp = rfc3339(now)
    conditions = (node.get("status") or {}).get("conditions") or []
    if (find(conditions, "Ready") or {}).get("status") == "Unknown":
        return list(conditions)
    for type_, *_ in _HEALTHY:
        beat = (find(conditions, type_) or {}).get("lastHeartbeatTime") or stamp
        conditions = with_condition(conditions, type_, "Unknown", *_UNKNOWN, stamp, lastHeartbeatTime=beat)
    return list(conditions)


def with_conditions(node: JSONObject, conditions: list[JSONObject]) -> JSONObject:
    """The node with other conditions."""
    return node | {"status": (node.get("status") or {}) | {"conditions": conditions}}


def tainted(taints: list[JSONObject], key: str, cordoned: bool, stamp: str) -> list[JSONObject]:
    """The taints of a node in a state: `key` names the taint of the state, and is empty for a healthy one."""
    ours = (NOT_READY, UNREACHABLE)
    kept = [t for t in taints if t["key"] not in ours and not (t["key"] == CORDONED and not cordoned)]
    if cordoned and all(taint["key"] != CORDONED for taint in kept):
        kept.append({"key": CORDONED, "effect": "NoSchedule", "timeAdded": stamp})
    if not key:
        return kept
    for effect in ("NoSchedule", "NoExecute"):
        known = next((t for t in taints if t["key"] == key and t["effect"] == effect), None)
        kept.append(known or {"key": key, "effect": effect, "timeAdded": stamp})
    return kept
