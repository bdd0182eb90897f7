"""The scenarios of simulated members, word for word, on a stock kube-apiserver beside `simulate-workloads`."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.simulator.conftest import SCENARIOS

from karmada.simulator.scenario import load, play
from karmada.testing.stage.daemon import Daemon
from karmada.testing.stage.federation import eventually
from karmada.testing.stage.servers import Etcd, KubeApiServer


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KubeApiServer]:
    folder = tmp_path_factory.mktemp("workloads")
    async with Etcd(folder / "etcd") as etcd, KubeApiServer("lively", folder / "server", etcd) as made:
        command = [Path(sys.executable).with_name("karmada"), "simulate-workloads", "--kubeconfig", made.kubeconfig]
        workloads = Daemon("simulate-workloads", [*command, "--nodes", "1", "--cpu", "4"], folder / "workloads.log")
        await workloads.start()

        async def ready() -> bool:
            workloads.check()
            return "ready\n" in workloads.output

        try:
            await eventually(ready)
            yield made
        finally:
            await workloads.end()


@pytest.mark.parametrize("file", SCENARIOS, ids=[file.stem for file in SCENARIOS])
async def test_the_scenario_comes_true(server: KubeApiServer, file: Path) -> None:
    client = server.client()
    try:
        await play(client, load(file))
    finally:
        await client.close()
