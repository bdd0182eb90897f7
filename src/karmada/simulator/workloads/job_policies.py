"""What a Job's own rules say about pods that failed and indexes that succeeded. Pure.

A pod that failed counts against the Job, or is ignored, or fails its index, or fails the Job at once: the first rule
of the pod failure policy that matches decides. An index fails by such a rule, or when it was retried too often.
"""

from dataclasses import dataclass

from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.views import ContainerStatus, Pod

INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
COUNT, IGNORE, FAIL_INDEX, FAIL_JOB = "Count", "Ignore", "FailIndex", "FailJob"


@dataclass(frozen=True, slots=True)
class Blame:
    """What the failure of a pod means."""

    action: str = COUNT
    message: str = ""


def blame(spec: JSONObject, pod: Pod) -> Blame:
    """What the pod failure policy of a Job says about a pod that failed."""
    for number, rule in enumerate((spec.get("podFailurePolicy") or {}).get("rules") or ()):
        cause = _by_exit_code(rule["onExitCodes"], pod) if rule.get("onExitCodes") else _by_condition(rule, pod)
        if cause:
            return Blame(rule["action"], f"{cause} matching {rule['action']} rule at index {number}")
    return Blame()


def _by_exit_code(requirement: JSONObject, pod: Pod) -> str:
    values, name = requirement.get("values") or (), requirement.get("containerName")
    for status in pod.status.container_statuses:
        code = _exit_code(status)
        if not code or name not in (None, "", status.name):
            continue
        if (code in values) == (requirement.get("operator") == "In"):
            which = f"{pod.metadata.namespace}/{pod.metadata.name}"
            return f"Container {status.name} for pod {which} failed with exit code {code}"
    return ""


def _exit_code(status: ContainerStatus) -> int:
    return status.state.terminated.exit_code if status.state.terminated is not None else 0


def _by_condition(rule: JSONObject, pod: Pod) -> str:
    for pattern in rule.get("onPodConditions") or ():
        found = pod.condition(pattern["type"])
        if found is not None and found.status == (pattern.get("status") or "True"):
            which = f"{pod.metadata.namespace}/{pod.metadata.name}"
            return f"Pod {which} has condition {pattern['type']}"
    return ""


def index_of(pod: Pod) -> int:
    """The index of a pod of an Indexed Job; -1 when it has none."""
    text = (pod.metadata.annotations or {}).get(INDEX, "")
    return int(text) if text.isdecimal() else -1


def index_failures(spec: JSONObject, pods: list[Pod]) -> dict[int, int]:
    """How often each index has failed, as far as failures count."""
    found: dict[int, int] = {}
    for pod in pods:
        if pod.status.phase == "Failed" and blame(spec, pod).action != IGNORE:
            found[index_of(pod)] = found.get(index_of(pod), 0) + 1
    return found


def failed_indexes(spec: JSONObject, pods: list[Pod], succeeded: frozenset[int]) -> frozenset[int]:
    """The indexes that are given up; none where the Job does not limit the retries of each."""
    limit = spec.get("backoffLimitPerIndex")
    if limit is None:
        return frozenset()
    over = {index for index, times in index_failures(spec, pods).items() if times > limit}
    decided = {index_of(pod) for pod in pods if pod.status.phase == "Failed" and blame(spec, pod).action == FAIL_INDEX}
    return frozenset(over | decided) - succeeded


def met_rule(spec: JSONObject, succeeded: frozenset[int]) -> int | None:
    """The number of the first rule of the success policy that is met."""
    for number, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or ()):
        wanted = indexes_of(rule["succeededIndexes"]) if rule.get("succeededIndexes") else None
        counted = succeeded if wanted is None else succeeded & wanted
        needed = rule.get("succeededCount")
        if len(counted) >= (needed if needed is not None else len(wanted or ())):
            return number
    return None


def indexes_of(text: str) -> frozenset[int]:
    """`0,2-4,7` as numbers."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
