"""Certificates that end: all are replaced while everything runs, and nobody is started again for it."""

import asyncio
import base64
import ssl
from pathlib import Path

from cryptography import x509
from tests.engine.world import deployment
from tests.federation.conftest import Federation

from karmada.api import names
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.machinery.client import Client
from karmada.machinery.http.kubeconfig import load as load_kubeconfig
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.component_roles import user_of
from karmada.membership.register import KUBECONFIG
from karmada.testing.stage.federation import AGENT, CONTROLLERS, SCHEDULER, Stage, eventually

from .conftest import DEPLOYMENTS, POLICIES, PULLED, PUSHED, QUICK
from .steps import PATIENCE, arrive, create, holder, policy

SECRETS = GroupVersionResource("", "v1", "secrets")


async def test_certificates_are_rotated_without_a_restart(stage: Stage, federation: Federation) -> None:
    """Client certificates, the API server's own, and those of the servers it asks are replaced in their files."""
    await federation.hub.resource(POLICIES).create(policy(*PUSHED))
    restarts = [component.restarts for component in stage.components.values()]
    ports = [stage.hub.port, *stage.ports.values()]
    before = [await _served_serial(port) for port in ports]
    for program in (CONTROLLERS, SCHEDULER):
        stage.hub.rotatable_access(stage.components[program].access, user_of(program))
    stage.hub.renew_serving()
    stage.renew_serving()

    async def new_certificates() -> bool:
        return all([await _served_serial(port) != old for port, old in zip(ports, before, strict=True)])

    await eventually(new_certificates, PATIENCE)
    assert [component.restarts for component in stage.components.values()] == restarts
    # Connections that are open keep what they began with: after the server's restart there are only new ones.
    await stage.hub.stop()
    await stage.hub.start()
    await create(federation.hub, "rotated")
    await arrive(federation.members, "rotated")


async def test_an_agent_renews_its_certificate_when_it_begins_to_lead(
    stage: Stage, federation: Federation, members: dict[str, Client], tmp_path: Path
) -> None:
    """With half of its life to come it would not; here it is configured so that all of it is needed."""
    secrets = members[PULLED].resource(SECRETS)
    leader = stage.components[AGENT]
    successor = await stage.start_agent(PULLED, *QUICK, "--cert-rotation-remaining-time-threshold=1")
    before = await holder(members[PULLED], names.agent_lease(PULLED))
    await leader.end()

    async def renewed() -> bool:
        await secrets.get(KUBECONFIG, names.SYSTEM_NAMESPACE)
        return await holder(members[PULLED], names.agent_lease(PULLED)) != before

    await eventually(renewed, PATIENCE)
    stage.components[AGENT] = successor
    kept = await secrets.get(KUBECONFIG, names.SYSTEM_NAMESPACE)
    path = tmp_path / "kept.kubeconfig"
    path.write_bytes(base64.b64decode(kept["data"][KUBECONFIG]))
    assert path.read_bytes() != stage.agents[PULLED].read_bytes()
    renewed_agent = Client(HttpTransport(load_kubeconfig([path]).target()))
    try:
        assert (await renewed_agent.of(Cluster).get(PULLED)).metadata.name == PULLED
    finally:
        await renewed_agent.close()
    await federation.hub.resource(POLICIES).create(policy(PULLED))
    await federation.hub.resource(DEPLOYMENTS).create(deployment("renewed"))
    await arrive({PULLED: members[PULLED]}, "renewed")


async def _served_serial(port: int) -> int:
    pem = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
    return x509.load_pem_x509_certificate(pem.encode()).serial_number
