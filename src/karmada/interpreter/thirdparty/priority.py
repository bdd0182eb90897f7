"""Priority classes in what replicas of bundled kinds need: named only where estimators look at quotas."""

from dataclasses import replace

from msgspec import structs

from karmada.api.work.v1alpha2 import Component
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds


def without_priority(rules: KindRules) -> KindRules:
    """The same rules, except that no priority class is named."""
    replicas, components = rules.replicas, rules.components

    def count(resource: JSONObject) -> ReplicaNeeds:
        assert replicas is not None
        needs = replicas(resource)
        if needs.requirements is None:
            return needs
        return needs._replace(requirements=structs.replace(needs.requirements, priority_class_name=""))

    def parts(resource: JSONObject) -> tuple[Component, ...]:
        assert components is not None
        return tuple(map(_without, components(resource)))

    return replace(rules, replicas=count if replicas else None, components=parts if components else None)


def _without(part: Component) -> Component:
    if part.replica_requirements is None:
        return part
    return structs.replace(
        part, replica_requirements=structs.replace(part.replica_requirements, priority_class_name="")
    )
