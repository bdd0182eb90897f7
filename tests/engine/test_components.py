"""Components as processes of their own, beside an API server they reach over HTTPS."""

import signal
from typing import Any

from karmada.machinery.transport import GroupVersionResource

from .world import (
    BINDINGS,
    DEPLOYMENTS,
    POLICIES,
    POLICY,
    QUICK,
    SHORT_LEASE,
    Counting,
    Engine,
    deployment,
    eventually,
)

RESCHEDULING = GroupVersionResource("config.karmada.io", "v1alpha1", "replicaschedulingpolicies")


async def arrived(engine: Engine, name: str) -> bool:
    """Whether a Deployment is in all members and its binding says so."""
    for member in engine.members.values():
        await member.resource(DEPLOYMENTS).get(name, "default")
    binding = await engine.hub.resource(BINDINGS).get(f"{name}-deployment", "default")
    conditions = {item["type"]: item["status"] for item in binding["status"]["conditions"]}
    return conditions.get("FullyApplied") == "True"


async def test_a_deployment_travels_and_comes_back(engine: Engine) -> None:
    await engine.start("controller_manager", *QUICK)
    await engine.start("scheduler")
    await engine.ready()
    await engine.hub.resource(POLICIES).create(POLICY)
    await engine.hub.resource(DEPLOYMENTS).create(deployment("nginx"))
    await eventually(lambda: arrived(engine, "nginx"))

    for member in engine.members.values():
        status = {"replicas": 2, "readyReplicas": 2, "updatedReplicas": 2, "availableReplicas": 2}
        status["observedGeneration"] = 1
        await member.resource(DEPLOYMENTS).patch("nginx", {"status": status}, "default", subresource="status")

    async def back() -> bool:
        template = await engine.hub.resource(DEPLOYMENTS).get("nginx", "default")
        return bool(template["status"]["readyReplicas"] == 4)

    await eventually(back)

    await engine.hub.resource(DEPLOYMENTS).delete("nginx", "default")
    for member in engine.members.values():

        async def gone(member: Any = member) -> bool:
            return not (await member.resource(DEPLOYMENTS).list()).items

        await eventually(gone)


async def test_health_is_served_while_waiting_for_the_lease(engine: Engine) -> None:
    first = await engine.start("controller_manager", *SHORT_LEASE)
    await eventually(lambda: engine.holder("karmada-controller-manager"))
    second = await engine.start("controller_manager", *SHORT_LEASE)
    for program in (first, second):
        for path in ("/healthz", "/readyz", "/metrics"):
            await program.page(path)


async def test_a_leader_that_is_asked_to_end_hands_over_at_once(engine: Engine) -> None:
    first = await engine.start("controller_manager")
    before = await eventually(lambda: engine.holder("karmada-controller-manager"))
    await engine.start("controller_manager", "--leader-elect-retry-period=100ms")
    assert await first.end() == 0
    assert "Traceback" not in first.output

    async def another() -> bool:
        return await engine.holder("karmada-controller-manager") not in ("", before)

    # The default lease lasts longer than this: without a hand-over there would be no other holder yet.
    await eventually(another, patience=10)


async def test_another_takes_over_from_a_killed_leader_and_repeats_nothing(engine: Engine) -> None:
    flags = (*QUICK, *SHORT_LEASE)
    leader = await engine.start("controller_manager", *flags)
    before = await eventually(lambda: engine.holder("karmada-controller-manager"))
    await engine.start("controller_manager", *flags)
    await engine.start("scheduler")
    await engine.ready()
    await engine.hub.resource(POLICIES).create(POLICY)
    member = engine.members["member1"]
    async with Counting(member, DEPLOYMENTS) as counting:
        names = [f"app-{number}" for number in range(20)]
        for name in names[:10]:
            await engine.hub.resource(DEPLOYMENTS).create(deployment(name))
        await eventually(lambda: member.resource(DEPLOYMENTS).get("app-0", "default"))
        await leader.end(signal.SIGKILL)
        for name in names[10:]:
            await engine.hub.resource(DEPLOYMENTS).create(deployment(name))
        for name in names:
            await eventually(lambda name=name: arrived(engine, name))
        assert await engine.holder("karmada-controller-manager") != before
        assert counting.seen == {("ADDED", f"default/{name}"): 1 for name in names}


async def test_components_outlive_their_api_server(engine: Engine) -> None:
    manager = await engine.start("controller_manager", *QUICK)
    scheduler = await engine.start("scheduler")
    await engine.ready()
    await engine.hub.resource(POLICIES).create(POLICY)
    await engine.hub.resource(DEPLOYMENTS).create(deployment("before"))
    await eventually(lambda: arrived(engine, "before"))
    async with Counting(engine.members["member1"], DEPLOYMENTS) as counting:
        await engine.restart_server()
        await engine.hub.resource(DEPLOYMENTS).create(deployment("after"))
        await eventually(lambda: arrived(engine, "after"))
        assert counting.seen == {("ADDED", "default/after"): 1}
    assert manager.process.returncode is None
    assert scheduler.process.returncode is None


async def test_the_descheduler_obeys_policies_with_the_rights_it_is_installed_with(engine: Engine) -> None:
    spec = {"reschedulePolicy": {"enabled": True, "interval": "1s", "threshold": {"cpuUtilization": 80}}}
    await engine.hub.resource(RESCHEDULING).create({"metadata": {"name": "all"}, "spec": spec})
    await engine.start("descheduler")

    async def looked() -> bool:
        found = await engine.hub.resource(RESCHEDULING).get("all")
        return bool(found["status"]["lastEvaluationTime"])

    await eventually(looked)
