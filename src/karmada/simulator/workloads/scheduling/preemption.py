"""Who has to go so that a more important pod fits, and on which node. Pure.

On every node that suits, all less important pods are thought away; those for whom there is room after all are
reprieved, the most important first, and those whose disruption budget would be violated before all others. The node
with the least harm wins: fewest violated budgets, least important victims, fewest of them, youngest of them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from karmada.api.label_selector import Selector
from karmada.simulator.workloads.scheduling import matching, topology
from karmada.simulator.workloads.scheduling.ledger import Ledger, NodeState, Placed, host_ports, priority_of
from karmada.simulator.workloads.views import Pod, requests_of


class Budget(NamedTuple):
    """What a PodDisruptionBudget allows now."""

    namespace: str
    selector: Selector
    allowed: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a pod will go, and who goes for it."""

    node: str
    victims: tuple[Pod, ...]
    violations: int
    """Victims whose disruption budget does not allow it."""


def plan(pod: Pod, ledger: Ledger, budgets: Sequence[Budget]) -> Plan | None:
    """The least harmful way to make room; None when there is none, or when the pod may not ask for it."""
    if pod.spec.preemption_policy == "Never" or priority_of(pod) <= ledger.least_priority():
        return None
    by_node: dict[str, list[Placed]] = {}
    for entry in ledger.entries():
        if entry.priority < priority_of(pod):
            by_node.setdefault(entry.node, []).append(entry)
    trial = _Trial(pod, ledger)
    plans = [trial.plan(ledger.nodes[name], entries, budgets) for name, entries in sorted(by_node.items())]
    return min((one for one in plans if one is not None), key=_harm, default=None)


class _Trial:
    """One pod against nodes with some of their pods thought away."""

    def __init__(self, pod: Pod, ledger: Ledger) -> None:
        self._pod = pod
        self._ledger = ledger
        self._requests, self._ports = requests_of(pod.spec), host_ports(pod)
        self._tolerations = pod.spec.tolerations
        self._has_rules = topology.has_rules(pod)

    def plan(self, state: NodeState, entries: list[Placed], budgets: Sequence[Budget]) -> Plan | None:
        """Who has to go on one node."""
        node = state.node
        if node is None or matching.mismatch(self._pod, node, self._tolerations) is not None:
            return None
        gone = {entry.pod.metadata.uid: entry for entry in entries}
        if not self._fits(state, gone.values()):
            return None
        entries = sorted(entries, key=_importance)
        violating = _violating(entries, budgets)
        for entry in sorted(entries, key=lambda one: one.pod.metadata.uid not in violating):
            uid = entry.pod.metadata.uid
            del gone[uid]
            if not self._fits(state, gone.values()):
                gone[uid] = entry
        victims = tuple(entry.pod for entry in entries if entry.pod.metadata.uid in gone)
        # Nobody has to go: what is missing is promised to somebody else.
        if not victims:
            return None
        return Plan(node.metadata.name, victims, sum(pod.metadata.uid in violating for pod in victims))

    def _fits(self, state: NodeState, without: Collection[Placed]) -> bool:
        rest = state.without(without)
        assert rest.node is not None
        if rest.lacks(self._requests) or any(port in rest.ports for port in self._ports):
            return False
        if not self._has_rules:
            return True
        away = {entry.pod.metadata.uid for entry in without}
        placed = [(other, node) for other, node in self._ledger.placed() if other.metadata.uid not in away]
        nodes = [one.node for one in self._ledger.present() if one.node is not None]
        return all(check(rest.node) is None for check in topology.checks(self._pod, placed, nodes))


def _violating(entries: list[Placed], budgets: Sequence[Budget]) -> set[str]:
    """The pods whose going, one after another, some budget does not allow."""
    left = [budget.allowed for budget in budgets]
    found: set[str] = set()
    for entry in entries:
        meta = entry.pod.metadata
        for number, budget in enumerate(budgets):
            if budget.namespace == meta.namespace and budget.selector.matches(meta.labels or {}):
                left[number] -= 1
                if left[number] < 0:
                    found.add(meta.uid)
    return found


def _importance(entry: Placed) -> tuple[int, str, str]:
    """The most important first: by priority, then by age."""
    return -entry.priority, entry.pod.status.start_time or "~", entry.pod.metadata.name


def _harm(one: Plan) -> tuple[int, int, int, int, list[int], str]:
    priorities = [priority_of(pod) for pod in one.victims]
    highest = max(priorities)
    oldest = min(pod.status.start_time or "~" for pod in one.victims if priority_of(pod) == highest)
    youngest_first = [-ord(letter) for letter in oldest]
    return (
        one.violations,
        highest,
        sum(value + 2**31 for value in priorities),
        len(priorities),
        youngest_first,
        one.node,
    )
