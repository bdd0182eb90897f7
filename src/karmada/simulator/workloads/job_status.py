"""How a Job is doing: counts, and whether it has ended. Pure."""

from dataclasses import dataclass, field

from karmada.machinery.clock import parse_rfc3339
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.job_policies import FAIL_JOB, IGNORE, blame, failed_indexes, index_of, met_rule
from karmada.simulator.workloads.views import Pod

UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with a Job."""

    succeeded: int
    failed: int
    wanted: int
    """Pods that should be active."""
    ended: str = ""
    """Complete or Failed; empty while it goes on."""
    reason: str = ""
    message: str = ""
    indexes: frozenset[int] = field(default_factory=frozenset)
    """Those that succeeded."""
    failed_indexes: frozenset[int] = field(default_factory=frozenset)


def verdict(job: JSONObject, pods: list[Pod], now: float) -> Verdict:
    """Judge a Job by its pods."""
    spec, old = job["spec"], job.get("status") or {}
    indexed = spec.get("completionMode") == "Indexed"
    indexes = frozenset(completed_indexes(pods)) if indexed else frozenset()
    done = sum(pod.status.phase == "Succeeded" for pod in pods)
    succeeded = len(indexes) if indexed else max(done, old.get("succeeded") or 0)
    blamed = [blame(spec, pod) for pod in pods if pod.status.phase == "Failed"]
    failed = max(sum(one.action != IGNORE for one in blamed), old.get("failed") or 0)
    given_up = failed_indexes(spec, pods, indexes) if indexed else frozenset()
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    parallelism = 1 if parallelism is None else parallelism
    active = sum(pod.is_active for pod in pods)

    def result(wanted: int, ended: str = "", reason: str = "", message: str = "") -> Verdict:
        return Verdict(succeeded, failed, wanted, ended, reason, message, indexes, given_up)

    fatal = next((one for one in blamed if one.action == FAIL_JOB), None)
    if fatal is not None:
        return result(0, "Failed", "PodFailurePolicy", fatal.message)
    usual = 6 if spec.get("backoffLimitPerIndex") is None else UNLIMITED
    limit = usual if spec.get("backoffLimit") is None else spec["backoffLimit"]
    restarts = sum(s.restart_count for pod in pods if pod.is_active for s in pod.status.container_statuses or ())
    retried = failed + (restarts if _restarts(spec) else 0)
    if retried > limit:
        return result(0, "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    deadline = spec.get("activeDeadlineSeconds")
    started = old.get("startTime")
    if deadline is not None and started and parse_rfc3339(started) + deadline <= now and not spec.get("suspend"):
        return result(0, "Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
    most = spec.get("maxFailedIndexes")
    if most is not None and len(given_up) > most:
        text = "Job has exceeded the specified maximal number of failed indexes"
        return result(0, "Failed", "MaxFailedIndexesExceeded", text)
    met = met_rule(spec, indexes)
    if met is not None:
        return result(0, "Complete", "SuccessPolicy", f"Matched rules at index {met}")
    if completions is None:
        # A work queue: one success means that there is nothing left to begin.
        if succeeded:
            if not active:
                return result(0, "Complete", "CompletionsReached", "Reached expected number of succeeded pods")
            return result(active)
        return result(parallelism)
    if succeeded >= completions:
        return result(0, "Complete", "CompletionsReached", "Reached expected number of succeeded pods")
    if given_up and succeeded + len(given_up) >= completions:
        return result(0, "Failed", "FailedIndexes", "Job has failed indexes")
    return result(min(parallelism, completions - succeeded - len(given_up)))


def completed_indexes(pods: list[Pod]) -> set[int]:
    """The indexes whose pod succeeded."""
    return {index_of(pod) for pod in pods if pod.status.phase == "Succeeded"} - {-1}


def indexes_text(indexes: frozenset[int]) -> str:
    """`0,2-4,7`"""
    parts: list[str] = []
    ordered = sorted(indexes)
    start = 0
    for position in range(1, len(ordered) + 1):
        if position == len(ordered) or ordered[position] != ordered[position - 1] + 1:
            first, last = ordered[start], ordered[position - 1]
            parts.append(str(first) if first == last else f"{first},{last}" if last == first + 1 else f"{first}-{last}")
            start = position
    return ",".join(parts)


def _restarts(spec: JSONObject) -> bool:
    return bool(((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") == "OnFailure")
