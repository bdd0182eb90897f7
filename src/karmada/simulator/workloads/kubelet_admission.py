"""Which pods a kubelet rejects: those that were put on a node by hand and want a port that another pod has there."""

from collections.abc import Iterable

from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.scheduling.ledger import host_ports
from karmada.simulator.workloads.views import Pod

REASON = "NodePorts"
MESSAGE = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
HESITATION = 1.0
"""Seconds before a pod is rejected: its owner replaces it at once, and again, for as long as the port is taken."""


def ports_taken(pod: Pod, admitted: Iterable[Pod]) -> bool:
    """Whether a pod wants a port of its node that one of the pods there has."""
    wanted = set(host_ports(pod))
    return bool(wanted) and any(wanted.intersection(host_ports(other)) for other in admitted)


def hesitation(pod: Pod, now: float) -> float:
    """Seconds until a pod may be rejected."""
    created = pod.metadata.creation_timestamp
    return max(0.0, parse_rfc3339(created) + HESITATION - now) if created else 0.0


def rejection(now: float) -> JSONObject:
    """The status of a rejected pod."""
    stamp = rfc3339(now)
    return {"phase": "Failed", "reason": REASON, "message": f"Pod was rejected: {MESSAGE}", "startTime": stamp}
