"""Where the reference's bundled rules do what nobody wants, and ours do not follow them; judged by the input alone."""

import math
import re
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from karmada.interpreter.model import InterpretError
from karmada.interpreter.thirdparty.pods import dependencies, requirements
from karmada.testing.golden.case import Case, Excuse
from karmada.testing.golden.shapes import values_of

_SMALL_PODS = ("BroadcastJob", "CloneSet", "StatefulSet", "UnitedDeployment")
_FLINK_MEMORY = re.compile(r"[0-9]+ ?[bkmgt]b?")
_FAILURES = ("failures", "installFailures", "upgradeFailures")


def _of(kind: str | Sequence[str], operation: str, applies: Callable[[Any], bool]) -> Callable[[Case], bool]:
    kinds = (kind,) if isinstance(kind, str) else kind

    def test(case: Case) -> bool:
        if case.operation != f"thirdparty.{operation}" or case.input["object"].get("kind") not in kinds:
            return False
        return applies(case.input)

    return test


def _at(tree: Any, *path: str) -> Any:
    for step in path:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _statuses(given: Any) -> list[Any]:
    return [item.get("status") for item in given.get("statusItems") or ()]


def _nobody_reports(*fields: str) -> Callable[[Any], bool]:
    """Of several clusters none has one of these fields."""

    def test(given: Any) -> bool:
        return any(all(_at(status, field) in (None, "") for status in _statuses(given)) for field in fields)

    return test


def _ends(given: Any) -> list[Any]:
    conditions = [_list(_at(status, "conditions")) for status in _statuses(given)]
    return [
        any(_at(one, "type") in ("Complete", "Failed") and _at(one, "status") == "True" for one in each)
        for each in conditions
    ]


def _runs_after_an_end(given: Any) -> bool:
    ends = _ends(given)
    return any(not end and any(ends[:index]) for index, end in enumerate(ends))


def _flink_is_misread(given: Any) -> bool:
    spec = _at(given["object"], "spec")
    memory = [_at(spec, manager, "resource", "memory") for manager in ("jobManager", "taskManager")]
    affinity = _at(spec, "podTemplate", "spec", "affinity")
    return affinity is not None or any(isinstance(one, str) and _FLINK_MEMORY.fullmatch(one) for one in memory)


def _spark_in_bytes(given: Any) -> bool:
    parts = [_at(given["object"], "spec", part) for part in ("driver", "executor")]
    amounts = [_at(part, field) for part in parts for field in ("memory", "memoryOverhead")]
    return any(isinstance(amount, str) and re.fullmatch(r"[0-9.]+b", amount.lower()) for amount in amounts)


def _has_workloads(given: Any) -> bool:
    template = _at(given["object"], "spec", "template")
    return isinstance(template, dict) and any(field.endswith("SetTemplate") for field in template)


def _has_secret_volume(given: Any) -> bool:
    return any(_at(volume, "secret") is not None for volume in _list(_at(given["object"], "spec", "volumes")))


def _refers_to_nothing(given: Any) -> bool:
    try:
        return not dependencies(given["object"], _at(given["object"], "spec", "template"))
    except InterpretError:
        return False


def _cron_refers_to_nothing(given: Any) -> bool:
    template = _at(given["object"], "spec", "template")
    if not isinstance(template, dict | list | str):
        return False  # A script fails on it; in text it finds nothing.
    jobs = [_at(template, name) for name in ("broadcastJobTemplate", "jobTemplate") if _at(template, name) is not None]
    try:
        return not jobs or not dependencies(given["object"], _at(jobs[0], "spec", "template"))
    except InterpretError:
        return False


def _head_asks_for_nothing(given: Any) -> bool:
    cluster = _at(given["object"], "spec", "rayClusterConfig")
    groups = [_at(group, "template") for group in _list(_at(cluster, "workerGroupSpecs"))]
    try:
        head = requirements(_at(cluster, "headGroupSpec", "template"))
        return head is None and any(requirements(group) is not None for group in groups if group is not None)
    except InterpretError:
        return False


def _last_group_gets_less_than_nothing(given: Any) -> bool:
    groups = _list(_at(given["object"], "spec", "rayClusterConfig", "workerGroupSpecs"))
    shares = [_at(group, "replicas") or 0 for group in groups]
    if len(shares) < 2 or not all(isinstance(share, int | float) for share in shares) or not sum(shares):
        return False
    wanted = max(given["replica"] - 1, 0)
    return bool(sum(math.floor(wanted * share / sum(shares) + 0.5) for share in shares[:-1]) > wanted)


def _runs_nowhere(given: Any) -> bool:
    statuses = [_at(status, "serviceStatus") for status in _statuses(given) if status is not None]
    return len(_statuses(given)) != 1 and "" not in statuses and any(one != "Running" for one in statuses or [None])


def _is_below_a_second(given: Any) -> bool:
    return any(re.search(r"[0-9](ms|us|ns)", str(_at(status, "runningDuration"))) for status in _statuses(given))


def _service_account_is_missing(given: Any) -> bool:
    spec = _at(given["object"], "spec")
    return isinstance(spec, dict | list | str) and _at(spec, "serviceAccountName") is None


def _has_observed_generation(given: Any) -> bool:
    return _at(given["object"], "status", "observedGeneration") is not None


def _counts_failures(given: Any) -> bool:
    return any(_at(status, field) is not None for status in _statuses(given) for field in _FAILURES)


def _is_silent(given: Any) -> bool:
    return all(status is None for status in _statuses(given))


_R, _C, _V, _A, _S, _D = (
    "GetReplicas",
    "GetComponents",
    "ReviseReplica",
    "AggregateStatus",
    "ReflectStatus",
    "GetDependencies",
)
_SPARK_TIMES = ("lastSubmissionAttemptTime", "terminationTime")


def _has_empty_times(case: Case) -> bool:
    """The reference writes an empty time because no cluster reports one; its schema refuses that."""
    if case.operation != f"thirdparty.{_A}" or case.input["object"].get("kind") != "SparkApplication":
        return False
    written = any(_at(one, "status", field) == "" for one in case.alternatives for field in _SPARK_TIMES)
    return written and _nobody_reports(*_SPARK_TIMES)(case.input)


def _adds_beyond_doubles(case: Case) -> bool:
    """The sum of doubles, one after the other, is not the nearest to the sum."""
    if case.operation != f"thirdparty.{_A}":
        return False
    reports = [status for status in _statuses(case.input) if isinstance(status, dict)]
    columns = ([report.get(field) for report in reports] for field in {field for report in reports for field in report})
    numbers = ([number for number in column if isinstance(number, int)] for column in columns)
    return any(float(sum(column)) != reduce(add, map(float, column), 0.0) for column in numbers)


def _has_only_empty_terms(case: Case) -> bool:
    """Empty objects come out of scripts as empty lists, and the reference mends only one in a row."""
    if case.operation not in (f"thirdparty.{_R}", f"thirdparty.{_C}") or not _fails(case):
        return False
    lists = (items for name in ("nodeSelectorTerms", "tolerations") for items in values_of(case.input["object"], name))
    return any(isinstance(items, list) and len(items) > 1 and not any(map(_holds, items)) for items in lists)


def _fails(case: Case) -> bool:
    return all("error" in one for one in case.alternatives)


def _holds(tree: Any) -> bool:
    """Whether anything but empty objects and lists is in a tree."""
    if isinstance(tree, dict | list):
        return any(map(_holds, tree.values() if isinstance(tree, dict) else tree))
    return tree is not None


_TABLE = (
    ("a running job takes over the end of the cluster before it", "BroadcastJob", _A, _runs_after_an_end),
    ("the observed generation is dropped", "HelmChart", _S, _has_observed_generation),
    ("failures are added to those added up before", "HelmRelease", _A, _counts_failures),
    ("secrets in volumes are read by a wrong key", "Workflow", _D, _has_secret_volume),
    ("without a service account the rule fails", "OCIRepository", _D, _service_account_is_missing),
    ("a pod that refers to nothing is an error", _SMALL_PODS, _D, _refers_to_nothing),
    ("a pod that refers to nothing is an error", "AdvancedCronJob", _D, _cron_refers_to_nothing),
    ("pods inside its workloads are not seen", "UnitedDeployment", _R, _has_workloads),
    ("pods inside its workloads are not seen", "UnitedDeployment", _D, _has_workloads),
    ("affinity and memory are misread", "FlinkDeployment", _R, _flink_is_misread),
    ("affinity and memory are misread", "FlinkDeployment", _C, _flink_is_misread),
    ("memory in bytes is an error", "SparkApplication", _C, _spark_in_bytes),
    ("what workers need is lost with what the head needs", "RayService", _R, _head_asks_for_nothing),
    ("the last group gets less than nothing", "RayService", _V, _last_group_gets_less_than_nothing),
    ("the service runs although nobody says so", "RayService", _A, _runs_nowhere),
    ("durations below a second count as minutes", "Job", _A, _is_below_a_second),
    ("a hash of zero", "DaemonSet", _A, _nobody_reports("daemonSetHash")),
    ("empty states", "FlinkDeployment", _A, _is_silent),
)
LEFT_OPEN = [
    Excuse(f"{kind if isinstance(kind, str) else 'OpenKruise'}: {reason}", _of(kind, operation, applies))
    for reason, kind, operation, applies in _TABLE
] + [
    Excuse("SparkApplication: empty times", _has_empty_times),
    Excuse("several empty terms or tolerations cannot be read", _has_only_empty_terms),
    Excuse("sums beyond 53 bits are exact here", _adds_beyond_doubles, "$.status"),
]
