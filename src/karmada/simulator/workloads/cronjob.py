"""CronJobs: a Job at every tick of a schedule."""

from datetime import UTC, datetime

from karmada.api import cron
from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, GiveUp, RequeueAfter, Result, own_key
from karmada.machinery.errors import AlreadyExists
from karmada.machinery.informers.cache import Change, Key
from karmada.machinery.resource import Propagation
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.conditions import find
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import CRON_JOBS, JOBS
from karmada.simulator.workloads.pod_making import owner_reference
from karmada.simulator.workloads.revisions import owners

COMPONENT = "cronjob-controller"
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MOST_MISSED = 100
"""Missed runs that are looked at to find the latest."""


class CronJobController:
    """Creates the Jobs of CronJobs."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._crons = context.trees(CRON_JOBS)
        self._jobs = context.trees(JOBS)
        self._jobs.add_index("owner", owners)
        self._resource = context.client.resource(JOBS)
        self._commit = Committer(context.client.resource(CRON_JOBS))
        self._commit_job = Committer(self._resource)
        self.controller = context.controller(COMPONENT, self.reconcile, (self._crons, self._jobs))
        self.controller.watch(self._crons, own_key)
        self.controller.watch(self._jobs, _crons)

    async def reconcile(self, key: Key) -> Result:
        """Start what is due, clean up, report."""
        one = self._crons.get(key.name, key.namespace)
        if one is None or one["metadata"].get("deletionTimestamp"):
            return DONE
        spec = one["spec"]
        jobs = self._jobs.indexed("owner", one["metadata"]["uid"])
        running = [job for job in jobs if _ended(job) is None]
        try:
            schedule = cron.parse(spec["schedule"], spec.get("timeZone") or "")
        except cron.CronError as error:
            return GiveUp(str(error))
        now = self._context.clock.now()
        last = (one.get("status") or {}).get("lastScheduleTime")
        since = parse_rfc3339(last or one["metadata"]["creationTimestamp"])
        due = latest(schedule, since, now)
        started: float | None = None
        if due is not None and not spec.get("suspend") and now - due <= (spec.get("startingDeadlineSeconds") or 1e9):
            started = await self._start(one, due, running)
        await self._report(one, jobs, running, started)
        await self._clean_up(one, jobs)
        following = schedule.next_run(datetime.fromtimestamp(now, UTC))
        return DONE if following is None or spec.get("suspend") else RequeueAfter(following.timestamp() - now)

    async def _start(self, one: JSONObject, due: float, running: list[JSONObject]) -> float | None:
        policy = one["spec"].get("concurrencyPolicy")
        if policy == "Forbid" and running:
            return None
        if policy == "Replace":
            for job in running:
                await self._commit_job.remove(job, lambda seen: True, propagation=Propagation.BACKGROUND)
        template = one["spec"]["jobTemplate"]
        model = template.get("metadata") or {}
        name = f"{one['metadata']['name']}-{int(due) // 60}"
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": one["metadata"]["namespace"],
                "labels": model.get("labels") or {},
                "annotations": {**(model.get("annotations") or {}), SCHEDULED: rfc3339(due)},
                "ownerReferences": [owner_reference(one)],
            },
            "spec": template["spec"],
        }
        try:
            await self._resource.create(job)
        except AlreadyExists:
            return due
        self._context.event(COMPONENT, one, "Normal", "SuccessfulCreate", f"Created job {name}")
        return due

    async def _report(
        self, one: JSONObject, jobs: list[JSONObject], running: list[JSONObject], started: float | None
    ) -> None:
        finished = [
            ended["lastTransitionTime"]
            for job in jobs
            if (ended := _ended(job)) is not None and ended["type"] == "Complete"
        ]

        def decide(seen: JSONObject) -> JSONObject:
            status = dict(seen.get("status") or {})
            status["active"] = [_reference(job) for job in running]
            if not running:
                del status["active"]
            if started is not None:
                status["lastScheduleTime"] = rfc3339(started)
            if finished:
                status["lastSuccessfulTime"] = max([*finished, status.get("lastSuccessfulTime") or ""])
            return seen | {"status": status}

        await self._commit.commit(one, decide)

    async def _clean_up(self, one: JSONObject, jobs: list[JSONObject]) -> None:
        for kind, field, usual in (
            ("Complete", "successfulJobsHistoryLimit", 3),
            ("Failed", "failedJobsHistoryLimit", 1),
        ):
            limit = one["spec"].get(field)
            ended = [job for job in jobs if (condition := _ended(job)) is not None and condition["type"] == kind]
            ended.sort(key=lambda job: job["metadata"]["creationTimestamp"])
            for job in ended[: max(0, len(ended) - (usual if limit is None else limit))]:
                await self._commit_job.remove(job, lambda seen: True, propagation=Propagation.BACKGROUND)


def latest(schedule: cron.Every | cron.Calendar, since: float, now: float) -> float | None:
    """The latest run that is due; None when none is."""
    due = None
    moment = datetime.fromtimestamp(since, UTC)
    for _ in range(MOST_MISSED):
        following = schedule.next_run(moment)
        if following is None or following.timestamp() > now:
            return due
        due, moment = following.timestamp(), following
    return due


def _ended(job: JSONObject) -> JSONObject | None:
    conditions = (job.get("status") or {}).get("conditions")
    return find(conditions, "Complete") or find(conditions, "Failed")


def _reference(job: JSONObject) -> JSONObject:
    metadata = job["metadata"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
    }


def _crons(change: Change[JSONObject]) -> list[Key]:
    references = change.item.value["metadata"].get("ownerReferences") or ()
    return [Key(change.key.namespace, reference["name"]) for reference in references if reference["kind"] == "CronJob"]
