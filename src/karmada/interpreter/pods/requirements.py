"""What one pod asks for: nodes it can run on and amounts of resources.

Amounts: containers together, but at least as much as any init container, plus the overhead. A container that has a
limit and no request asks for the limit. The spelling is that of the reference: binary suffixes for bytes.
"""

from collections.abc import Iterable, Mapping

from karmada.api.quantity import Format, Quantity, QuantityError
from karmada.api.work.v1alpha2 import (
    ComponentReplicaRequirements,
    NodeClaim,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ReplicaRequirements,
)
from karmada.interpreter.model import InterpretError
from karmada.interpreter.pods.template import Amounts, Container, NodeChoice, NodeTest, PodSpec

_CPU = "cpu"
_BINARY = ("memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_PLAIN = (_CPU, *_BINARY, "pods")
_PREFIXES = (_HUGE_PAGES, "attachable-volumes-")


def replica_requirements(pod: PodSpec, *, with_priority: bool) -> ReplicaRequirements | None:
    """What one pod asks for; None when that is nothing."""
    claim, amounts = node_claim(pod), resource_request(pod)
    if claim is None and not amounts:
        return None
    return ReplicaRequirements(
        node_claim=claim,
        resource_request=amounts,
        priority_class_name=pod.priority_class_name if with_priority else "",
    )


def component_requirements(pod: PodSpec, *, with_priority: bool) -> ComponentReplicaRequirements | None:
    """The same for one part of a workload."""
    found = replica_requirements(pod, with_priority=with_priority)
    if found is None:
        return None
    return ComponentReplicaRequirements(
        node_claim=found.node_claim,
        resource_request=found.resource_request,
        priority_class_name=found.priority_class_name,
    )


def node_claim(pod: PodSpec) -> NodeClaim | None:
    """The nodes a pod can run on; None when it says nothing about them."""
    hard = pod.affinity.node_affinity.required if pod.affinity and pod.affinity.node_affinity else None
    if hard is None and not pod.node_selector and not pod.tolerations:
        return None
    return NodeClaim(
        hard_node_affinity=None if hard is None else _selector(hard),
        node_selector=pod.node_selector,
        tolerations=pod.tolerations,
    )


def _selector(choice: NodeChoice) -> NodeSelector:
    return NodeSelector(
        node_selector_terms=tuple(
            NodeSelectorTerm(match_expressions=_tests(term.match_expressions), match_fields=_tests(term.match_fields))
            for term in choice.node_selector_terms
        )
    )


def _tests(tests: Iterable[NodeTest]) -> tuple[NodeSelectorRequirement, ...]:
    return tuple(NodeSelectorRequirement(key=test.key, operator=test.operator, values=test.values) for test in tests)


def resource_request(pod: PodSpec) -> dict[str, int | str]:
    """The amounts a pod asks for, without zeros."""
    total = _sum(_effective(container) for container in pod.containers)
    for container in pod.init_containers:
        for name, amount in _effective(container).items():
            total[name] = max(total.get(name, 0), amount)
    total = _sum((total, _units(pod.overhead)))
    return {name: _spell(name, amount) for name, amount in sorted(total.items()) if amount > 0 and _is_counted(name)}


def _is_counted(name: str) -> bool:
    """Amounts of these are requested; other names without a domain mean nothing to a scheduler."""
    return name in _PLAIN or name.startswith(_PREFIXES) or ("/" in name and not name.startswith("requests."))


def respelled(amounts: Mapping[str, int | float | str]) -> dict[str, int | str]:
    """Amounts as they are spelled once they are read from text: a thousand million bytes are 1G, not 1000000000."""
    return {name: str(Quantity.parse(amount)) for name, amount in amounts.items()}


def _effective(container: Container) -> dict[str, int]:
    return _units({**container.resources.limits, **container.resources.requests})


def _units(amounts: Amounts) -> dict[str, int]:
    """Thousandths of CPUs, and whole units of anything else."""
    units = {}
    for name, text in amounts.items():
        try:
            amount = Quantity.parse(text)
        except QuantityError as error:
            raise InterpretError(f"{name}: {error}") from error
        units[name] = amount.milli_value() if name == _CPU else amount.value()
    return units


def _sum(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in part.items():
            total[name] = total.get(name, 0) + amount
    return total


def _spell(name: str, amount: int) -> str:
    if name == _CPU:
        return str(Quantity.milli(amount))
    binary = name in _BINARY or name.startswith(_HUGE_PAGES)
    return str(Quantity(amount, 0, Format.BINARY_SI if binary else Format.DECIMAL_SI))
