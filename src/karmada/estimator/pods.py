"""What a running pod takes from its node, as Kubernetes' scheduler counts it."""

from collections.abc import Mapping

from karmada.api.native import Pod
from karmada.scheduler.core.amounts import amount

Amounts = dict[str, int]
_POD_LEVEL = ("cpu", "memory")


def pod_amounts(pod: Pod) -> Amounts:
    """Containers together, at least what any init container needs, the pod's own figures first, overhead.

    As in the reference, an init container that keeps running (a sidecar) counts like any other.
    """
    running: Amounts = {}
    for container in pod.spec.containers:
        _add(running, amounts(container.resources.requests))
    for container in pod.spec.init_containers:
        for name, number in amounts(container.resources.requests).items():
            running[name] = max(running.get(name, 0), number)
    for name, number in amounts(pod.spec.resources.requests).items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            running[name] = number
    _add(running, amounts(pod.spec.overhead))
    return running


def amounts(request: Mapping[str, str | int]) -> Amounts:
    """Amounts as numbers."""
    return {name: amount(name, quantity) for name, quantity in request.items()}


def is_counted(resource: str) -> bool:
    """Whether nodes keep account of a resource: native ones, huge pages, volumes, and those with a domain."""
    return (
        resource in ("cpu", "memory", "ephemeral-storage")
        or "/" in resource
        or resource.startswith(("hugepages-", "attachable-volumes-"))
    )


def _add(total: Amounts, more: Amounts) -> None:
    for name, number in more.items():
        total[name] = total.get(name, 0) + number
