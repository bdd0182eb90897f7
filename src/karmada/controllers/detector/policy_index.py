"""Finds the policies that may choose a resource, and the waiting resources a policy may choose, without scanning.

Both sides are filed under (scope, apiVersion, kind, name-or-`*`): a resource asks for its own name and for `*`; a
policy asks for what its selectors say. `scope` is the namespace of namespaced policies, and that which a selector of a
cluster-wide one names, if any.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, NamedTuple

from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy, ResourceSelector
from karmada.api.work.v1alpha2 import ObjectReference
from karmada.machinery.informers.cache import Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource
from karmada.policies.matching import Match, Subject, closest

SELECTS, AWAITS = "selects", "awaits"
ANY = "*"


class TemplateKey(NamedTuple):
    """Names a user resource."""

    type: GroupVersionResource
    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind}.{self.api_version} {where}"


def selects(item: Item[Any]) -> Set[str]:
    """Index function of policies."""
    return filed(item.value)


def filed(policy: Any) -> Set[str]:
    """Where a policy is filed: it may choose what looks for one of these."""
    scope = policy.metadata.namespace
    return {
        _slot(scope or selector.namespace, selector, selector.name or ANY)
        for selector in policy.spec.resource_selectors
    }


def awaits(item: Item[Any]) -> Iterable[str]:
    """Index function of policies: the override policies without which they do nothing."""
    return {str(Key(item.key.namespace, name)) for name in item.value.spec.dependent_overrides}


def candidates(
    policies: Informer[PropagationPolicy], wide_policies: Informer[ClusterPropagationPolicy], subject: Subject
) -> tuple[list[PropagationPolicy], list[ClusterPropagationPolicy]]:
    """The policies whose selectors may choose a resource."""
    namespaced: list[PropagationPolicy] = []
    if subject.namespace:
        for slot in slots(subject.namespace, subject):
            namespaced += policies.indexed(SELECTS, slot)
    wide: list[ClusterPropagationPolicy] = []
    for scope in dict.fromkeys(("", subject.namespace)):
        for slot in slots(scope, subject):
            wide += wide_policies.indexed(SELECTS, slot)
    return namespaced, wide


class Waiting:
    """Resources that no policy has chosen yet, found by what selectors name: kind, namespace, name."""

    def __init__(self, closest: Callable[[Iterable[ResourceSelector], Subject], Match] = closest) -> None:
        self._closest = closest
        self._subjects: dict[TemplateKey, Subject] = {}
        self._places: dict[tuple[str, str, str, str], dict[TemplateKey, None]] = {}
        """Keys by api version, kind, and namespace and name or `ANY` for either."""

    def __len__(self) -> int:
        return len(self._subjects)

    def add(self, key: TemplateKey, subject: Subject) -> None:
        """Have a resource wait."""
        self._subjects[key] = subject
        for place in _places(key):
            self._places.setdefault(place, {})[key] = None

    def discard(self, key: TemplateKey) -> None:
        """A resource is gone or was chosen."""
        if self._subjects.pop(key, None) is None:
            return
        for place in _places(key):
            keys = self._places[place]
            del keys[key]
            if not keys:
                del self._places[place]

    def of(self, resource: ObjectReference) -> list[TemplateKey]:
        """A resource, if it waits."""
        return list(self._places.get((resource.api_version, resource.kind, resource.namespace, resource.name), ()))

    def reached_by(self, policy: PropagationPolicy | ClusterPropagationPolicy) -> Iterator[tuple[TemplateKey, bool]]:
        """The waiting resources a policy may choose, and whether it does; each as it is when its turn comes.

        Selectors that look in the same place are one question: thousands that say the same cost nothing.
        """
        together: dict[tuple[str, str, str, str], list[ResourceSelector]] = {}
        for selector in policy.spec.resource_selectors:
            namespace = policy.metadata.namespace or selector.namespace
            place = (selector.api_version, selector.kind, namespace or ANY, selector.name or ANY)
            if place in self._places:
                together.setdefault(place, []).append(selector)
        for place, selectors in together.items():
            least = next((one for one in selectors if one.name or one.label_selector is None), None)
            asked = selectors if least is None else (least,)
            for key in list(self._places.get(place, ())):
                if (subject := self._subjects.get(key)) is not None:
                    yield key, bool(self._closest(asked, subject))


def _places(key: TemplateKey) -> tuple[tuple[str, str, str, str], ...]:
    """Where a resource is looked for."""
    kind = (key.api_version, key.kind)
    return (
        (*kind, key.namespace, key.name),
        (*kind, key.namespace, ANY),
        (*kind, ANY, key.name),
        (*kind, ANY, ANY),
    )


def _slot(scope: str, selector: ResourceSelector, name: str) -> str:
    return f"{scope}|{selector.api_version}|{selector.kind}|{name}"


def slots(scope: str, subject: Subject) -> tuple[str, str]:
    """Where policies that may choose a resource in a scope are filed."""
    head = f"{scope}|{subject.api_version}|{subject.kind}|"
    return head + subject.name, head + ANY
