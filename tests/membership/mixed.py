"""A control plane over HTTPS and simulated members of both modes, one for each way there is to read a member.

`pushed` joined in push mode. The others have agents: `reported` gave the control plane its credentials and address,
`tunnelled` no address but a tunnel and rights for components in it, `closed` nothing.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from tests.membership.world import QUICK, World

from karmada.agent.agent import Agent
from karmada.agent.hub import HubTransport
from karmada.agent.options import AgentOptions, LeaseOptions
from karmada.api import yaml
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import JSONObject
from karmada.membership import objects, token
from karmada.membership.agent_grant import EVERYTHING, NOTHING
from karmada.membership.component_roles import controller_manager_in_members, metrics_adapter_in_members, user_of
from karmada.membership.credentials import ensure
from karmada.membership.join import join
from karmada.membership.register import Registration, agent_access
from karmada.membership.registration import Description
from karmada.simulator.fleet import Fleet
from karmada.simulator.member import Member
from karmada.simulator.spec import FleetSpec, numbered
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

PUSHED, REPORTED, TUNNELLED, CLOSED = "pushed", "reported", "tunnelled", "closed"
NAMES = (PUSHED, REPORTED, TUNNELLED, CLOSED)
AGENTS: Mapping[str, dict[str, Any]] = {
    REPORTED: {},
    TUNNELLED: {"tunnel": True},
    CLOSED: {"report_secrets": frozenset()},
}
SHARES = {PUSHED: 1, REPORTED: 2, TUNNELLED: 3, CLOSED: 4}
"""Replicas of the Deployment in each member: all differ, so that any sum says whose they are."""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: nginx:1.25
        resources: {requests: {cpu: 100m}}
"""
AUTOSCALER = """
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 10
  maxReplicas: 10
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
"""


class Mixed(World):
    """The control plane and its members."""

    def __init__(self, plane: ControlPlane, stack: AsyncExitStack, fleet: Fleet) -> None:
        super().__init__(plane, stack)
        self.stack = stack
        self.fleet = fleet

    async def apply(self, *texts: str) -> None:
        """Create objects of the control plane."""
        for text in texts:
            tree = yaml.load(text)
            served = await self.hub.mapper.of_kind(tree["apiVersion"], tree["kind"])
            await self.hub.resource(served.type).create(tree)

    async def autoscaler(self) -> JSONObject:
        served = await self.hub.mapper.of_kind("autoscaling.karmada.io/v1alpha1", "FederatedHPA")
        return await self.hub.resource(served.type).get("web", "default")

    def access(self, folder: Path, user: str, *groups: str) -> Path:
        """A kubeconfig of the control plane."""
        authority = self.plane.server.identity.authority
        certificate, key = authority.issue_client(user, groups)
        path = folder / f"{user.replace(':', '-')}.kubeconfig"
        write_kubeconfig(path, kubeconfig(self.endpoint, authority.certificate_pem, certificate=certificate, key=key))
        return path

    def access_of(self, folder: Path, component: str) -> Path:
        return self.access(folder, user_of(component))

    async def start_agent(self, member: Member, **fields: Any) -> None:
        made = token.new_token()
        await token.create(self.hub, made, grant=EVERYTHING if member.name == REPORTED else NOTHING)
        pins = token.pins(self.plane.server.identity.authority.certificate_pem)
        registration = Registration(self.endpoint, str(made), member.name, pins=pins)
        hub = HubTransport(from_bytes(await agent_access(registration)).target())
        there = from_bytes(yaml.dump(member.kubeconfig).encode()).target()
        options = AgentOptions(member.name, member.url, status=QUICK, lease=LeaseOptions(duration=4.0), **fields)
        agent = Agent(hub, HttpTransport(there), options)
        self.stack.push_async_callback(agent.close)
        await agent.start(await self.stack.enter_async_context(Supervisor()), there)


def policy() -> str:
    """Divides the Deployment by `SHARES`."""
    weights = [{"targetCluster": {"clusterNames": [name]}, "weight": share} for name, share in SHARES.items()]
    scheduling = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": weights},
    }
    return yaml.dump(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
                "placement": {
                    "clusterAffinity": {"clusterNames": list(NAMES)},
                    "replicaScheduling": scheduling,
                },
            },
        }
    )


@asynccontextmanager
async def mixed(options: ControlPlaneOptions) -> AsyncIterator[Mixed]:
    """All members, ready, with usage of their pods in thousandths of a CPU: 100 in the first, 200 in the second, ..."""
    spec = FleetSpec(
        tuple(
            msgspec.structs.replace(member, name=name, ready_seconds=0.0)
            for name, member in zip(NAMES, numbered(len(NAMES)).members, strict=True)
        )
    )
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(Fleet(spec))
        await fleet.listen()
        plane = await stack.enter_async_context(ControlPlane(options))
        world = Mixed(plane, stack, fleet)
        world.endpoint = await plane.listen()
        for number, member in enumerate(fleet.values(), 1):
            member.usage.set("default/web-*", 100 * number, 32 << 20)
        for tree in (*controller_manager_in_members(), *metrics_adapter_in_members()):
            kind = objects.CLUSTER_ROLES if tree["kind"] == "ClusterRole" else objects.CLUSTER_ROLE_BINDINGS
            await ensure(fleet[TUNNELLED].inside, kind, tree)
        await join(fleet[PUSHED].inside, world.hub, Description(PUSHED, fleet[PUSHED].url))
        for name, fields in AGENTS.items():
            await world.start_agent(fleet[name], **fields)
        for name in NAMES:
            await world.ready(name)
        yield world
