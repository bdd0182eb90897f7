"""The choice of a node: the first good ones in turn, the best of them, or the reasons why there is none."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from karmada.simulator.workloads.scheduling import matching, topology
from karmada.simulator.workloads.scheduling.ledger import Ledger, NodeState, host_ports
from karmada.simulator.workloads.views import Pod, Toleration, requests_of

ENOUGH = 16
"""Suitable nodes that are compared; with more nodes than this the search goes round, so that all get their turn."""
NO_NODES = "no nodes available to schedule pods"
NO_PORTS = "node(s) didn't have free ports for the requested pod ports"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where a pod goes."""

    node: str


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """Why a pod goes nowhere now."""

    message: str


Promises = Mapping[str, list[dict[str, int]]]
"""What was made free on nodes for pods that are on their way there."""
EMPTY: Promises = {}


class Needs(NamedTuple):
    """What a pod asks of a node, read once for all nodes."""

    requests: dict[str, int]
    ports: list[int]
    tolerations: list[Toleration]
    rules: list[topology.Check]
    promised: Promises


class Chooser:
    """Chooses nodes on a ledger, remembering where the last search ended."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._order: list[NodeState] = []
        self._membership = -1
        self._next = 0

    def choose(self, pod: Pod, promised: Promises = EMPTY) -> Chosen | Unschedulable:
        """The node of a pod; what is promised there to others is not for it."""
        states = self._states()
        if not states:
            return Unschedulable(NO_NODES)
        tolerations = pod.spec.tolerations
        only = self._ledger.nodes.get(matching.pinned(pod) or "")
        if only is not None and only.node is not None and matching.mismatch(pod, only.node, tolerations) is None:
            states = [only]
        requests = requests_of(pod.spec)
        rules = (
            topology.checks(pod, self._ledger.placed(), [s.node for s in states if s.node])
            if topology.has_rules(pod)
            else []
        )
        needs = Needs(requests, host_ports(pod), tolerations, rules, promised)
        reasons: Counter[str] = Counter()
        fitting: list[NodeState] = []
        for offset in range(len(states)):
            state = states[(self._next + offset) % len(states)]
            against = self._against(pod, state, needs)
            if against:
                reasons.update(against)
                continue
            fitting.append(state)
            if len(fitting) == ENOUGH:
                self._next = (self._next + offset + 1) % len(states)
                break
        if not fitting:
            return Unschedulable(message(len(states), reasons))
        return Chosen(_best(pod, fitting, requests))

    def _states(self) -> list[NodeState]:
        """The present nodes in the order of their names; sorted again only when nodes came or went."""
        if self._ledger.membership != self._membership:
            self._membership = self._ledger.membership
            self._order = self._ledger.present()
            self._next = 0
        return self._order

    def _against(self, pod: Pod, state: NodeState, needs: "Needs") -> list[str]:
        node = state.node
        assert node is not None
        reason = matching.mismatch(pod, node, needs.tolerations)
        if reason is not None:
            return [reason]
        if any(port in state.ports for port in needs.ports):
            return [NO_PORTS]
        lacking = state.lacks(needs.requests, needs.promised.get(node.metadata.name, ()))
        if lacking:
            return lacking
        return [reason for check in needs.rules if (reason := check(node)) is not None][:1]


def _best(pod: Pod, fitting: list[NodeState], requests: dict[str, int]) -> str:
    controller = pod.metadata.controller
    owner = controller.uid if controller is not None else ""

    def rank(state: NodeState) -> tuple[int, int, float, str]:
        assert state.node is not None
        siblings = state.owners[owner] if owner else 0
        return -matching.preference(pod, state.node), siblings, state.load(requests), state.node.metadata.name

    best = min(fitting, key=rank).node
    assert best is not None
    return best.metadata.name


def message(nodes: int, reasons: Counter[str]) -> str:
    """`0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.`"""
    parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{nodes} nodes are available: {', '.join(parts)}."
