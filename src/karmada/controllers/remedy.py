"""Remedy controller: keeps `status.remedyActions` of every cluster at what its conditions call for."""

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.remedy.v1alpha1 import Remedy
from karmada.controllers.context import Context
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.policies.remedies import actions, is_about

COMPONENT = "remedy-controller"


class RemedyController:
    """Publishes on clusters the actions that remedies ask for."""

    def __init__(self, context: Context) -> None:
        self._clusters: Informer[Cluster] = context.informers.of(Cluster)
        self._remedies: Informer[Remedy] = context.informers.of(Remedy)
        self._commit = Committer(context.client.of(Cluster))
        needs = (self._clusters, self._remedies)
        self.controller: Controller[str] = Controller(
            COMPONENT, self.reconcile, workers=2, needs=needs, clock=context.clock
        )
        self.controller.watch(self._clusters, _conditions_changed)
        self.controller.watch(self._remedies, self._remedy_changed)

    async def reconcile(self, name: str) -> Result:
        """Bring the actions of one cluster up to date."""
        cluster = self._clusters.get(name)
        if cluster is None or cluster.metadata.deletion_timestamp is not None:
            return DONE
        remedies = self._remedies.values()

        def decide(current: Cluster) -> Cluster:
            status = msgspec.structs.replace(current.status, remedy_actions=actions(remedies, current))
            return msgspec.structs.replace(current, status=status)

        await self._commit.commit(cluster, decide)
        return DONE

    def _remedy_changed(self, change: Change[Remedy]) -> list[str]:
        states = [item.value for item in (change.old, change.new) if item is not None]
        if not self._clusters.has_synced:
            return []
        names = (item.key.name for item in self._clusters.all_items())
        return [name for name in names if any(is_about(remedy, name) for remedy in states)]


def _conditions_changed(change: Change[Cluster]) -> list[str]:
    if change.new is None:
        return []
    if change.old is not None and change.old.value.status.conditions == change.new.value.status.conditions:
        return []
    return [change.key.name]
