"""Rules between pods: affinity, anti-affinity and spreading over topology domains.

Only hard rules are looked at, and only by pods that have any: they cost a look at all assigned pods.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from karmada.api import label_selector
from karmada.simulator.workloads.views import Node, Pod

ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
AFFINITY = "node(s) didn't match pod affinity rules"
SPREAD = "node(s) didn't match pod topology spread constraints"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

Check = Callable[[Node], str | None]


def has_rules(pod: Pod) -> bool:
    """Whether a pod has hard rules about other pods."""
    affinity = pod.spec.affinity or {}
    return bool(
        any((affinity.get(kind) or {}).get(REQUIRED) for kind in ("podAffinity", "podAntiAffinity"))
        or any(one.get("whenUnsatisfiable") == "DoNotSchedule" for one in pod.spec.topology_spread_constraints or ())
    )


def checks(pod: Pod, placed: Iterable[tuple[Pod, Node]], nodes: Iterable[Node]) -> list[Check]:
    """The rules of a pod as tests of a node, against the pods that are placed already."""
    affinity = pod.spec.affinity or {}
    placed = [(other, node) for other, node in placed if other.metadata.uid != pod.metadata.uid]
    against = (affinity.get("podAntiAffinity") or {}).get(REQUIRED) or ()
    found = [_avoid(term["topologyKey"], _domains(pod, term, placed)) for term in against]
    for term in (affinity.get("podAffinity") or {}).get(REQUIRED) or ():
        domains = _domains(pod, term, placed)
        selector = label_selector.from_json(term.get("labelSelector"))
        first = not domains and selector.matches(pod.metadata.labels or {})
        found.append(_seek(term["topologyKey"], domains, first))
    all_nodes = list(nodes)
    constraints = pod.spec.topology_spread_constraints or ()
    hard = [one for one in constraints if one.get("whenUnsatisfiable") == "DoNotSchedule"]
    return [*found, *(_spread(pod, one, placed, all_nodes) for one in hard)]


def _domains(pod: Pod, term: Mapping[str, Any], placed: list[tuple[Pod, Node]]) -> dict[str, int]:
    """How many matching pods each domain has."""
    selector = label_selector.from_json(term.get("labelSelector"))
    namespaces = term.get("namespaces") or [pod.metadata.namespace]
    counts: dict[str, int] = {}
    for other, node in placed:
        domain = (node.metadata.labels or {}).get(term["topologyKey"])
        if domain is None or other.metadata.namespace not in namespaces:
            continue
        if selector.matches(other.metadata.labels or {}):
            counts[domain] = counts.get(domain, 0) + 1
    return counts


def _avoid(key: str, domains: dict[str, int]) -> Check:
    def check(node: Node) -> str | None:
        return ANTI_AFFINITY if (node.metadata.labels or {}).get(key) in domains else None

    return check


def _seek(key: str, domains: dict[str, int], first: bool) -> Check:
    def check(node: Node) -> str | None:
        domain = (node.metadata.labels or {}).get(key)
        if domain is not None and (first or domain in domains):
            return None
        return AFFINITY

    return check


def _spread(pod: Pod, constraint: Mapping[str, Any], placed: list[tuple[Pod, Node]], nodes: list[Node]) -> Check:
    key, skew = constraint["topologyKey"], int(constraint.get("maxSkew") or 1)
    domains = {domain for node in nodes if (domain := (node.metadata.labels or {}).get(key)) is not None}
    counts = dict.fromkeys(domains, 0) | _domains(pod, constraint, placed)
    least = min(counts.values(), default=0)
    selector = label_selector.from_json(constraint.get("labelSelector"))
    itself = 1 if selector.matches(pod.metadata.labels or {}) else 0

    def check(node: Node) -> str | None:
        domain = (node.metadata.labels or {}).get(key)
        if domain is None:
            return f"{SPREAD} (missing required label)"
        return SPREAD if counts[domain] + itself - least > skew else None

    return check
