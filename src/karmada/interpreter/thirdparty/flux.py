"""What the kinds of Flux have in common: they are suspended in the cluster, and report how reconciliation went."""

from collections.abc import Callable, Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import InterpretError, JSONObject
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.statuses import (
    observed_generation,
    prefixed_conditions,
    reported,
    with_status,
)
from karmada.interpreter.thirdparty.tables import at, entries, find


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    """Whoever suspends reconciliation in a cluster decides about it."""
    suspend = at(observed, "spec", "suspend")
    if suspend is not None:
        at(desired, "spec", "suspend")
        desired["spec"]["suspend"] = suspend
    return desired


def is_ready(*reasons: str) -> Callable[[JSONObject], bool]:
    """Ready for one of these reasons."""

    def is_healthy(observed: JSONObject) -> bool:
        return any(
            condition.get("type") == "Ready"
            and condition.get("status") == "True"
            and condition.get("reason") in reasons
            for condition in entries(find(observed, "status", "conditions"))
        )

    return is_healthy


def aggregate(
    *fields: str, defaults: dict[str, object] | None = None
) -> Callable[[JSONObject, Sequence[AggregatedStatusItem]], JSONObject]:
    """Conditions of all clusters; of other fields what the last cluster says."""

    def put_together(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
        found = reported(items)
        status: JSONObject = {**(defaults or {})}
        for field in fields:
            values = [value for member in found if (value := member.get(field)) not in (None, "")]
            if values:
                status[field] = values[-1]
        status["conditions"] = prefixed_conditions(items)
        status["observedGeneration"] = observed_generation(template, items)
        return with_status(template, status)

    return put_together


class References:
    """What a spec refers to by name, each thing once. A reference without a name is an error, one to "" is none."""

    def __init__(self, resource: JSONObject) -> None:
        self.spec = resource.get("spec")
        if not isinstance(self.spec, dict):
            raise InterpretError("the spec is missing")
        self._resource = resource
        self._found: dict[tuple[str, str], None] = {}

    def add(self, kind: str, name: Any) -> None:
        if name is None:
            raise InterpretError(f"a reference to a {kind} has no name")
        if name:
            self._found[kind, name] = None

    def secret(self, *path: str) -> None:
        """The secret referred to at a path of the spec, if any is."""
        reference = find(self.spec, *path)
        if reference is not None:
            self.add("Secret", at(reference, "name"))

    def all(self) -> Sequence[DependentObjectReference]:
        if not self._found:
            return ()
        namespace = at(self._resource, "metadata", "namespace")
        return [pods.reference(kind, namespace, name) for kind, name in self._found]


def secrets_at(*paths: tuple[str, ...]) -> Callable[[JSONObject], Sequence[DependentObjectReference]]:
    """Refers to secrets at these places of the spec."""

    def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
        references = References(resource)
        for path in paths:
            references.secret(*path)
        return references.all()

    return dependencies
