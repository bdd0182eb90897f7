"""Flux HelmRelease."""

from collections.abc import Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import flux
from karmada.interpreter.thirdparty.statuses import reflect_fields, reported, totals
from karmada.interpreter.thirdparty.tables import entries, find

_FIELDS = (
    "helmChart",
    "lastAppliedRevision",
    "lastAttemptedRevision",
    "lastAttemptedValuesChecksum",
    "lastReleaseRevision",
)
_FAILURES = ("failures", "installFailures", "upgradeFailures")
_aggregate = flux.aggregate(*_FIELDS)


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    _aggregate(template, items)
    failures = totals(reported(items), *_FAILURES)
    template["status"].update({name: count for name, count in failures.items() if count})
    return template


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    references = flux.References(resource)
    for source in entries(find(resource, "spec", "valuesFrom")):
        if source.get("kind") in ("Secret", "ConfigMap"):
            references.add(source["kind"], source.get("name"))
    references.secret("chart", "spec", "verify", "secretRef")
    references.secret("kubeConfig", "secretRef")
    references.add("ServiceAccount", find(resource, "spec", "serviceAccountName") or "")
    return references.all()


RULES = KindRules(
    retain=flux.retain,
    reflect=reflect_fields(*_FIELDS, *_FAILURES, "conditions", "observedGeneration", generations=True),
    aggregate=aggregate,
    health=flux.is_ready("ReconciliationSucceeded"),
    dependencies=dependencies,
)
