"""Keeps Services on loopback and the hosts files of pods at what Services and EndpointSlices say."""

import logging
from collections.abc import Mapping
from functools import partial

from karmada.machinery.controller import DONE, RequeueAfter, Result
from karmada.machinery.informers.cache import Change
from karmada.machinery.transport import JSONObject
from karmada.simulator.processes.pod import PodProcesses
from karmada.simulator.processes.runtime import ProcessRuntime
from karmada.simulator.processes.services import Forwarder, Target, hosts, ports_of, targets_of
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import ENDPOINT_SLICES, SERVICES

log = logging.getLogger(__name__)
SERVICE_LABEL = "kubernetes.io/service-name"
KUBERNETES = ("default", "kubernetes")
AGAIN = 2.0
"""Seconds until a port is tried again that could not be served."""


class ServiceProxy:
    """Stands in for kube-proxy and cluster DNS, for the namespaces of the process runtime."""

    def __init__(self, context: Workloads, runtime: ProcessRuntime, running: Mapping[str, PodProcesses]) -> None:
        self._context = context
        self._runtime = runtime
        self._running = running
        self._services = context.trees(SERVICES)
        self._slices = context.trees(ENDPOINT_SLICES)
        self._slices.add_index("service-of", lambda item: [_service_of(item.value)])
        self._forwarders: dict[Target, tuple[tuple[str, str, str], Forwarder]] = {}
        self.needs = (self._services, self._slices, context.nodes)
        self.controller = context.controller("process-proxy", self.reconcile, self.needs)
        self.controller.watch(self._services, self._concerns)
        self.controller.watch(self._slices, self._concerns)

    def _concerns(self, change: Change[JSONObject]) -> list[str]:
        space = change.key.namespace
        return ["everything"] if space in self._runtime.namespaces or space == KUBERNETES[0] else []

    async def reconcile(self, key: str) -> Result:
        """Serve what there is now, stop serving what is gone, and pass the names to all pods."""
        nodes = [
            address.address
            for node in self._context.nodes.all_items()
            for address in node.value.status.addresses or ()
            if address.type == "InternalIP"
        ]
        wanted: dict[Target, tuple[str, str, str]] = {}
        for service, _ in self._known():
            about = service["metadata"]
            for target, entry in ports_of(service, nodes).items():
                wanted[target] = about["namespace"], about["name"], entry.get("name") or ""
        for target in [target for target, (which, _) in self._forwarders.items() if wanted.get(target) != which]:
            await self._forwarders.pop(target)[1].close()
        failed = False
        for target, which in wanted.items():
            if target not in self._forwarders:
                forwarder = Forwarder(partial(self._targets, *which))
                try:
                    await forwarder.listen(*target)
                except OSError as error:
                    log.warning("service %s/%s cannot be served on %s:%d: %s", *which[:2], *target, error.strerror)
                    failed = True
                    continue
                self._forwarders[target] = which, forwarder
        for pod in self._running.values():
            self.write_hosts(pod)
        return RequeueAfter(AGAIN) if failed else DONE

    def write_hosts(self, pod: PodProcesses) -> None:
        """Pass a pod the names that it can use."""
        about, spec = pod.tree["metadata"], pod.tree["spec"]
        own = {spec.get("hostname") or about["name"]: pod.address}
        pod.write_hosts(hosts(about["namespace"], own, self._known()))

    async def close(self) -> None:
        """Stop serving."""
        for _, forwarder in self._forwarders.values():
            await forwarder.close()
        self._forwarders.clear()

    def _known(self) -> list[tuple[JSONObject, list[JSONObject]]]:
        return [
            (item.value, self._slices.indexed("service-of", f"{item.key.namespace}/{item.key.name}"))
            for item in self._services.all_items()
            if item.key.namespace in self._runtime.namespaces or (item.key.namespace, item.key.name) == KUBERNETES
        ]

    def _targets(self, namespace: str, name: str, port: str) -> list[Target]:
        return targets_of(self._slices.indexed("service-of", f"{namespace}/{name}"), port)


def _service_of(tree: JSONObject) -> str:
    about = tree["metadata"]
    return f"{about.get('namespace', '')}/{(about.get('labels') or {}).get(SERVICE_LABEL, '')}"
