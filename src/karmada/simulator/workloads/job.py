"""Jobs: pods that run to completion, tried again with growing pauses, until enough have succeeded
or too many have failed.
"""

from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, RequeueAfter, Result, Retry, own_key
from karmada.machinery.informers.cache import Change, Item, Key
from karmada.machinery.resource import Propagation
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.adoption import Adoption, orphaned
from karmada.simulator.workloads.conditions import find, with_condition
from karmada.simulator.workloads.context import OWNER, Workloads
from karmada.simulator.workloads.job_policies import INDEX, INDEX_FAILURES, index_failures, index_of
from karmada.simulator.workloads.job_status import Verdict, indexes_text, verdict
from karmada.simulator.workloads.kinds import JOBS, PODS
from karmada.simulator.workloads.pod_making import PodMaker, from_template, owner_name
from karmada.simulator.workloads.views import Pod

COMPONENT = "job-controller"
BACKOFF = (10.0, 600.0)
"""First and longest pause after a failed pod."""


class JobController:
    """Reconciles Jobs: pods run to completion, retried with backoff, until enough succeeded or too many failed."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._jobs = context.trees(JOBS)
        self._resource = context.client.resource(JOBS)
        self._commit = Committer(self._resource)
        self._maker = PodMaker(context, COMPONENT)
        self._adoption = Adoption(context.pods, context.client.resource(PODS))
        self.controller = context.controller(COMPONENT, self.reconcile, (self._jobs, context.pods))
        self.controller.watch(self._jobs, own_key)
        self.controller.watch(context.pods, self._owners)

    def _owners(self, change: Change[Pod]) -> list[Key]:
        self._maker.expectations.gone(change)
        owners = [Key(*which) for which in owner_name(change, "Job")]
        if change.new is None or not orphaned(change.new) or not self._jobs.has_synced:
            return owners
        return [*owners, *(item.key for item in self._jobs.all_items(change.key.namespace))]

    def _strays(self, job: JSONObject) -> list[Item[Pod]]:
        """Pods of a Job whose labels are not those of its template any more."""
        wanted = (job["spec"]["template"].get("metadata") or {}).get("labels") or {}
        owned = self._context.pods.indexed_items(OWNER, job["metadata"]["uid"])
        return [item for item in owned if not wanted.items() <= (item.value.metadata.labels or {}).items()]

    async def reconcile(self, key: Key) -> Result:
        """Move one Job on and report."""
        job = self._jobs.get(key.name, key.namespace)
        if job is None or job["metadata"].get("deletionTimestamp"):
            return DONE
        spec, status = job["spec"], job.get("status") or {}
        if spec.get("managedBy") not in (None, "kubernetes.io/job-controller"):
            return DONE
        now = self._context.clock.now()
        if find(status.get("conditions"), "Complete") or find(status.get("conditions"), "Failed"):
            return await self._expire(job, now)
        if await self._adoption.adopt(job) or await self._adoption.release(job, self._strays(job)):
            return DONE
        pods = self._maker.owned(job["metadata"]["uid"])
        if not self._maker.expectations.satisfied(job["metadata"]["uid"], pods):
            return DONE
        judged = verdict(job, pods, now)
        wait: float | None = None
        failure = None
        active = [pod for pod in pods if pod.is_active]
        if judged.ended or spec.get("suspend"):
            await self._maker.delete(job, active)
            active = []
        else:
            surplus = len(active) - judged.wanted
            if surplus > 0:
                await self._maker.delete(job, active[-surplus:])
            elif surplus < 0:
                new, wait = self._new(job, pods, judged, -surplus, now)
                failure = await self._maker.create(job, new)
            deadline = spec.get("activeDeadlineSeconds")
            if deadline and status.get("startTime"):
                left = parse_rfc3339(status["startTime"]) + deadline - now
                wait = left if not wait else min(wait, left)
        await self._commit.commit(job, lambda seen: seen | {"status": reported(seen, judged, active, now)})
        if judged.ended == "Complete":
            self._context.event(COMPONENT, job, "Normal", "Completed", "Job completed")
        elif judged.ended:
            self._context.event(COMPONENT, job, "Warning", judged.reason, judged.message)
        if failure is not None:
            return Retry(failure)
        return RequeueAfter(wait) if wait and wait > 0 else DONE

    def _new(
        self, job: JSONObject, pods: list[Pod], judged: Verdict, count: int, now: float
    ) -> tuple[list[JSONObject], float | None]:
        """The pods to make now, and after how many seconds there may be more."""
        spec, name = job["spec"], job["metadata"]["name"]
        each = spec.get("backoffLimitPerIndex") is not None
        wait = None if each else pause(pods, now)
        if wait:
            return [], wait
        if spec.get("completionMode") != "Indexed":
            return [self._pod(job, f"{name}-", None) for _ in range(count)], None
        taken = judged.indexes | judged.failed_indexes | {index_of(pod) for pod in pods if pod.is_active}
        free = [index for index in range(spec.get("completions") or 0) if index not in taken]
        if each:
            pauses = {index: pause([pod for pod in pods if index_of(pod) == index], now) for index in free}
            free = [index for index in free if not pauses[index]]
            wait = min((seconds for seconds in pauses.values() if seconds), default=None)
        made = [self._pod(job, f"{name}-{index}-", index) for index in free[:count]]
        if each:
            failures = index_failures(spec, pods)
            for pod, index in zip(made, free, strict=False):
                pod["metadata"]["annotations"][INDEX_FAILURES] = str(failures.get(index, 0))
        return made, wait

    def _pod(self, job: JSONObject, prefix: str, index: int | None) -> JSONObject:
        template = job["spec"]["template"]
        pod = from_template(job, template, generateName=prefix)
        if index is None:
            return pod
        metadata, spec = pod["metadata"], pod["spec"]
        for field in ("annotations", "labels"):
            metadata[field] = {**(metadata.get(field) or {}), INDEX: str(index)}
        spec["hostname"] = f"{job['metadata']['name']}-{index}"
        entry = {"name": "JOB_COMPLETION_INDEX", "value": str(index)}
        spec["containers"] = [c | {"env": [*(c.get("env") or ()), entry]} for c in spec["containers"]]
        return pod

    async def _expire(self, job: JSONObject, now: float) -> Result:
        """Delete a finished Job when its time to live is over."""
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        if seconds is None:
            return DONE
        conditions = (job.get("status") or {}).get("conditions")
        ended = find(conditions, "Complete") or find(conditions, "Failed") or {}
        left = parse_rfc3339(ended["lastTransitionTime"]) + seconds - now
        if left > 0:
            return RequeueAfter(left)
        await self._commit.remove(job, lambda seen: True, propagation=Propagation.FOREGROUND)
        return DONE


def reported(job: JSONObject, judged: Verdict, active: list[Pod], now: float) -> JSONObject:
    """The status of a Job."""
    stamp = rfc3339(now)
    old, spec = job.get("status") or {}, job["spec"]
    conditions = old.get("conditions") or []
    status: JSONObject = {"uncountedTerminatedPods": {}}
    counts = {
        "active": len(active),
        "ready": sum(pod.is_ready for pod in active),
        "succeeded": judged.succeeded,
        "failed": judged.failed,
        "terminating": 0,
    }
    status |= {name: value for name, value in counts.items() if value or name in ("ready", "terminating")}
    if judged.indexes:
        status["completedIndexes"] = indexes_text(judged.indexes)
    if spec.get("backoffLimitPerIndex") is not None:
        status["failedIndexes"] = indexes_text(judged.failed_indexes)
    suspended = bool(spec.get("suspend"))
    if old.get("startTime") or not suspended:
        status["startTime"] = old.get("startTime") or stamp
    if suspended:
        status.pop("startTime", None)
    conditions = _suspension(conditions, suspended, stamp)
    if judged.ended:
        before = "SuccessCriteriaMet" if judged.ended == "Complete" else "FailureTarget"
        for type_ in (before, judged.ended):
            conditions = with_condition(
                conditions, type_, "True", judged.reason, judged.message, stamp, lastProbeTime=stamp
            )
        if judged.ended == "Complete":
            status["completionTime"] = stamp
    if conditions:
        status["conditions"] = conditions
    return status


def _suspension(conditions: list[JSONObject], suspended: bool, stamp: str) -> list[JSONObject]:
    known = (find(conditions, "Suspended") or {}).get("status")
    if suspended and known != "True":
        condition = ("True", "JobSuspended", "Job suspended")
    elif not suspended and known == "True":
        condition = ("False", "JobResumed", "Job resumed")
    else:
        return conditions
    return with_condition(conditions, "Suspended", *condition, stamp, lastProbeTime=stamp)


def pause(pods: list[Pod], now: float) -> float:
    """Seconds to wait after the latest failure of some pods."""
    failed = [pod for pod in pods if pod.status.phase == "Failed"]
    if not failed:
        return 0.0
    ended = max(_finished(pod) for pod in failed)
    seconds = float(min(BACKOFF[1], BACKOFF[0] * 2 ** (len(failed) - 1)))
    return max(0.0, ended + seconds - now)


def _finished(pod: Pod) -> float:
    ends = [
        parse_rfc3339(status.state.terminated.finished_at)
        for status in pod.status.container_statuses or ()
        if status.state.terminated is not None and status.state.terminated.finished_at
    ]
    return max(ends, default=0.0)
