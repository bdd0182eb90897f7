"""The agent's sign of life: a lease it renews, which goes with its Cluster."""

import logging

from karmada.agent.options import LeaseOptions
from karmada.api.annotations import COMPONENT_VERSION
from karmada.api.version import VERSION
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock, rfc3339_micro
from karmada.machinery.committer import Committer
from karmada.machinery.errors import ApiError
from karmada.machinery.leader import LEASES
from karmada.machinery.transport import JSONObject

log = logging.getLogger(__name__)


class LeaseKeeper:
    """Renews the lease of a cluster until cancelled; a renewal that fails is simply followed by the next one."""

    def __init__(self, hub: Client, cluster: JSONObject, space: str, options: LeaseOptions, clock: Clock) -> None:
        self._pause = options.duration * options.fraction
        # A request that hangs must not outlast the lease.
        self._commit = Committer(hub.resource(LEASES).within(self._pause))
        self._cluster = cluster
        self._space = space
        self._options = options
        self._clock = clock
        self._seen: JSONObject | None = None
        self.failures = 0

    async def run(self) -> None:
        """Renew for ever."""
        while True:
            try:
                await self.renew()
                self.failures = 0
            except ApiError as error:
                self.failures += 1
                self._seen = None
                name = self._cluster["metadata"]["name"]
                log.warning("the lease of cluster %s could not be renewed, %d in a row: %s", name, self.failures, error)
            await self._clock.sleep(self._pause)

    async def renew(self) -> None:
        """Renew once."""
        name = self._cluster["metadata"]["name"]
        outcome = await self._commit.ensure(name, self._space, self._renewed, self._seen)
        self._seen = getattr(outcome, "value", None)

    def _renewed(self, current: JSONObject | None) -> JSONObject:
        name, uid = self._cluster["metadata"]["name"], self._cluster["metadata"]["uid"]
        owner = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "name": name, "uid": uid}
        lease: JSONObject = current or {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {}}
        metadata = {**lease["metadata"], "name": name, "namespace": self._space, "ownerReferences": [owner]}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), COMPONENT_VERSION: VERSION}
        spec = {
            **(lease.get("spec") or {}),
            "holderIdentity": name,
            "leaseDurationSeconds": int(self._options.duration),
            "renewTime": rfc3339_micro(self._clock.now()),
        }
        return {**lease, "metadata": metadata, "spec": spec}
