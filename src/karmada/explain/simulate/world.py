"""Clusters as they would be: some gone, some tainted, some that do not exist yet."""

from collections.abc import Iterable, Mapping

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.explain.errors import UnknownCluster

World = dict[str, Cluster]


def of(clusters: Iterable[Cluster], added: Iterable[Cluster] = ()) -> World:
    """Clusters by name, with others added or in the place of those of the same name."""
    return {cluster.metadata.name: cluster for cluster in (*clusters, *added)}


def without(world: World, names: Iterable[str]) -> World:
    """A world from which clusters are gone."""
    left = dict(world)
    for name in names:
        _check_known(left, name)
        del left[name]
    return left


def tainted(world: World, taints: Iterable[tuple[str, Mapping[str, str]]]) -> World:
    """A world in which clusters have further taints."""
    changed = dict(world)
    for name, taint in taints:
        _check_known(changed, name)
        changed[name] = with_taint(changed[name], taint)
    return changed


def with_taint(cluster: Cluster, taint: Mapping[str, str]) -> Cluster:
    """A cluster with one taint more."""
    kind = type(cluster.spec)
    tree = msgspec.to_builtins(cluster.spec)
    tree["taints"] = [*(tree.get("taints") or ()), dict(taint)]
    return msgspec.structs.replace(cluster, spec=from_tree(tree, kind))


def _check_known(world: World, name: str) -> None:
    if name not in world:
        raise UnknownCluster(f"there is no cluster {name} (there are: {', '.join(world)})")
