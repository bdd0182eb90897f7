"""OpenKruise AdvancedCronJob."""

from collections.abc import Sequence

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.thirdparty import pods
from karmada.interpreter.thirdparty.statuses import latest, present, reported, with_status
from karmada.interpreter.thirdparty.tables import at, entries, find


def dependencies(resource: JSONObject) -> Sequence[DependentObjectReference]:
    template = at(resource, "spec", "template")
    job = find(template, "broadcastJobTemplate") or find(template, "jobTemplate")
    return pods.dependencies(find(job, "spec", "template"), at(resource, "metadata", "namespace"))


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    found = reported(items)
    status = present(
        active=[job for status in found for job in entries(status.get("active"))],
        lastScheduleTime=latest(found, "lastScheduleTime"),
        type=latest(found, "type", ""),
    )
    return with_status(template, status)


RULES = KindRules(aggregate=aggregate, dependencies=dependencies)
