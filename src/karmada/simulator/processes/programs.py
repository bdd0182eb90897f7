"""What the process runtime runs: programs it knows, by the images they come in, and nothing else.

An image is known by its name without registry, tag and digest. The first word of a container's command names the
program; paths before it are ignored, so nothing inside a volume is ever started.
"""

import sys
from collections.abc import Mapping, Sequence

OWN: Mapping[str, str] = {
    "karmada-agent": "karmada.agent.main",
    "karmada-aggregated-apiserver": "karmada.aggregated.main",
    "karmada-apiserver": "karmada.apiserver.main",
    "karmada-controller-manager": "karmada.controllers.main",
    "karmada-dashboard": "karmada.dashboard.main",
    "karmada-descheduler": "karmada.descheduler.main",
    "karmada-gateway": "karmada.gateway.main",
    "karmada-metrics-adapter": "karmada.metrics_adapter.main",
    "karmada-operator": "karmada.operator.main",
    "karmada-scheduler": "karmada.scheduler.main",
    "karmada-scheduler-estimator": "karmada.estimator.main",
    "karmada-search": "karmada.standalone.search_main",
    "karmada-webhook": "karmada.webhook.main",
}
"""Our programs and their modules; the image `karmada` has all of them."""
STOCK = ("etcd", "kube-apiserver", "kube-controller-manager")
"""Programs of others, which run where the cluster's owner says which file they are."""
ALL_IN_ONE = "karmada"


class Refused(Exception):
    """A container that is not run; the message says why."""


def image_name(image: str) -> str:
    """The last part of an image's repository."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


class Programs:
    """The programs of one cluster; `stock` says where those of others are."""

    def __init__(self, stock: Mapping[str, str] | None = None) -> None:
        self._stock = dict(stock or {})

    def knows(self, image: str) -> bool:
        """Whether the runtime runs containers of an image."""
        name = image_name(image)
        return name == ALL_IN_ONE or name in OWN or name in self._stock

    def named(self, image: str, words: Sequence[str]) -> tuple[str, list[str]]:
        """The program that a container's command and arguments start, and its arguments; raises `Refused`."""
        name = image_name(image)
        if name == ALL_IN_ONE:
            if not words:
                raise Refused(f"the image {image} starts nothing by itself: give a command")
            program, arguments = words[0].rpartition("/")[2], list(words[1:])
            if program not in OWN:
                raise Refused(f"the process runtime does not run {words[0]!r}: it is no program of the image {image}")
            return program, arguments
        if words and not words[0].startswith("-"):
            if words[0].rpartition("/")[2] != name:
                raise Refused(f"the process runtime does not run {words[0]!r}: it is no program of the image {image}")
            return name, list(words[1:])
        return name, list(words)

    def executable(self, program: str) -> list[str]:
        """How a program is started on this machine, without its arguments."""
        if program in OWN:
            start = f"import sys; sys.argv[0] = {program!r}; from {OWN[program]} import main; sys.exit(main())"
            return [sys.executable, "-P", "-s", "-c", start]
        return [self._stock[program]]
