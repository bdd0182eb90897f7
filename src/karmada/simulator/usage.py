"""What simulated pods use of CPU and memory: set by whoever wants to see something react, half of the requests else."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from karmada.simulator.workloads.views import Pod, requests_of

IDLE_CPU, IDLE_MEMORY = 10, 32 << 20
"""Thousandths of a CPU and bytes of a container that asks for nothing."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Thousandths of a CPU and bytes of memory."""

    cpu: int
    memory: int


class Usage:
    """The present use, by patterns of `namespace/pod`."""

    def __init__(self) -> None:
        self._rules: dict[str, Amount] = {}

    def set(self, pattern: str, cpu: int, memory: int) -> None:
        """Let pods that match a pattern use that much, each."""
        self._rules = {pattern: Amount(cpu, memory)} | {p: a for p, a in self._rules.items() if p != pattern}

    def reset(self, pattern: str) -> None:
        """Forget a pattern."""
        self._rules.pop(pattern, None)

    def of(self, pod: Pod) -> Amount:
        """What a pod uses."""
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        for pattern, amount in self._rules.items():
            if fnmatchcase(name, pattern):
                return amount
        requests = requests_of(pod.spec)
        return Amount(requests.get("cpu", 2 * IDLE_CPU) // 2, requests.get("memory", 2 * IDLE_MEMORY) // 2)
