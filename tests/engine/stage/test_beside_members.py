"""Members whose workloads live, and the programs beside them: an agent in pull mode, an estimator, a descheduler."""

from pathlib import Path
from typing import Any

from tests.engine.world import deployment
from tests.federation.conftest import Federation
from tests.scheduler.facts import binding, cluster

from karmada.machinery.client import Client
from karmada.machinery.resource import Scope
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.estimators.accurate import GrpcEstimator
from karmada.scheduler.estimators.connections import Connections, EstimatorAddress
from karmada.testing.stage.daemon import free_port
from karmada.testing.stage.federation import Stage, eventually

from .conftest import BINDINGS, DEPLOYMENTS, POLICIES, PULLED
from .test_faults import PATIENCE, arrive, holder, policy


async def test_the_status_of_a_deployment_comes_back_from_all_members(federation: Federation) -> None:
    await federation.hub.resource(POLICIES).create(policy())
    await federation.hub.resource(DEPLOYMENTS).create(deployment("everywhere", 2))

    async def healthy() -> bool:
        template = await federation.hub.resource(DEPLOYMENTS).get("everywhere", "default")
        bound = await federation.hub.resource(BINDINGS).get("everywhere-deployment", "default")
        health = [item["health"] for item in bound["status"]["aggregatedStatus"]]
        return bool(template["status"]["readyReplicas"] == 6 and health == ["Healthy"] * 3)

    await eventually(healthy, PATIENCE)


async def test_an_agent_keeps_its_member_in_pull_mode(
    stage: Stage, federation: Federation, members: dict[str, Client]
) -> None:
    pulled = {PULLED: members[PULLED]}
    await federation.hub.resource(POLICIES).create(policy(PULLED))
    await federation.hub.resource(DEPLOYMENTS).create(deployment("pulled", 2))
    await arrive(pulled, "pulled")

    async def back() -> bool:
        template: dict[str, Any] = await federation.hub.resource(DEPLOYMENTS).get("pulled", "default")
        return bool(template["status"]["readyReplicas"] == 2)

    await eventually(back, PATIENCE)
    await federation.hub.resource(DEPLOYMENTS).delete("pulled", "default")

    async def gone() -> bool:
        return not (await members[PULLED].resource(DEPLOYMENTS).list(Scope("default"))).items

    await eventually(gone, PATIENCE)


async def test_an_estimator_counts_what_fits_into_a_stock_member(stage: Stage) -> None:
    port = free_port()
    await stage.start_beside("karmada-scheduler-estimator", "member1", f"--server-port={port}")
    connections = Connections(EstimatorAddress(), 5.0, lambda name: f"127.0.0.1:{port}")
    estimator = GrpcEstimator(connections)
    subject = binding(3, replicaRequirements={"resourceRequest": {"cpu": "2", "memory": "1Gi"}})

    async def estimated() -> bool:
        found = await estimator.estimate(Snapshot([cluster("member1")]), subject, ["member1"], False)
        # Two nodes of eight cores.
        return found == {"member1": 8}

    try:
        await eventually(estimated, PATIENCE)
    finally:
        await connections.close()


async def test_a_descheduler_leads_and_is_healthy(stage: Stage, tmp_path: Path) -> None:
    descheduler = await stage.start("karmada-descheduler")
    await eventually(lambda: holder(stage, "karmada-descheduler"), PATIENCE)
    assert "Traceback" not in descheduler.said
