"""Clusters that were deleted by force while bindings still went there."""

from itertools import islice

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.name_rules import dns_subdomain
from karmada.machinery.resource import Resource, Scope
from karmada.scheduler.core.request import Binding
from karmada.scheduler.core.snapshot import Snapshot

LOOKUPS = 16
"""Clusters that the cache lacks are asked for at one attempt: a binding may name any number of them."""


class LostClusters:
    """Finds targets of bindings that no longer exist by asking the server: absence from a cache proves nothing."""

    def __init__(self, server: Resource[Cluster], snapshot: Snapshot) -> None:
        self._server = server
        self._snapshot = snapshot

    async def look_for(self, binding: Binding) -> None:
        """Note in the snapshot the first target that does not exist: one is reason enough to decide anew."""
        missing = (one.name for one in binding.spec.clusters if not self._snapshot.is_known(one.name))
        for name in islice(missing, LOOKUPS):
            # A name that no cluster can have is none to ask for.
            exists = not dns_subdomain(name) and (await self._server.list(Scope(fields=f"metadata.name={name}"))).items
            if not exists and not self._snapshot.is_known(name):
                self._snapshot.lose(name)
                return
