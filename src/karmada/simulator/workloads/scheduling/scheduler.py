"""The pod scheduler: assigns pods to nodes one after another, and says why when it cannot.

A pod that fits nowhere is looked at again when a node changes or a pod leaves. Equal pods fail for equal reasons, so
after one has failed the others are told the same until something was freed.
"""

from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Result
from karmada.machinery.errors import AlreadyExists, ApiError, Conflict, NotFound
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.transport import JSONObject, Request, Verb
from karmada.simulator.workloads.conditions import with_condition
from karmada.simulator.workloads.context import Workloads, pod_reference
from karmada.simulator.workloads.kinds import PODS
from karmada.simulator.workloads.scheduling import topology
from karmada.simulator.workloads.scheduling.choosing import Chooser, Chosen, Unschedulable
from karmada.simulator.workloads.scheduling.ledger import Ledger
from karmada.simulator.workloads.views import Node, Pod

COMPONENT = "default-scheduler"


class PodScheduler:
    """See the module."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self.ledger = Ledger()
        self._chooser = Chooser(self.ledger)
        self._pods = context.client.resource(PODS)
        self._commit = Committer(self._pods)
        self._waiting: dict[Key, None] = {}
        """Pods that fit nowhere, in the order in which they came."""
        self._failed: dict[object, tuple[int, Unschedulable]] = {}
        """What became of pods of a kind, and when."""
        self.controller = context.controller(COMPONENT, self.reconcile, (context.pods, context.nodes))
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
                freed |= self.ledger.remove(change.item.uid)
                self._waiting.pop(change.key, None)
            elif pod.spec.node_name:
                self.ledger.place(pod, pod.spec.node_name)
                self._waiting.pop(change.key, None)
            elif not pod.is_deleted and change.key not in self._waiting:
                self.controller.enqueue(change.key)
        if freed:
            self._try_again()

    def _try_again(self) -> None:
        for key in self._waiting:
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
            await self._bind(pod, outcome.node)
            return DONE
        self._waiting[key] = None
        await self._report(item.body, pod, outcome)
        return DONE

    def _choose(self, pod: Pod) -> Chosen | Unschedulable:
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

    async def _bind(self, pod: Pod, node: str) -> None:
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
            # Gone, or bound already: the cache tells which, and until then nobody else gets the room.
            return
        except ApiError as error:
            if not error.transient:
                self.ledger.remove(meta.uid)
            raise
        text = f"Successfully assigned {meta.namespace}/{meta.name} to {node}"
        self._context.event(COMPONENT, pod_reference(pod), "Normal", "Scheduled", text)

    async def _report(self, body: bytes, pod: Pod, outcome: Unschedulable) -> None:
        known = pod.condition("PodScheduled")
        if known is not None and known.status == "False" and known.message == outcome.message:
            return
        stamp = self._context.now()

        def decide(seen: JSONObject) -> JSONObject:
            status = seen.get("status") or {}
            conditions = with_condition(
                status.get("conditions"), "PodScheduled", "False", "Unschedulable", outcome.message, stamp
            )
            return seen | {"status": status | {"conditions": conditions}}

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
    if controller is not None and controller.kind == "ReplicaSet":
        return controller.uid
    return pod.metadata.uid
