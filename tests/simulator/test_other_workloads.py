"""StatefulSets, DaemonSets, Jobs and CronJobs in a member."""

import pytest
from tests.simulator.conftest import template

from karmada.simulator.spec import MemberSpec, NodePool
from karmada.simulator.workloads.kinds import (
    ATTRIBUTES_CLASSES,
    CLAIMS,
    CRON_JOBS,
    DAEMON_SETS,
    JOBS,
    NODES,
    STATEFUL_SETS,
    VOLUMES,
)


def stateful_set(replicas=3, **spec):
    claims = [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db",
            "selector": {"matchLabels": {"app": "db"}},
            "template": template({"app": "db"}),
            "volumeClaimTemplates": claims,
            **spec,
        },
    }


def job(name="job", command=("true",), policy="Never", **spec):
    container = {"container": {"command": list(command)}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template({}, "busybox", restartPolicy=policy, **container), **spec},
    }


async def ended(actor, name="job"):
    conditions = (await actor.status(JOBS, name)).get("conditions") or []
    return next((c for c in conditions if c["type"] in ("Complete", "Failed")), None)


def test_a_stateful_set_makes_its_pods_in_order_with_bound_claims(act):
    async def scene(actor):
        actor.member.behaviour.ready_seconds = 5
        await actor.create(STATEFUL_SETS, stateful_set())
        await actor.clock.sleep(3)
        assert [p["metadata"]["name"] for p in await actor.pods()] == ["db-0"]
        await actor.clock.sleep(15)
        pods = await actor.pods()
        assert [p["metadata"]["name"] for p in pods] == ["db-0", "db-1", "db-2"]
        assert pods[2]["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "2"
        assert pods[2]["spec"]["hostname"] == "db-2"
        claims = await actor.items(CLAIMS)
        assert [(c["metadata"]["name"], c["status"]["phase"]) for c in claims] == [
            (f"data-db-{number}", "Bound") for number in range(3)
        ]
        assert (await actor.status(STATEFUL_SETS, "db"))["readyReplicas"] == 3

    act(scene)


@pytest.mark.parametrize(
    ("type_", "field"),
    [
        pytest.param(STATEFUL_SETS, "availableReplicas", id="StatefulSet"),
        pytest.param(DAEMON_SETS, "numberAvailable", id="DaemonSet"),
    ],
)
def test_pods_are_available_after_being_ready_for_a_while(act, type_, field):
    async def scene(actor):
        tree = stateful_set(minReadySeconds=20)
        if type_ == DAEMON_SETS:
            kept = {name: tree["spec"][name] for name in ("selector", "template", "minReadySeconds")}
            tree |= {"kind": "DaemonSet", "spec": kept}
        await actor.create(type_, tree)
        await actor.clock.sleep(10)
        assert not (await actor.status(type_, "db")).get(field)

        async def available():
            return (await actor.status(type_, "db")).get(field) == 3

        await actor.until(available, 80)

    act(scene)


def test_a_partition_holds_back_the_update(act):
    async def scene(actor):
        rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
        await actor.create(STATEFUL_SETS, stateful_set(updateStrategy=rolling))
        await actor.clock.sleep(5)
        await actor.patch(STATEFUL_SETS, "db", {"spec": {"template": template({"app": "db"}, "nginx:2")}})
        await actor.clock.sleep(5)
        assert [p["spec"]["containers"][0]["image"] for p in await actor.pods()] == ["nginx:1", "nginx:1", "nginx:2"]
        status = await actor.status(STATEFUL_SETS, "db")
        assert status["updatedReplicas"] == 1
        assert status["currentRevision"] != status["updateRevision"]
        await actor.patch(STATEFUL_SETS, "db", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
        await actor.clock.sleep(10)
        status = await actor.status(STATEFUL_SETS, "db")
        assert (status["updatedReplicas"], status["currentRevision"]) == (3, status["updateRevision"])

    act(scene)


def test_a_stateful_set_shrinks_from_the_end_and_keeps_its_claims(act):
    async def scene(actor):
        await actor.create(STATEFUL_SETS, stateful_set())
        await actor.clock.sleep(5)
        await actor.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 1}})
        await actor.clock.sleep(5)
        assert [p["metadata"]["name"] for p in await actor.pods()] == ["db-0"]
        assert len(await actor.items(CLAIMS)) == 3
        await actor.delete(CLAIMS, "data-db-2")
        await actor.clock.sleep(2)
        assert len(await actor.items(VOLUMES)) == 2

    act(scene)


def test_a_claim_in_use_is_not_deleted(act):
    async def scene(actor):
        await actor.create(STATEFUL_SETS, stateful_set(1))
        await actor.clock.sleep(5)
        await actor.delete(CLAIMS, "data-db-0")
        await actor.clock.sleep(5)
        assert "deletionTimestamp" in (await actor.get(CLAIMS, "data-db-0"))["metadata"]
        await actor.delete(STATEFUL_SETS, "db")
        await actor.clock.sleep(5)
        assert await actor.items(CLAIMS) == []

    act(scene)


def test_an_attributes_class_goes_when_nothing_names_it_any_more(act):
    async def scene(actor):
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "volumeAttributesClassName": "fast",
            },
        }
        for name in ("fast", "slow"):
            await actor.create(
                ATTRIBUTES_CLASSES, {"metadata": {"name": name}, "driverName": "d", "parameters": {"a": "b"}}
            )
        await actor.create(CLAIMS, claim)
        await actor.clock.sleep(1)
        for name in ("fast", "slow"):
            await actor.delete(ATTRIBUTES_CLASSES, name, "")
        await actor.clock.sleep(1)
        assert [c["metadata"]["name"] for c in await actor.items(ATTRIBUTES_CLASSES)] == ["fast"]
        await actor.delete(CLAIMS, "data")
        await actor.clock.sleep(1)
        assert await actor.items(ATTRIBUTES_CLASSES) == []

    act(scene)


def test_a_daemon_set_follows_the_nodes(act):
    async def scene(actor):
        body = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": template({"app": "a"})},
        }
        await actor.create(DAEMON_SETS, body)
        await actor.clock.sleep(2)
        status = await actor.status(DAEMON_SETS, "agent")
        assert (status["desiredNumberScheduled"], status["numberAvailable"]) == (3, 3)
        await actor.delete(NODES, "m-node-3", "")
        await actor.clock.sleep(2)
        assert (await actor.status(DAEMON_SETS, "agent"))["desiredNumberScheduled"] == 2
        await actor.patch(DAEMON_SETS, "agent", {"spec": {"template": template({"app": "a"}, "nginx:2")}})
        await actor.clock.sleep(5)
        assert {p["spec"]["containers"][0]["image"] for p in await actor.pods()} == {"nginx:2"}

    act(scene)


def test_a_job_runs_to_completion_with_the_asked_parallelism(act):
    async def scene(actor):
        await actor.create(JOBS, job(command=("sleep", "5"), completions=4, parallelism=2))
        most = 0

        async def done():
            nonlocal most
            most = max(most, (await actor.status(JOBS, "job")).get("active", 0))
            return await ended(actor)

        assert (await actor.until(done))["type"] == "Complete"
        assert most == 2
        status = await actor.status(JOBS, "job")
        assert (status["succeeded"], status.get("failed", 0)) == (4, 0)
        assert "completionTime" in status

    act(scene)


def test_an_indexed_job_completes_every_index(act):
    async def scene(actor):
        await actor.create(JOBS, job(completions=3, parallelism=3, completionMode="Indexed"))
        await actor.until(lambda: ended(actor))
        assert (await actor.status(JOBS, "job"))["completedIndexes"] == "0-2"
        assert {p["spec"]["hostname"] for p in await actor.pods()} == {"job-0", "job-1", "job-2"}

    act(scene)


def test_a_failing_job_gives_up_after_its_backoff_limit(act):
    async def scene(actor):
        await actor.create(JOBS, job(command=("sh", "-c", "exit 3"), backoffLimit=2))
        condition = await actor.until(lambda: ended(actor), 200)
        assert (condition["type"], condition["reason"]) == ("Failed", "BackoffLimitExceeded")
        assert (await actor.status(JOBS, "job"))["failed"] == 3
        assert actor.clock.monotonic() >= 30

    act(scene)


def test_a_job_that_takes_too_long_is_stopped(act):
    async def scene(actor):
        await actor.create(JOBS, job(command=("sleep", "1000"), activeDeadlineSeconds=20))
        condition = await actor.until(lambda: ended(actor))
        assert condition["reason"] == "DeadlineExceeded"
        await actor.clock.sleep(2)
        assert await actor.pods() == []

    act(scene)


def test_a_job_that_only_pauses_runs_until_it_is_deleted(act):
    async def scene(actor):
        idle = job(command=())
        idle["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.test/pause:3"
        await actor.create(JOBS, idle)
        await actor.clock.sleep(600)
        assert [pod["status"]["phase"] for pod in await actor.pods()] == ["Running"]
        assert (await actor.status(JOBS, "job"))["active"] == 1

    act(scene)


def test_a_finished_job_goes_when_its_time_is_over(act):
    async def scene(actor):
        await actor.create(JOBS, job(ttlSecondsAfterFinished=30))
        await actor.until(lambda: ended(actor))
        await actor.clock.sleep(20)
        assert await actor.exists(JOBS, "job")
        await actor.clock.sleep(20)
        assert not await actor.exists(JOBS, "job")
        assert await actor.pods() == []

    act(scene)


def test_a_cron_job_starts_a_job_every_minute_and_keeps_three(act):
    async def scene(actor):
        body = {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "tick", "namespace": "default"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": job()["spec"]}},
        }
        await actor.create(CRON_JOBS, body)
        await actor.clock.sleep(6 * 60)
        jobs = await actor.items(JOBS)
        assert len(jobs) == 3
        assert all(one["status"]["succeeded"] == 1 for one in jobs)
        assert "lastSuccessfulTime" in await actor.status(CRON_JOBS, "tick")

    act(scene, MemberSpec("m", node_pools=(NodePool(count=1),)))


def test_a_suspended_job_waits_and_a_resumed_one_runs(act):
    async def scene(actor):
        await actor.create(JOBS, job(suspend=True))
        await actor.clock.sleep(5)
        status = await actor.status(JOBS, "job")
        assert [(c["type"], c["status"]) for c in status["conditions"]] == [("Suspended", "True")]
        assert await actor.pods() == []
        await actor.patch(JOBS, "job", {"spec": {"suspend": False}})
        assert (await actor.until(lambda: ended(actor)))["type"] == "Complete"

    act(scene)
