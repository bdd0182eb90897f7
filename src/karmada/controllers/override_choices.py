"""Which bindings an override policy may choose, and which override policies may choose a resource: looked up.

Policies are filed as in `detector.policy_index`, those that choose everything under their namespace alone. Labels are
looked at when a copy is made anew. A namespace may have thousands of either, and its people change them in a loop.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from karmada.api.policy.v1alpha1 import ClusterOverridePolicy, OverridePolicy, OverrideSpec
from karmada.controllers.detector.policy_index import SELECTS, selects, slots
from karmada.machinery.informers.cache import Item, Key
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import JSONObject
from karmada.policies.matching import subject_of
from karmada.works.build import Overrides

OF_KIND, OF_NAME = "of-kind", "of-name"


def file_bindings(informer: Informer[Any]) -> None:
    """Keep the indexes of bindings that `meant` reads."""
    informer.add_index(OF_KIND, _kind)
    informer.add_index(OF_NAME, _name)


def _kind(item: Item[Any]) -> Iterable[str]:
    resource = item.value.spec.resource
    return (f"{item.key.namespace}|{resource.api_version}|{resource.kind}",)


def _name(item: Item[Any]) -> Iterable[str]:
    resource = item.value.spec.resource
    return (f"{resource.api_version}|{resource.kind}|{resource.name}",)


def meant(bindings: Informer[Any], specs: list[OverrideSpec], namespace: str) -> Iterator[Key]:
    """The bindings whose resources override policies of a namespace, or of none, may choose; some of them twice."""
    selectors = [selector for spec in specs for selector in spec.resource_selectors]
    kinds = {(one.namespace, one.api_version, one.kind) for one in selectors if not one.name}
    has_all = any(not spec.resource_selectors for spec in specs)
    if has_all or kinds:
        for place in list(bindings.index_values(OF_KIND)):
            where, api_version, kind = place.split("|", 2)
            is_chosen = has_all or not kinds.isdisjoint((("", api_version, kind), (where, api_version, kind)))
            if is_chosen and namespace in ("", where):
                yield from (item.key for item in bindings.indexed_items(OF_KIND, place))
    for api_version, kind, name, where in {(s.api_version, s.kind, s.name, s.namespace) for s in selectors if s.name}:
        for item in bindings.indexed_items(OF_NAME, f"{api_version}|{kind}|{name}"):
            if {namespace, where} <= {"", item.key.namespace}:
                yield item.key


class Chosen(NamedTuple):
    """Override policies that may choose a resource."""

    policies: Overrides = Overrides()
    size: int = 0
    """About as many bytes as they have."""


class OverrideChoices:
    """The override policies that may choose a resource."""

    def __init__(self, wide: Informer[ClusterOverridePolicy], own: Informer[OverridePolicy]) -> None:
        self._wide, self._own = wide, own
        for informer in (wide, own):
            informer.add_index(SELECTS, _selected)

    def of(self, resource: JSONObject) -> Chosen:
        """Those for a resource, each once."""
        subject = subject_of(resource)
        namespace = subject.namespace
        wide: list[Item[ClusterOverridePolicy]] = []
        if len(self._wide):
            scopes = dict.fromkeys(("", namespace))
            wide = _found(self._wide, (_every(""), *(slot for scope in scopes for slot in slots(scope, subject))))
        own: list[Item[OverridePolicy]] = []
        if namespace and len(self._own):
            own = _found(self._own, (_every(namespace), *slots(namespace, subject)))
        size = sum(item.cost for items in (wide, own) for item in items)
        return Chosen(Overrides([item.value for item in wide], [item.value for item in own]), size)


def _selected(item: Item[Any]) -> Iterable[str]:
    """Index function of override policies. One that cannot be read may choose everything: whoever reads it fails, and
    writes no copy without it."""
    try:
        return selects(item) or (_every(item.key.namespace),)
    except ValueError:
        return (_every(item.key.namespace),)


def _every(namespace: str) -> str:
    return f"{namespace}|"


def _found(policies: Informer[Any], places: Iterable[str]) -> list[Item[Any]]:
    found = {item.key: item for place in places for item in policies.indexed_items(SELECTS, place)}
    return list(found.values())
