"""The aggregated API server: the group server of cluster.karmada.io, with clusters on a storage of their own."""

import dataclasses
from pathlib import Path

from karmada.aggregated.api import ClusterApi
from karmada.aggregated.deletion_protection import DeletionProtection
from karmada.api.feature_gates import DEFAULTS, FeatureGates
from karmada.apiserver.groupserver import GroupServer, Serving, Trust
from karmada.apiserver.storage.base import Storage
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock

__all__ = ["ClusterServer", "Serving", "Trust"]


class ClusterServer(GroupServer):
    """Serves clusters, their proxy and their tunnels; deletions are protected here, as no webhook sees them."""

    def __init__(
        self,
        storage: Storage,
        hub: Client,
        trust: Trust,
        *,
        gates: FeatureGates = DEFAULTS,
        folder: Path | None = None,
        serving: Serving | None = None,
        clock: Clock = REAL,
    ) -> None:
        self.api = ClusterApi(gates, clock.now)
        local = self.api.local
        guarded = dataclasses.replace(local, admission=[*local.admission, DeletionProtection()])
        super().__init__(
            [guarded],
            hub,
            trust,
            name="karmada-aggregated-apiserver",
            storage=storage,
            folder=folder,
            serving=serving,
            clock=clock,
        )
        self.api.connect(hub, self.store, self.authorizer)
