"""What nodes have and what runs on them: kept up to date change by change, never recounted."""

from collections import Counter
from collections.abc import Iterable

from karmada.simulator.workloads.views import Node, Pod, amount, requests_of

PODS = "pods"
HIGHEST = 2**31 - 1


class NodeState:
    """A node and what is left of it."""

    __slots__ = ("allocatable", "node", "owners", "ports", "used")

    def __init__(self) -> None:
        self.node: Node | None = None
        """None while only its pods are known."""
        self.allocatable: dict[str, int] = {}
        self.used: dict[str, int] = {PODS: 0}
        self.owners: Counter[str] = Counter()
        """Pods per owner, to spread them."""
        self.ports: Counter[int] = Counter()

    def lacks(self, requests: dict[str, int], promised: "Iterable[dict[str, int]]" = ()) -> list[str]:
        """What there is not enough of beside what is promised to others, in the scheduler's words."""
        for other in promised:
            requests = {name: requests.get(name, 0) + other.get(name, 0) for name in requests}
        reasons = []
        if self.used[PODS] + 1 > self.allocatable.get(PODS, 0):
            reasons.append("Too many pods")
        for name, wanted in requests.items():
            if wanted and wanted > self.allocatable.get(name, 0) - self.used.get(name, 0):
                reasons.append(f"Insufficient {name}")
        return reasons

    def without(self, entries: Iterable["Placed"]) -> "NodeState":
        """The node as it would be without some of its pods."""
        rest = NodeState()
        rest.node, rest.allocatable, rest.used, rest.ports = self.node, self.allocatable, dict(self.used), +self.ports
        for entry in entries:
            rest.used[PODS] -= 1
            for name, value in entry.requests.items():
                rest.used[name] -= value
            for port in entry.ports:
                rest.ports[port] -= 1
        rest.ports = +rest.ports
        return rest

    def load(self, requests: dict[str, int]) -> float:
        """How full CPU and memory would be, as a mean of shares."""
        total = 0.0
        for name in ("cpu", "memory"):
            have = self.allocatable.get(name, 0)
            total += (self.used.get(name, 0) + requests.get(name, 0)) / have if have else 1.0
        return total / 2


class Placed:
    """A pod on its node, with what it takes from it."""

    __slots__ = ("node", "owner", "pod", "ports", "priority", "requests")

    def __init__(self, pod: Pod, node: str) -> None:
        self.pod = pod
        self.node = node
        self.requests = requests_of(pod.spec)
        controller = pod.metadata.controller
        self.owner = controller.uid if controller is not None else ""
        self.ports = host_ports(pod)
        self.priority = priority_of(pod)


class Ledger:
    """All nodes and the pods assigned to them."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeState] = {}
        self._placed: dict[str, Placed] = {}
        self._priorities: Counter[int] = Counter()
        """How many assigned pods have each priority."""
        self.freed = 0
        """Grows whenever a pod that did not fit before might fit now."""
        self.membership = 0
        """Grows whenever a node comes or goes."""

    def present(self) -> list[NodeState]:
        """The nodes that exist, in the order of their names."""
        return [self.nodes[name] for name in sorted(self.nodes) if self.nodes[name].node is not None]

    def placed(self) -> Iterable[tuple[Pod, Node]]:
        """The assigned pods, each with its node."""
        for entry in self._placed.values():
            state = self.nodes.get(entry.node)
            if state is not None and state.node is not None:
                yield entry.pod, state.node

    def entries(self) -> Iterable[Placed]:
        """Everything that is assigned."""
        return self._placed.values()

    def least_priority(self) -> int:
        """The lowest priority among the assigned pods; as high as can be when there is none."""
        return min(self._priorities, default=HIGHEST)

    def set_node(self, node: Node) -> None:
        """A node is new or has changed."""
        state = self.nodes.setdefault(node.metadata.name, NodeState())
        self.membership += state.node is None
        state.node = node
        state.allocatable = {name: amount(name, text) for name, text in (node.status.allocatable or {}).items()}
        self.freed += 1

    def drop_node(self, name: str) -> None:
        """A node is gone; its pods are not, yet."""
        state = self.nodes.get(name)
        if state is not None:
            state.node, state.allocatable = None, {}
            self.membership += 1
            self._forget_if_empty(name, state)

    def node_of(self, uid: str) -> str | None:
        """Where a pod is, or is meant to be."""
        entry = self._placed.get(uid)
        return entry.node if entry is not None else None

    def place(self, pod: Pod, node: str) -> None:
        """A pod is on a node; saying so again changes nothing."""
        known = self._placed.get(pod.metadata.uid)
        if known is not None:
            if known.node == node:
                known.pod = pod
                return
            self.remove(pod.metadata.uid)
        entry = self._placed[pod.metadata.uid] = Placed(pod, node)
        state = self.nodes.setdefault(node, NodeState())
        _count(state, entry, 1)
        self._priorities[entry.priority] += 1

    def remove(self, uid: str) -> bool:
        """A pod is gone or finished; whether it was there."""
        entry = self._placed.pop(uid, None)
        if entry is None:
            return False
        state = self.nodes[entry.node]
        _count(state, entry, -1)
        self._priorities[entry.priority] -= 1
        if not self._priorities[entry.priority]:
            del self._priorities[entry.priority]
        self._forget_if_empty(entry.node, state)
        self.freed += 1
        return True

    def _forget_if_empty(self, name: str, state: NodeState) -> None:
        if state.node is None and not state.used[PODS]:
            del self.nodes[name]


def priority_of(pod: Pod) -> int:
    """How important a pod is."""
    return pod.spec.priority or 0


def host_ports(pod: Pod) -> list[int]:
    """The ports of its node that a pod needs."""
    return [port.host_port for container in pod.spec.containers for port in container.ports or () if port.host_port]


def _count(state: NodeState, entry: Placed, sign: int) -> None:
    used = state.used
    used[PODS] += sign
    for name, value in entry.requests.items():
        used[name] = used.get(name, 0) + sign * value
    if entry.owner:
        state.owners[entry.owner] += sign
        if not state.owners[entry.owner]:
            del state.owners[entry.owner]
    for port in entry.ports:
        state.ports[port] += sign
        if not state.ports[port]:
            del state.ports[port]
