"""Members whose workloads live, and the programs beside them: an agent in pull mode, an estimator, a descheduler."""

from typing import Any

import pytest
from tests.engine.world import deployment
from tests.federation.conftest import Federation
from tests.scheduler.facts import binding, cluster

from karmada.api import names
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden
from karmada.machinery.http.kubeconfig import load as load_kubeconfig
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.resource import Scope
from karmada.membership import objects
from karmada.membership.objects import CLUSTERS, SECRETS
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.estimators.accurate import GrpcEstimator
from karmada.scheduler.estimators.connections import Connections, EstimatorAddress
from karmada.testing.stage.daemon import free_port
from karmada.testing.stage.federation import DESCHEDULER, Stage, eventually

from .conftest import BINDINGS, DEPLOYMENTS, POLICIES, PULLED
from .steps import LEASES, PATIENCE, arrive, holder, policy


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


async def test_a_descheduler_leads_and_is_healthy(stage: Stage) -> None:
    descheduler = await stage.start(DESCHEDULER)
    await eventually(lambda: holder(stage.client, DESCHEDULER), PATIENCE)
    assert "Traceback" not in descheduler.output


async def test_an_agent_creates_nothing_but_its_own(stage: Stage, federation: Federation) -> None:
    """Roles cannot say so: the right to create holds for every name."""
    agent = Client(HttpTransport(load_kubeconfig([stage.agents[PULLED]]).target()))
    clusters, secrets, leases = (agent.resource(type_) for type_ in (CLUSTERS, SECRETS, LEASES))
    space = names.CLUSTER_NAMESPACE
    own, _ = objects.secret_names(PULLED)
    account = {"kubernetes.io/service-account.name": "default"}
    token = {"metadata": {"name": own, "annotations": account}, "type": "kubernetes.io/service-account-token"}
    try:
        assert (await clusters.get(PULLED))["metadata"]["name"] == PULLED
        with pytest.raises(Forbidden, match="may write no other cluster"):
            await clusters.create(
                {
                    "apiVersion": "cluster.karmada.io/v1alpha1",
                    "kind": "Cluster",
                    "metadata": {"name": "foreign"},
                    "spec": {"syncMode": "Pull"},
                }
            )
        with pytest.raises(Forbidden, match="may write no other secrets"):
            await secrets.create({"metadata": {"name": "foreign"}}, space)
        with pytest.raises(Forbidden, match="Opaque"):
            await secrets.create(token, space)
        with pytest.raises(Forbidden, match="lease of its own cluster only"):
            await leases.create({"metadata": {"name": "member1"}}, space)
    finally:
        await agent.close()
