"""Of states that clusters report the worst counts, in whatever order they report; and what counts as not reported."""

from itertools import pairwise, product
from typing import Any

import pytest
from tests.interpreter.test_bundled import aggregated, bundled
from tests.interpreter.test_native import items, resource

from karmada.interpreter.facade import native_interpreter
from karmada.interpreter.model import InterpretError

Ranks = list[tuple[str, ...]]
"""States from the best to the worst; those that stand together are as bad."""
RAY_DEPLOYMENT: Ranks = [
    ("Nonsense",),
    ("Initializing",),
    ("Waiting",),
    ("Suspending", "Suspended"),
    ("Retrying",),
    ("Running",),
    ("Complete",),
    ("ValidationFailed",),
    ("Failed",),
]
RAY_JOB: Ranks = [("NONSENSE",), ("PENDING",), ("RUNNING",), ("SUCCEEDED",), ("STOPPED",), ("FAILED",)]
RAY_APPLICATION: Ranks = [
    ("RUNNING",),
    ("NOT_STARTED",),
    ("DEPLOYING",),
    ("DELETING",),
    ("UNHEALTHY",),
    ("DEPLOY_FAILED",),
]
SPARK: Ranks = [
    ("UNKNOWN", ""),
    ("SUBMITTED", "PENDING_RERUN"),
    ("COMPLETED",),
    ("SUSPENDING", "SUSPENDED"),
    ("RUNNING", "RESUMING", "SUCCEEDING"),
    ("INVALIDATING",),
    ("FAILING", "FAILED", "SUBMISSION_FAILED"),
]


def at(path: tuple[str, ...], state: str) -> Any:
    found: Any = state
    for name in reversed(path):
        found = {name: found}
    return found


@pytest.mark.parametrize(
    ("kind", "path", "ranks"),
    [
        ("ray.io/v1/RayJob", ("jobDeploymentStatus",), RAY_DEPLOYMENT),
        ("ray.io/v1/RayJob", ("jobStatus",), RAY_JOB),
        ("ray.io/v1/RayService", ("activeServiceStatus", "applicationStatuses", "a", "status"), RAY_APPLICATION),
        ("sparkoperator.k8s.io/v1beta2/SparkApplication", ("applicationState", "state"), SPARK),
    ],
    ids=["deployments of RayJobs", "RayJobs", "applications of RayServices", "SparkApplications"],
)
async def test_the_worst_state_counts_and_of_equals_the_first(kind: str, path: tuple[str, ...], ranks: Ranks) -> None:
    async def merged(*states: str) -> Any:
        found = await aggregated(kind, *(at(path, state) for state in states))
        for name in path:
            found = found[name]
        return found

    for better, worse in pairwise(ranks):
        for one, other in product(better, worse):
            assert (await merged(one, other), await merged(other, one)) == (other, other)
    for equals in ranks:
        for one, other in product(equals, equals):
            assert await merged(one, other) == one


COUNTED = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
    "Job": "batch/v1",
}


@pytest.mark.parametrize("kind", COUNTED)
async def test_counters_that_nobody_reports_are_zero(kind: str) -> None:
    interpreter = native_interpreter()
    template = resource(COUNTED[kind], kind, spec={})
    observed = resource(COUNTED[kind], kind, spec={}, status={"x": 1})
    observed["metadata"]["annotations"] = {"resourcetemplate.karmada.io/generation": "0"}
    status = (await interpreter.aggregate(template, items({}, {})))["status"]
    for found in (status, await interpreter.reflect(observed) or {}):
        assert not [name for name, value in found.items() if name != "x" and value not in (0, {}, [], None)]
    if COUNTED[kind] == "apps/v1":
        assert await interpreter.healthy(resource(COUNTED[kind], kind, spec={}))


async def test_a_container_that_does_not_say_that_it_is_ready_is_not() -> None:
    pod = resource("v1", "Pod", spec={})
    status = {"phase": "Running", "containerStatuses": [{"state": {"waiting": {}}}, {"ready": True}]}
    found = (await native_interpreter().aggregate(pod, items(status)))["status"]["containerStatuses"]
    assert [(one["ready"], one["state"]) for one in found] == [(False, {"waiting": {}}), (True, {})]


AGGREGATED = {
    **COUNTED,
    "CronJob": "batch/v1",
    "Pod": "v1",
    "Service": "v1",
    "PersistentVolume": "v1",
    "PersistentVolumeClaim": "v1",
    "Ingress": "networking.k8s.io/v1",
}


@pytest.mark.parametrize("kind", AGGREGATED)
async def test_a_template_that_kubernetes_could_not_read_is_not_aggregated(kind: str) -> None:
    for broken in ({"spec": "text"}, {"metadata": {"labels": {"a": 1}}}):
        with pytest.raises(InterpretError):
            await native_interpreter().aggregate(resource(AGGREGATED[kind], kind, **broken), items({}))


async def test_a_pod_is_retained_however_its_whole_numbers_are_spelled() -> None:
    container = {"name": "a", "ports": [{"containerPort": 80.0}]}
    pod = resource("v1", "Pod", spec={"containers": [container]})
    assert (await native_interpreter().retain(pod, pod))["spec"]["containers"] == [container]


async def test_readiness_of_a_policy_that_is_neither_true_nor_false_is_refused() -> None:
    policy = resource("kyverno.io/v1", "ClusterPolicy", status={"ready": "yes"})
    with pytest.raises(InterpretError, match="ready is 'yes'"):
        await bundled().healthy(policy)
