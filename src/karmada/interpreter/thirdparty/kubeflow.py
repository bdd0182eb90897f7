"""Kubeflow: TFJob, PyTorchJob, MPIJob and Notebook."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from karmada.api.config.v1alpha1 import DependentObjectReference
from karmada.api.work.v1alpha2 import Component
from karmada.interpreter.model import JSONObject, KindRules, ReplicaNeeds
from karmada.interpreter.thirdparty import merge, pods, rules
from karmada.interpreter.thirdparty.merge import Aggregate, Reports, Rule, aggregation, earliest, filled, latest
from karmada.interpreter.thirdparty.rules import is_condition
from karmada.interpreter.thirdparty.values import Table, before, entries, fields, find, get, given, number, same

_COUNTS = ("active", "failed", "succeeded")
_TF_ROLES = ("PS", "Worker", "Chief", "Master", "Evaluator")
_PYTORCH_ROLES = ("Master", "Worker")
_CRASHED = ("Error", "OOMKilled", "ContainerCannotRun")


def _components(field: str, roles: Sequence[str]) -> Callable[[JSONObject], tuple[Component, ...]]:
    """One part per role, named in lower case."""

    def rule(resource: JSONObject) -> tuple[Component, ...]:
        specs = {role: find(resource, "spec", field, role) for role in roles}
        return tuple(
            pods.part(role.lower(), pods.count(get(spec, "replicas"), 1), get(spec, "template"))
            for role, spec in specs.items()
            if spec is not None
        )

    return rule


def _dependencies(field: str, roles: Sequence[str]) -> Callable[[JSONObject], Sequence[DependentObjectReference]]:
    """What the pods of all roles refer to."""

    def rule(resource: JSONObject) -> Sequence[DependentObjectReference]:
        templates = [find(resource, "spec", field, role, "template") for role in roles]
        known = [template for template in templates if template is not None]
        return pods.dependencies(resource, *known) if known else ()

    return rule


def _has_not_failed(observed: JSONObject) -> bool:
    """It has conditions, none of which says that it failed."""
    conditions = find(observed, "status", "conditions")
    return conditions is not None and not any(is_condition(one, "Failed") for one in entries(conditions))


def _replica_counts(roles: Sequence[str]) -> Rule:
    """Pods by role and state."""

    def rule(reports: Reports, field: str) -> Any:
        return {role: _role_counts([get(value, role) for value in reports.values(field)]) for role in roles}

    return rule


def _role_counts(parts: Sequence[Any]) -> JSONObject:
    known = [part for part in parts if part is not None]
    return {count: sum(number(given(get(part, count), 0)) for part in known) for count in _COUNTS}


def _ended(reports: Reports, end: Callable[[Any], str]) -> tuple[list[str], bool]:
    """The clusters in which the job failed, and whether it succeeded in all."""
    ends = [end(find(member.status, "conditions")) for member in reports.members]
    failed = [member.cluster for member, one in zip(reports.members, ends, strict=True) if one == "Failed"]
    return failed, bool(ends) and all(one == "Succeeded" for one in ends)


def _tf_end(conditions: Any) -> str:
    """The last end that is true counts."""
    ends = ("Succeeded", "Failed")
    true = [get(one, "type") for one in entries(conditions) if any(is_condition(one, end) for end in ends)]
    return true[-1] if true else ""


def _pytorch_end(conditions: Any) -> str:
    """A failure counts, whatever else is true."""
    true = [end for end in ("Failed", "Succeeded") if any(is_condition(one, end) for one in entries(conditions))]
    return true[0] if true else ""


def _condition(type_: str, reason: str, message: str, status: str = "True", **times: Any) -> JSONObject:
    return {"type": type_, "status": status, "reason": reason, "message": message, **times}


def _tf_conditions(now: Callable[[], str]) -> Rule:
    def rule(reports: Reports, field: str) -> Any:
        failed, succeeded = _ended(reports, _tf_end)
        times = dict.fromkeys(("lastProbeTime", "lastTransitionTime"), now())
        if failed:
            message = f"TFJob executed failed in member clusters: {', '.join(failed)}"
            return [_condition("Failed", "TFJobFailed", message, **times)]
        return [_condition("Succeeded", "Completed", "TFJob completed successfully", **times)] if succeeded else []

    return rule


def _pytorch_conditions(reports: Reports, field: str) -> Any:
    failed, succeeded = _ended(reports, _pytorch_end)
    all_of_them = [condition for value in reports.values(field) for condition in entries(value)]
    started, completed = earliest(reports, "startTime"), latest(reports, "completionTime")
    found = []
    if any(is_condition(condition, "Created") for condition in all_of_them):
        found.append(_condition("Created", "PyTorchJobCreated", "PyTorchJob is created.", **_times(started, started)))
    running = [condition for condition in all_of_them if get(condition, "type") == "Running"]
    if running:
        times = _times(get(running[-1], "lastUpdateTime"), get(running[-1], "lastTransitionTime"))
        status = "False" if failed or succeeded else "True"
        found.append(_condition("Running", "PyTorchJobRunning", "PyTorchJob is running.", status, **times))
    if failed:
        message = f"PyTorchJob executed failed in member clusters: {', '.join(failed)}"
        found.append(_condition("Failed", "PyTorchJobFailed", message, **_times(completed, completed)))
    elif succeeded:
        message = "PyTorchJob is successfully completed."
        found.append(_condition("Succeeded", "PyTorchJobSucceeded", message, **_times(completed, completed)))
    return found


def _times(updated: Any, transition: Any) -> JSONObject:
    times = {"lastUpdateTime": updated, "lastTransitionTime": transition}
    return {name: time for name, time in times.items() if time is not None}


def _completed(end: Callable[[Any], str]) -> Rule:
    """When the last cluster had completed, once all have succeeded."""

    def rule(reports: Reports, field: str) -> Any:
        value = latest(reports, field)
        return value if _ended(reports, end)[1] else reports.present.get(field)

    return rule


def _training(conditions: Rule, roles: Sequence[str], end: Callable[[Any], str]) -> Aggregate:
    table: Mapping[str, Rule] = {
        "startTime": earliest,
        "completionTime": _completed(end),
        "lastReconcileTime": latest,
        "replicaStatuses": _replica_counts(roles),
        "conditions": conditions,
    }
    return aggregation(table, finish=lambda status: filled(status, zeros=False))


def _mpi_components(resource: JSONObject) -> tuple[Component, ...]:
    """One part per role that has a template; workers are counted only where their number is given."""
    specs = fields(find(resource, "spec", "mpiReplicaSpecs"))
    return tuple(
        pods.part(role, pods.count(get(spec, "replicas"), 0 if str(role).lower() == "worker" else 1), spec["template"])
        for role, spec in specs.items()
        if get(spec, "template") is not None
    )


def _mpi_counts(reports: Reports, field: str) -> Any:
    parts: dict[Any, list[Any]] = {}
    for value in reports.values(field):
        for role, part in fields(value).items():
            parts.setdefault(role, []).append(part)
    return {role: _role_counts(known) for role, known in parts.items()}


def _mpi_conditions(reports: Reports, field: str) -> Any:
    """Of each type the one that changed last; those without a time do not count."""
    found = Table()
    for condition in merge.joined(reports, field):
        time = given(get(condition, "lastUpdateTime"), get(condition, "lastTransitionTime"))
        if time is None or time == "":
            continue
        type_ = get(condition, "type")
        known = found.get(type_)
        if known is None or before(known[0], time):
            found.set(type_, (time, condition))
    return [condition for _, condition in found.values()]


def _mpi_aggregate(template: JSONObject, items: Any) -> JSONObject:
    return _merge_mpi(template, items) if items else template


_merge_mpi = aggregation(
    {
        "replicaStatuses": _mpi_counts,
        "conditions": _mpi_conditions,
        "startTime": merge.earliest_filled,
        "completionTime": merge.latest_filled,
        "lastReconcileTime": merge.latest_filled,
    },
    fresh=True,
    alone=True,
    finish=lambda status: filled(status, zeros=True) or {},
)


def _mpi_reflect(observed: JSONObject) -> JSONObject:
    reported = rules.reflect("startTime", "completionTime", "lastReconcileTime")(observed)
    status = observed.get("status")
    if status is None:
        return reported
    conditions = get(status, "conditions")
    counts = {
        role: {name: value for name in (*_COUNTS, "selector") if (value := get(part, name)) is not None}
        for role, part in fields(get(status, "replicaStatuses")).items()
    }
    return {**reported, "replicaStatuses": counts, "conditions": conditions if isinstance(conditions, list) else []}


def _mpi_is_healthy(observed: JSONObject) -> bool:
    return bool(entries(find(observed, "status", "conditions"))) and _has_not_failed(observed)


def _notebook_is_healthy(observed: JSONObject) -> bool:
    state = find(observed, "status", "containerState")
    if state is None:
        return False
    if get(state, "running") is not None:
        return True
    waiting, terminated = get(state, "waiting"), get(state, "terminated")
    if waiting is not None:
        return bool(get(waiting, "reason") == "ContainerCreating")
    if terminated is None:
        return False
    return get(terminated, "reason") not in _CRASHED and same(given(get(terminated, "exitCode"), 0), 0)


def _has_stopped(state: Any) -> bool:
    return state is None or state in ({}, []) or any(get(state, end) is not None for end in ("terminated", "waiting"))


def _notebook_state(reports: Reports, field: str) -> Any:
    """That of the last cluster in which it does not run, else since when it runs in all."""
    states = [get(status, field) for status in reports.statuses()]
    stopped = [state for state in states if _has_stopped(state)]
    if stopped:
        return stopped[-1] or {"waiting": {"reason": "Unschedulable"}}
    running = [started for state in states if (started := get(state, "running")) is not None]
    if not running:
        return None
    found = None
    for started in (get(one, "startedAt") for one in running):
        found = started if found is None or (started is not None and before(found, started)) else found
    return {"running": {} if found is None else {"startedAt": found}}


def _notebook_conditions(now: Callable[[], str]) -> Rule:
    def rule(reports: Reports, field: str) -> Any:
        states = [(member.cluster, find(member.status, "containerState")) for member in reports.members]
        silent = {member.cluster for member in reports.members if member.status is None}
        stopped = [cluster for cluster, state in states if cluster not in silent and _has_stopped(state)]
        times = dict.fromkeys(("lastProbeTime", "lastTransitionTime"), now())
        if stopped:
            message = f"Notebook executed failed in member clusters: {', '.join(stopped)}"
            return [_condition("Failed", "NotebookFailed", message, **times)]
        if states and all(find(state, "running") is not None for _, state in states):
            return [_condition("Ready", "Ready", "All notebooks are ready", **times)]
        return []

    return rule


def _notebook_reflect(observed: JSONObject) -> JSONObject:
    status = observed.get("status")
    if status is None:
        return {}
    conditions = get(status, "conditions")
    return {
        "readyReplicas": given(get(status, "readyReplicas"), 0),
        "containerState": given(get(status, "containerState"), {}),
        "conditions": conditions if isinstance(conditions, list | dict) else [],
    }


def tf_job(now: Callable[[], str]) -> KindRules:
    return KindRules(
        components=_components("tfReplicaSpecs", _TF_ROLES),
        aggregate=_training(_tf_conditions(now), _TF_ROLES, _tf_end),
        health=_has_not_failed,
        dependencies=_dependencies("tfReplicaSpecs", _TF_ROLES),
    )


def notebook(now: Callable[[], str]) -> KindRules:
    table = {
        "readyReplicas": merge.loose_total,
        "containerState": _notebook_state,
        "conditions": _notebook_conditions(now),
    }
    return KindRules(
        replicas=lambda resource: ReplicaNeeds(1, pods.requirements(get(resource, "spec", "template"))),
        reflect=_notebook_reflect,
        aggregate=aggregation(table, fresh=True, alone=True),
        health=_notebook_is_healthy,
    )


_merge_pytorch = _training(_pytorch_conditions, _PYTORCH_ROLES, _pytorch_end)
_OF_RUNS = ("startTime", "completionTime", "replicaStatuses", "conditions")


def _pytorch_aggregate(template: JSONObject, items: Any) -> JSONObject:
    """A job that is in no cluster has neither times nor conditions."""
    if items:
        return _merge_pytorch(template, items)
    present = fields(template.get("status"))
    return {**template, "status": {field: value for field, value in present.items() if field not in _OF_RUNS}}


PYTORCH_JOB = KindRules(
    components=_components("pytorchReplicaSpecs", _PYTORCH_ROLES),
    aggregate=_pytorch_aggregate,
    health=_has_not_failed,
    dependencies=_dependencies("pytorchReplicaSpecs", _PYTORCH_ROLES),
)
MPI_JOB = KindRules(components=_mpi_components, reflect=_mpi_reflect, aggregate=_mpi_aggregate, health=_mpi_is_healthy)
