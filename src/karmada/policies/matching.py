"""Which resources a policy's selectors choose, and how closely.

The closeness (`Match`) is the implicit priority of a policy: naming a resource beats choosing it by labels, which
beats choosing all of a kind.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from karmada.api.caching import Same, weighed_cache
from karmada.api.label_selector import matches, size
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy, ResourceSelector

_FEW = 16
"""Selectors that are quicker to try one by one."""


class Match(IntEnum):
    """How closely a selector fits; greater is closer."""

    NONE = 0
    ALL = 1
    LABELS = 2
    NAME = 3


class Subject(NamedTuple):
    """What selectors look at in a resource."""

    api_version: str
    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str]


def subject_of(resource: Mapping[str, Any]) -> Subject:
    """The subject of a decoded object."""
    metadata = resource.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    labels = metadata.get("labels")
    return Subject(
        resource.get("apiVersion", ""),
        resource.get("kind", ""),
        metadata.get("namespace", ""),
        metadata.get("name", ""),
        labels if isinstance(labels, dict) else {},
    )


def match(selector: ResourceSelector, subject: Subject) -> Match:
    """How closely one selector fits. A name makes its label selector irrelevant."""
    if selector.kind != subject.kind or selector.api_version != subject.api_version:
        return Match.NONE
    if selector.namespace and selector.namespace != subject.namespace:
        return Match.NONE
    if selector.name:
        return Match.NAME if selector.name == subject.name else Match.NONE
    if selector.label_selector is None:
        return Match.ALL
    return Match.LABELS if matches(selector.label_selector, subject.labels) else Match.NONE


def closest(selectors: Iterable[ResourceSelector], subject: Subject) -> Match:
    """The closest fit of several selectors."""
    if isinstance(selectors, tuple) and len(selectors) > _FEW:
        return _prepared(Same(selectors)).closest(subject)
    return max((match(selector, subject) for selector in selectors), default=Match.NONE)


def effort(selectors: Iterable[ResourceSelector]) -> int:
    """What comparing a resource with selectors takes at most: each is a step, and so are its labels, expressions and
    values. Names are looked up."""
    if isinstance(selectors, tuple) and len(selectors) > _FEW:
        return _prepared(Same(selectors)).effort
    return sum(map(_effort, selectors))


def _effort(selector: ResourceSelector) -> int:
    if selector.name:
        return 0
    return 1 + (size(selector.label_selector) if selector.label_selector is not None else 0)


class _Many:
    """Many selectors: those that name a resource are looked up, the others compared with resources of their kind."""

    def __init__(self, selectors: Iterable[ResourceSelector]) -> None:
        self._named: set[tuple[str, str, str, str]] = set()
        self._others: dict[tuple[str, str], dict[object, ResourceSelector]] = {}
        """By kind; of those that choose all of a namespace one."""
        for selector in selectors:
            kind = (selector.api_version, selector.kind)
            if selector.name:
                self._named.add((*kind, selector.namespace, selector.name))
            else:
                chooses_all = selector.label_selector is None
                self._others.setdefault(kind, {})[selector.namespace if chooses_all else id(selector)] = selector
        self.effort = sum(_effort(selector) for others in self._others.values() for selector in others.values())

    def closest(self, subject: Subject) -> Match:
        """The closest fit of any."""
        kind = (subject.api_version, subject.kind)
        if any((*kind, namespace, subject.name) in self._named for namespace in ("", subject.namespace)):
            return Match.NAME
        others = self._others.get(kind, {}).values()
        return max((match(selector, subject) for selector in others), default=Match.NONE)


_Selectors = tuple[ResourceSelector, ...]


def _weight(prepared: _Many, selectors: Same[_Selectors]) -> int:
    return len(selectors.value)


@weighed_cache(200_000, _weight)
def _prepared(selectors: Same[_Selectors]) -> _Many:
    return _Many(selectors.value)


def fit(policy: PropagationPolicy | ClusterPropagationPolicy, subject: Subject) -> Match:
    """How closely a policy fits. A namespaced one selects in its own namespace, also where a selector names none."""
    namespace = policy.metadata.namespace
    if namespace and namespace != subject.namespace:
        return Match.NONE
    return closest(policy.spec.resource_selectors, subject)


def kinds(selectors: Iterable[ResourceSelector]) -> list[tuple[str, str]]:
    """The apiVersions and kinds that selectors name, each once however many name it."""
    return list(dict.fromkeys((selector.api_version, selector.kind) for selector in selectors))
