"""What Ray's kinds have in common: a head and groups of workers."""

from collections.abc import Iterator, Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import Component
from karmada.interpreter.dependencies import merged
from karmada.interpreter.model import JSONObject
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.tables import entries, find

HEAD = "ray-head"


def parts(cluster: Any) -> tuple[Component, ...]:
    """The head and each group of workers."""
    head = find(cluster, "headGroupSpec", "template")
    found = [] if head is None else [_part(HEAD, 1, head)]
    for index, group in enumerate(groups(cluster), 1):
        name = group.get("groupName") or f"worker-{index}"
        found.append(_part(name, int(group.get("replicas") or 0), group.get("template")))
    return tuple(found)


def groups(cluster: Any) -> list[JSONObject]:
    """The groups of workers."""
    return entries(find(cluster, "workerGroupSpecs"))


def templates(cluster: Any) -> Iterator[Any]:
    """All pod templates."""
    for group in ({"template": find(cluster, "headGroupSpec", "template")}, *groups(cluster)):
        if group.get("template") is not None:
            yield group["template"]


def dependencies(found: Iterator[Any], namespace: Any) -> Sequence[DependentObjectReference]:
    """What pods of these templates refer to."""
    return merged(pods.all_dependencies(template, namespace or "") for template in found)


def _part(name: str, replicas: int, template: Any) -> Component:
    requirements = None if template is None else pods.part_requirements(template)
    return Component(name=name, replicas=replicas, replica_requirements=requirements)
