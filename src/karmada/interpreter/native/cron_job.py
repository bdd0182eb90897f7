"""CronJob."""

from collections.abc import Sequence
from typing import Any, ClassVar

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import AggregatedStatusItem
from karmada.interpreter.model import JSONObject, KindRules
from karmada.interpreter.native.job import Spec as JobSpec
from karmada.interpreter.native.settings import Settings
from karmada.interpreter.pods.references import pod_dependencies
from karmada.interpreter.shape import Metadata, View, statuses, view


class JobTemplate(View, frozen=True, kw_only=True):
    """The Jobs it makes."""

    spec: JobSpec = JobSpec()


class Spec(View, frozen=True, kw_only=True):
    """What it makes."""

    job_template: JobTemplate = JobTemplate()


class Status(View, frozen=True, kw_only=True):
    """What it has made."""

    TYPE: ClassVar[str] = "batch.CronJobStatus"

    active: tuple[dict[str, Any], ...] = ()
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(View, frozen=True, kw_only=True):
    """A CronJob."""

    metadata: Metadata = Metadata()
    spec: Spec = Spec()
    status: Status = Status()


def rules(_: Settings) -> KindRules:
    return KindRules(aggregate=aggregate, dependencies=dependencies)


def dependencies(resource: JSONObject) -> tuple[DependentObjectReference, ...]:
    found = view(resource, CronJob)
    return pod_dependencies(found.spec.job_template.spec.template.spec, found.metadata.namespace)


def aggregate(template: JSONObject, items: Sequence[AggregatedStatusItem]) -> JSONObject:
    view(template, CronJob)
    found = statuses(items, Status)
    status: JSONObject = {}
    if active := [job for member in found for job in member.active]:
        status["active"] = active
    if scheduled := [member.last_schedule_time for member in found if member.last_schedule_time]:
        status["lastScheduleTime"] = max(scheduled)
    if successful := [member.last_successful_time for member in found if member.last_successful_time]:
        status["lastSuccessfulTime"] = max(successful)
    template["status"] = status
    return template
