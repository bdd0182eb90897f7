"""Who answers a request of the global API: the cache, the cluster that has the object, or the control plane. Pure."""

from collections.abc import Set
from enum import Enum
from typing import NamedTuple

from karmada.apiserver.requests import paths
from karmada.apiserver.requests.paths import ResourcePath
from karmada.apiserver.requests.routing import verb_of
from karmada.machinery.transport import GroupVersionResource

_READS = ("get", "list", "watch")


class Answerer(Enum):
    """Who answers, in the order in which they are asked."""

    CACHE = "reads of registered kinds"
    CLUSTER = "everything else on objects of registered kinds"
    CONTROL_PLANE = "all other requests"


class Route(NamedTuple):
    """A request taken apart; `path` is None for pages that are no resource."""

    answerer: Answerer
    verb: str
    path: ResourcePath | None

    @property
    def type(self) -> GroupVersionResource:
        """The collection that is asked about."""
        assert self.path is not None
        return GroupVersionResource(self.path.group, self.path.version, self.path.resource)


def route(method: str, path: str, params: dict[str, str], registered: Set[GroupVersionResource]) -> Route:
    """Where a request goes."""
    named = paths.parse(path)
    if named is None:
        return Route(Answerer.CONTROL_PLANE, method.lower(), None)
    verb = verb_of(method, named, params)
    if GroupVersionResource(named.group, named.version, named.resource) not in registered:
        return Route(Answerer.CONTROL_PLANE, verb, named)
    if verb in _READS and not named.subresource:
        return Route(Answerer.CACHE, verb, named)
    return Route(Answerer.CLUSTER, verb, named)
