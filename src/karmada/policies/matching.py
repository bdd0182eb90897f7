"""Which resources a policy's selectors choose, and how closely.

The closeness (`Match`) is the implicit priority of a policy: naming a resource beats choosing it by labels, which
beats choosing all of a kind.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from karmada.api.label_selector import matches
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy, ResourceSelector


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
    return max((match(selector, subject) for selector in selectors), default=Match.NONE)


def fit(policy: PropagationPolicy | ClusterPropagationPolicy, subject: Subject) -> Match:
    """How closely a policy fits. A namespaced one selects in its own namespace, also where a selector names none."""
    namespace = policy.metadata.namespace
    if namespace and namespace != subject.namespace:
        return Match.NONE
    return closest(policy.spec.resource_selectors, subject)


def kinds(selectors: Iterable[ResourceSelector]) -> list[tuple[str, str]]:
    """The apiVersions and kinds that selectors name, each once however many name it."""
    return list(dict.fromkeys((selector.api_version, selector.kind) for selector in selectors))
