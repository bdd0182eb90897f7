"""Scores that somebody else gives to clusters, without code in the scheduler.

`LabelScore` reads a label of the Cluster. `ResourceScore` reads a field of an object that has the cluster's name, such
as one that a cost or carbon controller keeps up to date. What is no number, or is missing, scores 0.
"""

from collections.abc import Callable, Sequence
from typing import Any

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.jsonpath import JSONPathError, parse_relaxed
from karmada.machinery.informers.cache import Change
from karmada.machinery.transport import GroupVersionResource
from karmada.scheduler.core.request import Request


class LabelScore:
    """The value of a label."""

    def __init__(self, label: str) -> None:
        self.name = f"LabelScore:{label}"
        self._label = label

    def score(self, cluster: Cluster, request: Request) -> int:
        """See `Score`."""
        return _number(cluster.metadata.labels.get(self._label))


class ResourceScore:
    """A field of the object named like the cluster."""

    def __init__(self, type_: GroupVersionResource, path: str) -> None:
        self.name = f"ResourceScore:{type_.resource}"
        self.type = type_
        self._find: Callable[[Any], Sequence[Any]] = parse_relaxed(path).find
        self._scores: dict[str, int] = {}

    def score(self, cluster: Cluster, request: Request) -> int:
        """See `Score`."""
        return self._scores.get(cluster.metadata.name, 0)

    def changed(self, changes: list[Change[Any]]) -> None:
        """Handler of the informer of the objects."""
        for change in changes:
            name = change.key.name
            if change.new is None:
                self._scores.pop(name, None)
            else:
                found = self._find(change.new.value)
                self._scores[name] = _number(found[0]) if found else 0


def resource_score(text: str) -> ResourceScore:
    """From a flag such as `example.com/v1/clustercosts={.status.score}`."""
    where, equals, path = text.partition("=")
    parts = where.split("/")
    if not equals or len(parts) != 3:
        raise ValueError(f"{text!r}: write group/version/plural=path, such as example.com/v1/costs={{.status.score}}")
    try:
        return ResourceScore(GroupVersionResource(*parts), path)
    except JSONPathError as error:
        raise ValueError(f"{text!r}: {error}") from error


def _number(value: object) -> int:
    try:
        return int(value) if isinstance(value, int | float | str) else 0
    except ValueError:
        return 0
