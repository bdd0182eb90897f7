"""How the keys of controllers are divided between the replicas of `karmada-controller-manager --shards`.

Divided are the controllers whose keys need nothing that another key's work keeps in this process. Bindings spread by
their own names. What is done in a member spreads by the cluster's name: a replica is connected to the members of its
shards only, and what the execution and status controllers know of a Work together is known in one process.

Everything else stays with the holder of the first shard, as all does without shards:

- the detector's templates and policies watch each other's claims under way (`FreshClaims`, `Waiting`), and a policy
  enqueues templates of any namespace;
- the dependencies distributor, the failover controllers and their storm, quotas and autoscalers count across bindings;
- the cluster monitor, taints, service discovery and the rest are cheap, or follow many members at once.
"""

from collections.abc import Callable, Iterable
from typing import Any

from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.bindings import BindingKey, Bindings
from karmada.controllers.context import Context
from karmada.machinery.controller import Controller
from karmada.machinery.informers.cache import Key
from karmada.machinery.sharding.ownership import Ownership

Divide = Callable[[Context, Controller[Any], Ownership], None]


def by_binding(context: Context, controller: Controller[BindingKey], ownership: Ownership) -> None:
    """Divide keys of bindings by their names."""
    informers = Bindings(context).informers

    def keys() -> Iterable[BindingKey]:
        return (BindingKey(*item.key) for informer in informers for item in informer.all_items())

    controller.divide(ownership, lambda key: f"{key.namespace}/{key.name}", keys)


def by_member(context: Context, controller: Controller[Key], ownership: Ownership) -> None:
    """Divide keys of Works by the clusters they are for."""
    works = context.informers.of(Work)
    controller.divide(
        ownership,
        lambda key: names.cluster_of_execution_space(key.namespace),
        lambda: (item.key for item in works.all_items()),
    )


def by_cluster(context: Context, controller: Controller[str], ownership: Ownership) -> None:
    """Divide keys of clusters by their names."""
    clusters = context.informers.of(Cluster)
    controller.divide(ownership, lambda name: name, lambda: (item.key.name for item in clusters.all_items()))
