"""The same scenario files on a simulated member, and over HTTPS on an API server without workloads of its own.

The engine's test stage plays them on a stock kube-apiserver as well.
"""

from pathlib import Path

import pytest
from tests.simulator.conftest import ONE_NODE, SCENARIOS

from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.supervisor import Supervisor
from karmada.simulator.behaviour import Behaviour
from karmada.simulator.scenario import StepFailed, load, play
from karmada.simulator.workloads.command import described, parser, register
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.garbage import Collector
from karmada.simulator.workloads.housekeeping import NamespaceKeeper
from karmada.simulator.workloads.start import start

QUICK = [file for file in SCENARIOS if file.stem != "cron"]


@pytest.mark.parametrize("file", SCENARIOS, ids=[file.stem for file in SCENARIOS])
def test_on_a_simulated_member(act, file: Path):
    async def scene(actor):
        await play(actor.client, load(file), actor.clock)

    act(scene, ONE_NODE)


async def bring_to_life(client: Client, file: Path) -> None:
    """What `simulate-workloads --nodes 1 --cpu 4` does, and then the scenario."""
    await register(client, described(parser().parse_args(["--nodes", "1", "--cpu", "4"])))
    async with Supervisor() as supervisor:
        workloads = Workloads(client, supervisor, Behaviour(), workers=4)
        start(workloads)
        NamespaceKeeper(workloads)
        Collector(workloads)
        await play(client, load(file))


@pytest.mark.parametrize("file", QUICK, ids=[file.stem for file in QUICK])
async def test_on_an_api_server_without_any_controllers_over_https(file: Path):
    from karmada.api import yaml
    from karmada.apiserver.auth.kubeconfig import kubeconfig

    async with ApiServer(ApiServerOptions(controllers=False)) as server:
        port = await server.listen()
        authority = server.identity.authority
        certificate, key = authority.issue_client("admin", ("system:masters",))
        url = f"https://127.0.0.1:{port}"
        config = kubeconfig(url, authority.certificate_pem, certificate=certificate, key=key)
        client = Client(HttpTransport(from_bytes(yaml.dump(config).encode()).target()), field_manager="test")
        try:
            await bring_to_life(client, file)
        finally:
            await client.close()


def test_a_step_that_does_not_come_true_is_named(act):
    async def scene(actor):
        which = {"apiVersion": "v1", "kind": "Pod", "name": "none"}
        import msgspec

        from karmada.simulator.scenario import Step

        steps = msgspec.convert([{"say": "wait for ever", "wait": which, "seconds": 3}], list[Step])
        with pytest.raises(StepFailed, match=r"step 1 \(wait for ever\): Pod none"):
            await play(actor.client, steps, actor.clock)

    act(scene)
