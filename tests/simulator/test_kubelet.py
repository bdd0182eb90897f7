"""What becomes of containers: readiness, crashes, images that are missing, nodes that die."""

from math import inf

import pytest
from tests.simulator.conftest import deployment, template

from karmada.simulator.behaviour import Fate, ImageRule
from karmada.simulator.workloads.containers import Course, Life
from karmada.simulator.workloads.kinds import DEPLOYMENTS, LEASES, NODES, PODS


def pod(image="nginx", **spec):
    made = template({"app": "x"}, image, **spec)
    return {"apiVersion": "v1", "kind": "Pod", **made, "metadata": {"name": "p", "namespace": "default"}}


async def container(actor):
    return (await actor.status(PODS, "p"))["containerStatuses"][0]


def test_a_container_is_ready_after_its_time(act):
    async def scene(actor):
        actor.member.behaviour.set_rule(ImageRule("*slow*", seconds=10))
        await actor.create(PODS, pod("slow:1"))
        await actor.clock.sleep(5)
        status = await actor.status(PODS, "p")
        assert (status["phase"], status["containerStatuses"][0]["ready"]) == ("Running", False)
        ready = next(c for c in status["conditions"] if c["type"] == "Ready")
        assert (ready["status"], ready["reason"]) == ("False", "ContainersNotReady")
        assert ready["message"] == "containers with unready status: [c]"
        await actor.clock.sleep(6)
        assert (await container(actor))["ready"]

    act(scene)


def test_a_crashing_container_is_restarted_with_growing_pauses(act):
    async def scene(actor):
        await actor.create(PODS, pod("crash:1"))
        await actor.clock.sleep(2)
        status = await container(actor)
        assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        assert status["lastState"]["terminated"]["exitCode"] == 1
        counts = []
        for _ in range(5):
            counts.append((await container(actor))["restartCount"])
            await actor.clock.sleep(30)
        assert counts == sorted(counts)
        assert 3 <= counts[-1] <= 5
        actor.member.behaviour.drop_rule("*crash*")
        await actor.clock.sleep(200)
        assert (await container(actor))["ready"]

    act(scene)


def test_a_container_that_ends_at_once_waits_between_its_restarts():
    course, life = Course(ready_after=inf, ends_after=0.0, code=1), Life()
    seen = []
    now = 0.0
    for _ in range(4):
        life.advance(course, "Always", now)
        seen.append((now, life.state, life.reason, life.restarts))
        now += life.wakes(course, "Always", now)
    assert seen == [
        (0.0, "waiting", "CrashLoopBackOff", 1),
        (10.0, "waiting", "CrashLoopBackOff", 2),
        (30.0, "waiting", "CrashLoopBackOff", 3),
        (70.0, "waiting", "CrashLoopBackOff", 4),
    ]


def test_a_missing_image_is_not_pulled_until_it_is_there(act):
    async def scene(actor):
        await actor.create(PODS, pod("missing:1"))
        await actor.clock.sleep(2)
        assert (await actor.status(PODS, "p"))["phase"] == "Pending"
        assert (await container(actor))["state"]["waiting"]["reason"] == "ImagePullBackOff"
        actor.member.behaviour.drop_rule("*missing*")
        await actor.clock.sleep(2)
        assert (await container(actor))["ready"]

    act(scene)


@pytest.mark.parametrize(
    ("command", "policy", "phase"),
    [
        pytest.param(["true"], "Never", "Succeeded", id="success"),
        pytest.param(["sh", "-c", "exit 2"], "Never", "Failed", id="failure"),
        pytest.param(["sleep", "infinity"], "Never", "Running", id="endless"),
        pytest.param(["sh", "-c", "exit 2"], "OnFailure", "Running", id="tried again"),
        pytest.param(["/bin/my-server", "--port", "80"], "Always", "Running", id="somebody's own program"),
    ],
)
def test_the_command_decides_how_a_pod_ends(act, command, policy, phase):
    async def scene(actor):
        await actor.create(PODS, pod("busybox", restartPolicy=policy, container={"command": command}))
        await actor.clock.sleep(3)
        assert (await actor.status(PODS, "p"))["phase"] == phase

    act(scene)


def test_a_deleted_pod_goes_at_once(act):
    async def scene(actor):
        await actor.create(PODS, pod())
        await actor.clock.sleep(1)
        await actor.delete(PODS, "p")
        await actor.clock.sleep(1)
        assert not await actor.exists(PODS, "p")

    act(scene)


@pytest.mark.parametrize(
    ("at_first", "later", "fails_after"),
    [
        pytest.param(20, None, 20, id="from the start"),
        pytest.param(None, 20, 20, id="set while it runs"),
        pytest.param(60, 20, 20, id="lowered while it runs"),
        pytest.param(60, 2, 5, id="lowered to less than it ran already"),
    ],
)
def test_a_pod_fails_that_was_active_for_longer_than_it_may(act, at_first, later, fails_after):
    async def scene(actor):
        deadline = {"activeDeadlineSeconds": at_first} if at_first else {}
        begun = actor.clock.monotonic()
        await actor.create(PODS, pod(**deadline))
        await actor.clock.sleep(5)
        if later:
            await actor.patch(PODS, "p", {"spec": {"activeDeadlineSeconds": later}})

        async def failed():
            status = await actor.status(PODS, "p")
            return status if status["phase"] == "Failed" else None

        status = await actor.until(failed)
        assert actor.clock.monotonic() - begun == pytest.approx(fails_after, abs=1)
        assert status["reason"] == "DeadlineExceeded"
        assert status["message"] == "Pod was active on the node longer than the specified deadline"
        assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137
        assert "True" not in {c["status"] for c in status["conditions"] if c["type"].endswith("Ready")}

    act(scene)


def test_pods_leave_a_node_that_died_and_run_elsewhere(act):
    async def scene(actor):
        await actor.create(DEPLOYMENTS, deployment(replicas=3))
        await actor.available("web", 3)
        actor.member.set_node_down("m-node-1")
        await actor.clock.sleep(60)
        node = await actor.get(NODES, "m-node-1", "")
        ready = next(c for c in node["status"]["conditions"] if c["type"] == "Ready")
        assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
        assert {t["key"] for t in node["spec"]["taints"]} == {"node.kubernetes.io/unreachable"}
        await actor.clock.sleep(300)
        active = [p for p in await actor.pods() if "deletionTimestamp" not in p["metadata"]]
        assert len(active) == 3
        assert "m-node-1" not in {p["spec"]["nodeName"] for p in active}
        actor.member.set_node_down("m-node-1", down=False)
        await actor.clock.sleep(5)
        node = await actor.get(NODES, "m-node-1", "")
        assert not node["spec"].get("taints")
        assert all("deletionTimestamp" not in p["metadata"] for p in await actor.pods())

    act(scene)


def test_nodes_renew_their_leases(act):
    async def scene(actor):
        await actor.clock.sleep(15)
        before = {one["metadata"]["name"]: one["spec"]["renewTime"] for one in await actor.items(LEASES)}
        assert set(before) == {"m-node-1", "m-node-2", "m-node-3"}
        await actor.clock.sleep(12)
        after = {one["metadata"]["name"]: one["spec"]["renewTime"] for one in await actor.items(LEASES)}
        assert all(after[name] > before[name] for name in before)

    act(scene)


def test_the_first_rule_that_matches_decides():
    from karmada.simulator.behaviour import Behaviour

    behaviour = Behaviour()
    behaviour.set_rule(ImageRule("*broken*", Fate.CRASH))
    assert behaviour.of("registry/broken:1").fate is Fate.CRASH
    assert behaviour.of("registry/fine:1").fate is Fate.READY
