"""OpenKruise SidecarSet."""

from collections.abc import Iterable, Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.statuses import reported, totals, with_status
from karmada.interpreter.thirdparty.tables import at, entries, find

_COUNTERS = ("matchedPods", "updatedPods", "readyPods")


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    """Those of the containers it adds to pods."""
    namespace = find(resource, "metadata", "namespace")
    variables = [
        variable.get("valueFrom")
        for container in entries(find(resource, "spec", "containers"))
        for variable in entries(container.get("env"))
    ]
    volumes = entries(find(resource, "spec", "volumes"))
    found = dict.fromkeys(
        [
            *(("ConfigMap", at(source, "name")) for source in _sources(variables, "configMapKeyRef")),
            *(("Secret", at(source, "name")) for source in _sources(variables, "secretKeyRef")),
            *(("ConfigMap", at(source, "name")) for source in _sources(volumes, "configMap")),
            *(("Secret", at(source, "secretName")) for source in _sources(volumes, "secret")),
        ]
    )
    return [pods.reference(kind, namespace, name) for kind, name in found]


def _sources(places: Iterable[Any], field: str) -> list[Any]:
    return [source for place in places if (source := find(place, field)) is not None]


def retain(desired: JSONObject, observed: JSONObject) -> JSONObject:
    return desired


def reflect(observed: JSONObject) -> JSONObject | None:
    status = observed.get("status")
    return totals([status], *_COUNTERS) if isinstance(status, dict) else {}


def is_healthy(observed: JSONObject) -> bool:
    status = observed.get("status")
    if not isinstance(status, dict):
        return False
    matched = status.get("matchedPods") or 0
    return matched == 0 or status.get("updatedPods") == matched


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    return with_status(template, {**totals(reported(items), *_COUNTERS)})


RULES = KindRules(
    replicas=lambda _: ReplicaNeeds(0),
    retain=retain,
    reflect=reflect,
    aggregate=aggregate,
    health=is_healthy,
    dependencies=dependencies,
)
