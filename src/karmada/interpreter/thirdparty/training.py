"""What Kubeflow's training jobs have in common: replicas by role."""

from collections.abc import Callable, Sequence
from typing import NoReturn

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import Component
from karmada.interpreter.dependencies import merged
from karmada.interpreter.model import InterpretError, JSONObject
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.tables import at, entries, find


def components(field: str, roles: Sequence[str]) -> Callable[[JSONObject], tuple[Component, ...]]:
    """One part per role, named in lower case."""

    def parts(resource: JSONObject) -> tuple[Component, ...]:
        specs = find(resource, "spec", field)
        if not isinstance(specs, dict):
            return ()
        return tuple(part(role.lower(), specs[role], 1) for role in roles if specs.get(role) is not None)

    return parts


def part(name: str, role: JSONObject, unreadable: int) -> Component:
    """The replicas of one role, one unless it says how many; `unreadable` for text that is no number."""
    replicas = at(role, "replicas")
    count = 1 if replicas is None else int(replicas) if str(replicas).isdecimal() else unreadable
    template = at(role, "template")
    requirements = None if template is None else pods.part_requirements(template)
    return Component(name=name, replicas=count, replica_requirements=requirements)


def dependencies(field: str) -> Callable[[JSONObject], Sequence[DependentObjectReference]]:
    """What the pods of all roles refer to."""

    def found(resource: JSONObject) -> Sequence[DependentObjectReference]:
        specs = find(resource, "spec", field)
        namespace = at(resource, "metadata", "namespace")
        templates = [role.get("template") for role in specs.values()] if isinstance(specs, dict) else []
        return merged(pods.all_dependencies(template, namespace) for template in templates if template is not None)

    return found


def is_healthy(observed: JSONObject) -> bool:
    """It has begun, and has not failed."""
    conditions = entries(find(observed, "status", "conditions"))
    failed = any(condition.get("type") == "Failed" and condition.get("status") == "True" for condition in conditions)
    return bool(conditions) and not failed


def cannot_merge(kind: str) -> NoReturn:
    """The reference has a rule here that fails on every input; callers expect the failure, so it is kept."""
    raise InterpretError(
        f"the bundled rule cannot merge statuses of a {kind}; "
        "give a ResourceInterpreterCustomization with statusAggregation to have them merged"
    )
