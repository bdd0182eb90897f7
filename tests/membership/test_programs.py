"""karmada-agent and karmada-aggregated-apiserver as processes, with the flags of existing manifests."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.membership.world import World, eventually

from karmada.agent.main import options_of, parser
from karmada.aggregated import main as aggregated
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.controllers.clusters import is_ready
from karmada.machinery.http.target import Material, Target
from karmada.membership.agent_roles import agent_objects
from karmada.membership.credentials import ensure
from karmada.membership.refusal import Refused

SEED = [
    "--karmada-kubeconfig=/etc/karmada/karmada.kubeconfig",
    "--karmada-context=karmada",
    "--cluster-name=member-cluster-1",
    "--cluster-api-endpoint=https://member-1.example.com:6443",
    "--cluster-provider=AWS",
    "--cluster-region=us-west-2",
    "--leader-elect=true",
]
MEMBER = Target("https://10.0.0.1:443", Material(b"ca"))


def test_the_flags_of_existing_manifests_mean_what_they_did() -> None:
    options = options_of(parser().parse(SEED), MEMBER)
    assert (options.cluster, options.api_endpoint) == ("member-cluster-1", "https://member-1.example.com:6443")
    assert (options.provider, options.region, options.insecure) == ("AWS", "us-west-2", False)
    assert options.enabled("certRotation")
    assert not options.tunnel


def test_a_member_without_a_ca_is_reported_as_insecure() -> None:
    options = options_of(parser().parse(["--cluster-name=m1"]), Target("https://10.0.0.1:443"))
    assert options.insecure
    assert options.api_endpoint == "https://10.0.0.1:443"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "cluster name is required"),
        (["--cluster-name=Bad_Name"], "invalid cluster name"),
        (["--cluster-name=m1", "--report-secrets=None,KubeCredentials"], "None stands alone"),
        (["--cluster-name=m1", "--report-secrets=Everything"], "unknown Everything"),
    ],
    ids=["no name", "bad name", "none and more", "unknown"],
)
def test_flags_that_cannot_work_are_refused(flags: list[str], message: str) -> None:
    with pytest.raises(Refused, match=message):
        options_of(parser().parse(flags), MEMBER)


def test_the_aggregated_server_needs_a_place_for_clusters(tmp_path: Path) -> None:
    write_kubeconfig(tmp_path / "kubeconfig", kubeconfig("https://127.0.0.1:1", b"ca", token="t"))
    with pytest.raises(SystemExit, match="--etcd-servers"):
        aggregated.main([f"--kubeconfig={tmp_path / 'kubeconfig'}"])


def write_access(path: Path, server: ApiServer, endpoint: str, user: str, *groups: str) -> None:
    certificate, key = server.identity.authority.issue_client(user, groups)
    authority = server.identity.authority.certificate_pem
    write_kubeconfig(path, kubeconfig(endpoint, authority, user=user, certificate=certificate, key=key))


async def start(module: str, *flags: str, stderr: int | None = None) -> asyncio.subprocess.Process:
    program = f"import sys; from {module} import main; sys.exit(main())"
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, *flags, env=dict(os.environ), stderr=stderr
    )


async def test_an_agent_process_brings_its_cluster_in(world: World, tmp_path: Path) -> None:
    endpoint = await world.plane.listen()
    member = await world.member("member3")
    for wanted in agent_objects("member3", "first"):
        await ensure(world.hub, wanted.type, wanted.tree)
    groups = ("system:karmada:agents", "system:karmada:registration:first")
    write_access(tmp_path / "hub", world.plane.server, endpoint, "system:karmada:agent:member3", *groups)
    write_access(tmp_path / "member", member.server, member.endpoint, "admin", "system:masters")
    agent = await start(
        "karmada.agent.main",
        "--cluster-name=member3",
        f"--karmada-kubeconfig={tmp_path / 'hub'}",
        f"--kubeconfig={tmp_path / 'member'}",
        "--leader-elect=false",
        "--health-probe-bind-address=0",
        "--metrics-bind-address=0",
    )
    try:

        async def ready() -> bool:
            return is_ready(await world.hub.of(Cluster).get("member3"))

        await eventually(ready, attempts=3000)
    finally:
        agent.terminate()
        assert await asyncio.wait_for(agent.wait(), 30) == 0


async def test_the_aggregated_server_runs_beside_another_one(tmp_path: Path) -> None:
    async with ApiServer(ApiServerOptions(folder=tmp_path)) as front:
        endpoint = f"https://127.0.0.1:{await front.listen()}"
        write_access(tmp_path / "access", front, endpoint, "system:admin", "system:masters")
        process = await start(
            "karmada.aggregated.main",
            f"--kubeconfig={tmp_path / 'access'}",
            "--storage=memory:",
            "--secure-port=0",
            "--bind-address=127.0.0.1",
            f"--cert-dir={tmp_path / 'certificates'}",
        )
        try:

            async def served() -> bool:
                return (tmp_path / "certificates").exists()

            await eventually(served, attempts=3000)
        finally:
            process.terminate()
            assert await asyncio.wait_for(process.wait(), 30) == 0


async def test_a_group_server_says_in_a_sentence_that_its_port_is_taken(tmp_path: Path) -> None:
    async with ApiServer(ApiServerOptions(folder=tmp_path)) as front:
        port = await front.listen()
        write_access(tmp_path / "access", front, f"https://127.0.0.1:{port}", "system:admin", "system:masters")
        process = await start(
            "karmada.aggregated.main",
            f"--kubeconfig={tmp_path / 'access'}",
            "--storage=memory:",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={tmp_path / 'certificates'}",
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert b"Traceback" not in said
    sentence = f"cannot serve on 127.0.0.1:{port}: Address already in use; choose another port with --secure-port"
    assert f"error: {sentence}" in said.decode()
