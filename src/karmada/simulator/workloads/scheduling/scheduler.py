"""The pod scheduler: assigns pods to nodes one after another, and says why when it cannot.

A pod that fits nowhere is looked at again when a node changes or a pod leaves, the most important first. Equal pods
fail for equal reasons, so after one has failed the others get the same answer until something was freed. A pod that is
more important than others has them deleted where that makes room (`preemption`); nobody less important gets that room.
"""

from typing import NamedTuple

from karmada.api import label_selector
from karmada.machinery.codec import Identity
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result
from karmada.machinery.errors import AlreadyExists, ApiError, Conflict, NotFound
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.transport import JSONObject, Request, Verb
from karmada.simulator.workloads.conditions import with_condition
from karmada.simulator.workloads.context import Workloads, pod_reference
from karmada.simulator.workloads.kinds import BUDGETS, PODS
from karmada.simulator.workloads.scheduling import topology
from karmada.simulator.workloads.scheduling.choosing import Chooser, Chosen, Promises, Unschedulable
from karmada.simulator.workloads.scheduling.ledger import Ledger, priority_of
from karmada.simulator.workloads.scheduling.preemption import Budget, Plan, plan
from karmada.simulator.workloads.views import Node, Pod, requests_of

COMPONENT = "default-scheduler"
SOON = 1.0
"""Seconds after which a refused binding is looked at again."""


class Nomination(NamedTuple):
    """A promise of room to a pod."""

    node: str
    priority: int
    requests: dict[str, int]
    victims: frozenset[str]
    """Uids of the pods that make the room."""


class PodScheduler:
    """Assigns pods to nodes one after another, with an event that says why when it cannot."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self.ledger = Ledger()
        self._chooser = Chooser(self.ledger)
        self._pods = context.client.resource(PODS)
        self._commit = Committer(self._pods)
        self._waiting: dict[Key, int] = {}
        """Pods that fit nowhere with their priorities, in the order in which they came."""
        self._failed: dict[object, tuple[int, Unschedulable]] = {}
        """What became of pods of a kind, and when."""
        self._nominated: dict[str, Nomination] = {}
        """Pods for which others were deleted, by uid, until they are assigned."""
        self._budgets = context.trees(BUDGETS)
        needs = (context.pods, context.nodes, self._budgets)
        self.controller = context.controller(COMPONENT, self.reconcile, needs)
        context.nodes.add_handler(self._nodes_changed)
        context.pods.add_handler(self._pods_changed)

    def _nodes_changed(self, changes: list[Change[Node]]) -> None:
        before = self.ledger.freed
        for change in changes:
            if change.new is None:
                self.ledger.drop_node(change.key.name)
            elif change.old is None or _matters(change.old.value, change.new.value):
                self.ledger.set_node(change.new.value)
        if self.ledger.freed != before:
            self._try_again()

    def _pods_changed(self, changes: list[Change[Pod]]) -> None:
        freed = False
        for change in changes:
            pod = change.item.value
            if change.new is None or pod.is_finished:
                freed |= self.ledger.remove(change.item.uid) | self._settled(change)
            elif pod.spec.node_name:
                self.ledger.place(pod, pod.spec.node_name)
                freed |= self._settled(change)
            elif not pod.is_deleted and change.key not in self._waiting:
                self.controller.enqueue(change.key)
        if freed:
            self._try_again()

    def _settled(self, change: Change[Pod]) -> bool:
        """A pod waits no more; whether that ends a promise."""
        self._waiting.pop(change.key, None)
        return self._nominated.pop(change.item.uid, None) is not None

    def _try_again(self) -> None:
        for key in sorted(self._waiting, key=self._waiting.__getitem__, reverse=True):
            self.controller.enqueue(key)

    async def reconcile(self, key: Key) -> Result:
        """Assign one pod."""
        item = self._context.pods.item(key)
        if item is None:
            self._waiting.pop(key, None)
            return DONE
        pod = item.value
        if pod.spec.node_name or not pod.is_active or pod.spec.scheduler_name != COMPONENT or pod.spec.scheduling_gates:
            return DONE
        # After a binding whose outcome is unknown, the same node is tried again: the pod may be there already.
        assumed = self.ledger.node_of(item.uid)
        outcome = self._choose(pod) if assumed is None else Chosen(assumed)
        if isinstance(outcome, Chosen):
            self._waiting.pop(key, None)
            return await self._bind(pod, outcome.node)
        self._waiting[key] = priority_of(pod)
        chosen = self._preempt(pod)
        await self._report(item.body, pod, outcome, chosen.node if chosen is not None else "")
        if chosen is not None:
            for victim in chosen.victims:
                await self._evict(victim, pod, chosen.node)
        return DONE

    def _preempt(self, pod: Pod) -> Plan | None:
        """Decide who goes for a pod, unless earlier victims are still there."""
        known = self._nominated.get(pod.metadata.uid)
        if known is not None:
            left = [entry.pod for entry in self.ledger.entries() if entry.pod.metadata.uid in known.victims]
            if left:
                # Deleted again, unless they terminate already: the first request may have been lost.
                going = tuple(victim for victim in left if not victim.is_deleted)
                return Plan(known.node, going, 0) if going else None
        if pod.spec.preemption_policy == "Never" or priority_of(pod) <= self.ledger.least_priority():
            return None
        budgets = [
            Budget(
                tree["metadata"]["namespace"],
                label_selector.from_json(tree["spec"].get("selector")),
                (tree.get("status") or {}).get("disruptionsAllowed") or 0,
            )
            for tree in self._budgets.values()
        ]
        chosen = plan(pod, self.ledger, budgets)
        if chosen is not None:
            victims = frozenset(victim.metadata.uid for victim in chosen.victims)
            self._nominated[pod.metadata.uid] = Nomination(
                chosen.node, priority_of(pod), requests_of(pod.spec), victims
            )
        return chosen

    async def _evict(self, victim: Pod, pod: Pod, node: str) -> None:
        """Delete a pod to make room for another, and say so."""
        meta = victim.metadata
        item = self._context.pods.item(Key(meta.namespace, meta.name))
        if item is None or item.uid != meta.uid or victim.is_deleted:
            return
        text = f"{COMPONENT}: preempting to accommodate a higher priority pod"
        stamp = self._context.now()

        def marked(seen: JSONObject) -> JSONObject:
            status = seen.get("status") or {}
            conditions = with_condition(
                status.get("conditions"), "DisruptionTarget", "True", "PreemptionByScheduler", text, stamp
            )
            return seen | {"status": status | {"conditions": conditions}}

        await self._commit.commit(self._pods.codec.decode(item.body), marked)
        try:
            await self._pods.delete(meta.name, meta.namespace, only_if=Identity(uid=meta.uid))
        except NotFound:
            return
        reason = f"Preempted by pod {pod.metadata.uid} on node {node}"
        self._context.event(COMPONENT, pod_reference(victim), "Normal", "Preempted", reason)

    def _promised(self, pod: Pod) -> Promises:
        """What is promised to pods that are at least as important."""
        found: dict[str, list[dict[str, int]]] = {}
        for uid, one in self._nominated.items():
            if uid != pod.metadata.uid and one.priority >= priority_of(pod):
                found.setdefault(one.node, []).append(one.requests)
        return found

    def _choose(self, pod: Pod) -> Chosen | Unschedulable:
        if self._nominated:
            return self._chooser.choose(pod, self._promised(pod))
        if topology.has_rules(pod):
            return self._chooser.choose(pod)
        kind = _kind(pod)
        known = self._failed.get(kind)
        if known is not None and known[0] == self.ledger.freed:
            return known[1]
        outcome = self._chooser.choose(pod)
        if isinstance(outcome, Unschedulable):
            if len(self._failed) > 1000:
                self._failed.clear()
            self._failed[kind] = (self.ledger.freed, outcome)
        return outcome

    async def _bind(self, pod: Pod, node: str) -> Result:
        meta = pod.metadata
        self.ledger.place(pod, node)
        body: JSONObject = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        request = Request(Verb.CREATE, PODS, meta.namespace, meta.name, "binding", {"fieldManager": COMPONENT}, body)
        try:
            await self._context.client.transport.send(request)
        except (NotFound, Conflict, AlreadyExists):
            # Gone, or bound already: the cache will show it, and until then nobody else gets the room. If it does not,
            # the refusal was about something else, and the pod still waits.
            return RequeueAfter(SOON)
        except ApiError as error:
            if not error.transient:
                self.ledger.remove(meta.uid)
            raise
        text = f"Successfully assigned {meta.namespace}/{meta.name} to {node}"
        self._context.event(COMPONENT, pod_reference(pod), "Normal", "Scheduled", text)
        return DONE

    async def _report(self, body: bytes, pod: Pod, outcome: Unschedulable, nominated: str) -> None:
        known = pod.condition("PodScheduled")
        if not nominated and known is not None and known.status == "False" and known.message == outcome.message:
            return
        stamp = self._context.now()

        def decide(seen: JSONObject) -> JSONObject:
            status = seen.get("status") or {}
            conditions = with_condition(
                status.get("conditions"), "PodScheduled", "False", "Unschedulable", outcome.message, stamp
            )
            nomination = {"nominatedNodeName": nominated} if nominated else {}
            return seen | {"status": status | {"conditions": conditions} | nomination}

        await self._commit.commit(self._pods.codec.decode(body), decide)
        self._context.event(COMPONENT, pod_reference(pod), "Warning", "FailedScheduling", outcome.message)


def _matters(old: Node, new: Node) -> bool:
    """Whether a change of a node can matter to pods; heartbeats cannot."""
    return (
        old.spec != new.spec
        or old.status.allocatable != new.status.allocatable
        or old.metadata.labels != new.metadata.labels
    )


def _kind(pod: Pod) -> object:
    """What decides where a pod fits: equal for the replicas of one workload."""
    controller = pod.metadata.controller
    if controller is not None and controller.kind in ("ReplicaSet", "ReplicationController"):
        return controller.uid
    return pod.metadata.uid
