"""Clusters as they would be: some gone, some tainted, some that do not exist yet."""

from collections.abc import Iterable, Sequence

import msgspec

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.cli.failures import CommandError
from karmada.cli.files import parse
from karmada.cli.taints import EFFECTS


def changed(
    clusters: Iterable[Cluster], without: Sequence[str], taints: Sequence[str], added: Iterable[Cluster]
) -> list[Cluster]:
    """The clusters after the changes; refuses changes of clusters that are not there."""
    world = {cluster.metadata.name: cluster for cluster in clusters}
    world |= {cluster.metadata.name: cluster for cluster in added}
    for name in without:
        if world.pop(name, None) is None:
            raise CommandError(f"--without-cluster: there is no cluster {name} (there are: {', '.join(world)})")
    for word in taints:
        name, taint = _taint(word)
        if name not in world:
            raise CommandError(f"--taint: there is no cluster {name} (there are: {', '.join(world)})")
        world[name] = with_taint(world[name], taint)
    return list(world.values())


def with_taint(cluster: Cluster, taint: dict[str, str]) -> Cluster:
    """A cluster with one taint more."""
    kind = type(cluster.spec)
    tree = msgspec.to_builtins(cluster.spec)
    tree["taints"] = [*(tree.get("taints") or ()), taint]
    return msgspec.structs.replace(cluster, spec=from_tree(tree, kind))


def _taint(word: str) -> tuple[str, dict[str, str]]:
    """`member1:key=value:Effect`."""
    name, _, rest = word.partition(":")
    front, _, effect = rest.rpartition(":")
    key, _, value = front.partition("=")
    if not (name and key) or effect not in EFFECTS:
        raise CommandError(f"--taint {word}: write CLUSTER:KEY=VALUE:EFFECT, effects are {', '.join(EFFECTS)}")
    return name, {"key": key, "value": value, "effect": effect}


def read_clusters(text: str, name: str) -> list[Cluster]:
    """Clusters of a file."""
    found = list(parse(text, name))
    wrong = next((item for item in found if item["kind"] != "Cluster"), None)
    if wrong is not None:
        raise CommandError(f"{name}: holds a {wrong['kind']}; --cluster-file takes Clusters")
    return [from_tree(item, Cluster) for item in found]
