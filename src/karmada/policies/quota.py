"""How much of a federated quota bindings use, exactly.

Each chosen cluster counts its replicas times what one replica asks for; with several components, each component's
share. Only amounts a quota names count against it. Whatever is below zero counts as zero: nobody gives back by it what
others use.
"""

from collections.abc import Iterable, Mapping

from karmada.api.quantity import Format, Quantity
from karmada.api.work.v1alpha2 import ResourceBindingSpec

Amounts = dict[str, Quantity]
_BYTES = ("memory", "ephemeral-storage")


def usage(spec: ResourceBindingSpec) -> Amounts:
    """What a binding uses in all its clusters together."""
    used: Amounts = {}
    if spec.components:
        clusters = len(spec.clusters)
        for component in spec.components:
            needs = component.replica_requirements
            if needs is not None:
                _add(used, _asked(needs.resource_request), max(component.replicas, 0) * clusters)
        return used
    if spec.replica_requirements is not None:
        replicas = sum(max(target.replicas, 0) for target in spec.clusters)
        _add(used, _asked(spec.replica_requirements.resource_request), replicas)
    return used


def overall_used(specs: Iterable[ResourceBindingSpec], overall: Mapping[str, int | str]) -> Amounts:
    """What bindings use together of a quota, for the amounts it names; nothing is said of what nobody uses."""
    return {name: amount for name, amount in total(map(usage, specs)).items() if name in overall and amount}


def total(parts: Iterable[Amounts]) -> Amounts:
    """What several use together."""
    found: Amounts = {}
    for part in parts:
        for name, amount in part.items():
            found[name] = found[name] + amount if name in found else amount
    return found


def sum_used(members: Iterable[Mapping[str, int | str]]) -> Amounts:
    """What the quotas of members say is used, together."""
    total: Amounts = {}
    for used in members:
        _add(total, used, 1)
    return total


def difference(after: Amounts, before: Amounts) -> Amounts:
    """What changed, without amounts that stayed."""
    zero = Quantity.parse("0")
    names = after.keys() | before.keys()
    changed = {name: after.get(name, zero) - before.get(name, zero) for name in names}
    return {name: amount for name, amount in changed.items() if amount}


def plus(used: Mapping[str, int | str], delta: Amounts, overall: Mapping[str, int | str]) -> Amounts:
    """The use of a quota after a change, for the amounts it names; nothing is said of what nobody uses."""
    total = {name: _counted(name, Quantity.parse(amount)) for name, amount in used.items()}
    for name, amount in delta.items():
        if name in overall:
            more = _counted(name, amount)
            total[name] = total[name] + more if name in total else more
    return {name: amount for name, amount in total.items() if amount.sign() > 0}


def _asked(amounts: Mapping[str, int | str]) -> Mapping[str, int | str]:
    """The amounts of a request without those below zero."""
    return {name: amount for name, amount in amounts.items() if Quantity.parse(amount).sign() >= 0}


def _counted(name: str, amount: Quantity) -> Quantity:
    """An amount in the unit in which quotas count it: thousandths of a processor, bytes, pieces."""
    if name == "cpu":
        return Quantity.milli(amount.milli_value())
    binary = name in _BYTES or name.startswith("hugepages-")
    return Quantity(amount.value(), 0, Format.BINARY_SI if binary else Format.DECIMAL_SI)


def _add(total: Amounts, amounts: Mapping[str, int | str], times: int) -> None:
    for name, amount in amounts.items():
        more = Quantity.parse(amount) * times
        total[name] = total[name] + more if name in total else more
