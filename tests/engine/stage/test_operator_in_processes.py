"""The operator on a host cluster whose pods are processes: stock etcd and Kubernetes with our components, brought up
from a Karmada object, used, and upgraded under load without losing a write that was acknowledged."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from tests.operator.site import (
    ADDED,
    CONFIG_MAPS,
    DEPLOYMENTS,
    KARMADAS,
    SEARCH,
    SPACE,
    STATEFUL_SETS,
    available,
    eventually,
    host_with_operator,
)

from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.resource import Scope
from karmada.testing.stage.programs import MODULES, program

KARMADA: dict[str, Any] = {
    "apiVersion": "operator.karmada.io/v1alpha1",
    "kind": "Karmada",
    "metadata": {"name": "karmada-demo", "namespace": SPACE},
    "spec": {
        "components": {
            "etcd": {"local": {}},
            # Two of them would need two nodes, and the host has one.
            "karmadaMetricsAdapter": {"replicas": 1},
            "karmadaSearch": {"replicas": 1},
            "karmadaScheduler": {"podDisruptionBudgetConfig": {"maxUnavailable": 1}},
        }
    },
}
UPGRADE = {
    "spec": {
        "components": {
            "etcd": {"local": {"annotations": {"rolled": "yes"}}},
            "karmadaAPIServer": {"extraArgs": {"max-requests-inflight": "1600"}},
            "karmadaControllerManager": {"extraArgs": {"v": "1"}},
            "karmadaSearch": None,
        }
    }
}
PAUSE = 0.05


class Writer:
    """Writes all the time and remembers what was acknowledged."""

    def __init__(self, hub: Client) -> None:
        self._maps = hub.resource(CONFIG_MAPS).within(5.0)
        self.acknowledged: set[str] = set()

    async def run(self) -> None:
        """Write until cancelled; what fails is left unanswered and nobody counts on it."""
        number = 0
        while True:
            number += 1
            name = f"write-{number}"
            tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
            with contextlib.suppress(ApiError):
                await self._maps.create(tree, "default")
                self.acknowledged.add(name)
            await asyncio.sleep(PAUSE)


async def test_the_operator_brings_up_the_engine_and_upgrades_it_without_losing_a_write(tmp_path: Path) -> None:
    async with host_with_operator(tmp_path, {name: str(program(name)) for name in MODULES}) as site:
        await site.order(KARMADA)
        karmada = await site.ready("karmada-demo")
        assert "poddisruptionbudgets/karmada-demo-scheduler" in await site.made("karmada-demo")
        hub = await site.hub(karmada)
        try:
            assert await available(hub) >= ADDED
            await site.join(hub)
            await site.spread(hub)
            uids = {one["metadata"]["uid"] for one in (await site.member.resource(DEPLOYMENTS).list()).items}
            writer = Writer(hub)
            writing = asyncio.create_task(writer.run())
            try:
                changed = await site.host.resource(KARMADAS).patch("karmada-demo", UPGRADE, SPACE)
                upgraded = await site.ready("karmada-demo", changed["metadata"]["generation"])
            finally:
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)
            assert ADDED - await available(hub) == {SEARCH}

            async def search_ended() -> bool:
                return "karmada-search" not in site.programs()

            await eventually(search_ended)
            assert upgraded["metadata"]["generation"] == changed["metadata"]["generation"]
            etcd = await site.host.resource(STATEFUL_SETS).get("karmada-demo-etcd", SPACE)
            assert etcd["status"]["currentRevision"] == etcd["status"]["updateRevision"]
            server = await site.host.resource(DEPLOYMENTS).get("karmada-demo-apiserver", SPACE)
            command = server["spec"]["template"]["spec"]["containers"][0]["command"]
            assert "--max-requests-inflight=1600" in command
            found = {one["metadata"]["name"] for one in (await hub.resource(CONFIG_MAPS).list(Scope("default"))).items}
            assert writer.acknowledged
            assert writer.acknowledged <= found
            await eventually(lambda: hub.resource(DEPLOYMENTS).patch("web", {"spec": {"replicas": 3}}, "default"))
            await site.arrived(hub, 3)
            # Workloads in members did not notice.
            assert {one["metadata"]["uid"] for one in (await site.member.resource(DEPLOYMENTS).list()).items} == uids
        finally:
            await hub.close()
        await site.removed("karmada-demo")
