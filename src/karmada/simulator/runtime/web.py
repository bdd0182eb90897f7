"""The network as a container of one pod sees it."""

import re
from dataclasses import replace

from karmada.simulator import shell
from karmada.simulator.network import netcat
from karmada.simulator.network.plane import Network, Unreachable
from karmada.simulator.network.program import WebReply, WebRequest
from karmada.simulator.workloads.containers import surroundings
from karmada.simulator.workloads.views import Pod

_ITSELF = re.compile(r"^(\w+://)?(localhost|127\.0\.0\.1)(?=[:/?]|$)")


class ContainerWeb:
    """The network as a container of one pod sees it (`network.commands.Web`)."""

    def __init__(self, network: Network, cluster: str, pod: Pod) -> None:
        self._network = network
        self._cluster = cluster
        self._pod = pod

    def fetch(self, url: str, request: WebRequest) -> WebReply:
        """What a URL answers to this pod; `localhost` is the pod itself."""
        own = self._own(url)
        return self._network.fetch(self._cluster, self._pod.metadata.namespace, own, request)

    def lookup(self, host: str) -> list[str]:
        """The addresses of a name."""
        return self._network.lookup(self._cluster, self._pod.metadata.namespace, host)

    def connect(self, host: str, port: int, protocol: str, data: str) -> str:
        """What the `nc` that listens at an address answers; raises `Unreachable`."""
        namespace = self._pod.metadata.namespace
        target = self._network.route(self._cluster, namespace, self._own(host), port, protocol)
        pod = self._network.listening(target, self._cluster)
        for container in pod.spec.containers:
            listening = netcat.listener([*(container.command or ()), *(container.args or ())])
            if listening is not None and (listening.port, listening.protocol) == (target.port, protocol):
                around = replace(surroundings(pod, container), stdin=data)
                return shell.run(listening.program, around).output if listening.program else ""
        raise Unreachable(f"connection refused: no nc listens on {protocol} port {target.port}")

    def _own(self, address: str) -> str:
        return _ITSELF.sub(lambda match: f"{match[1] or ''}{self._pod.status.pod_ip}", address)
