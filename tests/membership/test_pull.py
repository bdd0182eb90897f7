"""Pull mode: registration by token, an agent over HTTPS with its own certificate, and what it is worth."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
from tests.membership.test_unjoin import CONFIG_MAPS, WORKS, work
from tests.membership.world import QUICK, Member, World, eventually, is_gone, user_transport

from karmada.agent.agent import Agent
from karmada.agent.hub import HubTransport
from karmada.agent.options import AgentOptions, LeaseOptions, RotationOptions
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import DEFAULTS
from karmada.apiserver.builtin import builtin_types
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.errors import Forbidden
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.leader import LEASES
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects, token
from karmada.membership.agent_grant import NOTHING, Grant
from karmada.membership.agent_roles import agent_roles
from karmada.membership.component_roles import metrics_adapter_in_members, user_of
from karmada.membership.connections import PushMembers
from karmada.membership.every_member import EveryMember, SecretOrTunnel, by_proxy
from karmada.membership.join import join
from karmada.membership.refusal import Refused
from karmada.membership.register import DEPLOYMENTS, Registration, agent_access, register
from karmada.membership.reporting import parse_report_secrets
from karmada.membership.unjoin import unjoin
from karmada.membership.unregister import unregister

REQUESTS = GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests")


class Pull:
    """A listening control plane and agents that are started when their Deployment appears."""

    def __init__(self, world: World, endpoint: str, stack: AsyncExitStack) -> None:
        self.world = world
        self.endpoint = endpoint
        self.authority = world.plane.server.identity.authority.certificate_pem
        self._stack = stack
        self.agents: dict[str, Supervisor] = {}

    async def registration(self, member: Member, grant: Grant = NOTHING, **fields: Any) -> Registration:
        made = token.new_token()
        await token.create(self.world.hub, made, grant=grant)
        fields = {
            "cluster": member.name,
            "pins": token.pins(self.authority),
            "wait": 20.0,
            "token": str(made),
        } | fields
        return Registration(self.endpoint, **fields)

    async def stand_in(self, member: Member, **fields: Any) -> None:
        """What kubelet and image would do: run the agent with the kubeconfig that was installed."""
        deployments = member.client.resource(DEPLOYMENTS)
        deployment = await eventually(lambda: deployments.get("karmada-agent", "karmada-system"))
        await self.start(member, **fields)
        status = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "updatedReplicas": 1}
        status["observedGeneration"] = deployment["metadata"]["generation"]
        await member.client.resource(DEPLOYMENTS).patch(
            "karmada-agent", {"status": status}, "karmada-system", subresource="status"
        )

    async def start(self, member: Member, **fields: Any) -> Agent:
        secret = await member.client.resource(objects.SECRETS).get("karmada-kubeconfig", "karmada-system")
        target = from_bytes(objects.decoded(secret)["karmada-kubeconfig"]).target()
        certificate, key = member.server.identity.authority.issue_client("admin", ["system:masters"])
        there = Target(
            member.endpoint,
            Material(member.server.identity.authority.certificate_pem),
            identity=Identity(Material(certificate), Material(key)),
        )
        options = AgentOptions(member.name, member.endpoint, status=QUICK, lease=LeaseOptions(duration=4.0), **fields)
        agent = Agent(HubTransport(target), HttpTransport(there), options)
        supervisor = await self._stack.enter_async_context(Supervisor())
        self._stack.push_async_callback(agent.close)
        await agent.start(supervisor, there)
        self.agents[member.name] = supervisor
        return agent

    async def register(self, member: Member, grant: Grant = NOTHING, **fields: Any) -> list[str]:
        lines: list[str] = []
        registration = await self.registration(member, grant)
        await asyncio.gather(register(member.client, registration, lines.append), self.stand_in(member, **fields))
        return lines


@pytest.fixture
async def pull(world: World) -> AsyncIterator[Pull]:
    async with AsyncExitStack() as stack:
        yield Pull(world, await world.plane.listen(), stack)


async def test_a_registered_cluster_becomes_ready_and_says_the_recorded_lines(pull: Pull) -> None:
    member = await pull.world.member("member3")
    lines = await pull.register(member)
    assert lines == [
        "[preflight] Running pre-flight checks",
        "[preflight] All pre-flight checks were passed",
        "[karmada-agent-start] Waiting to perform the TLS Bootstrap",
        "[karmada-agent-start] Waiting to check cluster exists",
        "[karmada-agent-start] Assign the necessary RBAC permissions to the agent",
        "[karmada-agent-start] Waiting to construct karmada-agent kubeconfig",
        "[karmada-agent-start] Waiting the necessary secret and RBAC",
        "[karmada-agent-start] Waiting karmada-agent Deployment",
        "",
        "cluster(member3) is joined successfully",
    ]
    ready = await pull.world.ready("member3")
    assert ready.spec.sync_mode == "Pull"
    assert ready.status.kubernetes_version
    lease = await eventually(lambda: pull.world.hub.resource(LEASES).get("member3", "karmada-cluster"))
    assert lease["spec"]["holderIdentity"] == "member3"
    assert lease["metadata"]["ownerReferences"][0]["kind"] == "Cluster"
    (request,) = (await pull.world.hub.resource(REQUESTS).list()).items
    assert request["status"]["conditions"][0]["reason"] == "AutoApproved"


async def test_works_reach_a_pull_cluster_and_leave_it_again(pull: Pull) -> None:
    member = await pull.world.member("member3")
    await pull.register(member)
    await pull.world.ready("member3")
    await pull.world.hub.resource(WORKS).create(work("member3"))
    await eventually(lambda: member.client.resource(CONFIG_MAPS).get("a", "default"))

    async def applied() -> bool:
        found = await pull.world.hub.resource(WORKS).get("a", "karmada-es-member3")
        return any(c["type"] == "Applied" and c["status"] == "True" for c in found["status"]["conditions"])

    await eventually(applied)
    left = await unregister(pull.world.hub, member.client, "member3", wait=20.0)
    assert left.behind == ()
    assert await is_gone(pull.world.hub.resource(objects.CLUSTERS).get("member3"))
    assert await is_gone(member.client.resource(CONFIG_MAPS).get("a", "default"))
    assert await is_gone(member.client.resource(DEPLOYMENTS).get("karmada-agent", "karmada-system"))
    assert await is_gone(pull.world.hub.resource(objects.CLUSTER_ROLES).get("system:karmada:member3:agent"))


async def test_nothing_is_reported_when_the_flag_says_so_and_works_still_flow(pull: Pull) -> None:
    member = await pull.world.member("member3")
    await pull.register(member, report_secrets=parse_report_secrets("None"))
    cluster = await pull.world.ready("member3")
    assert cluster.spec.secret_ref is None
    assert cluster.spec.impersonator_secret_ref is None
    await pull.world.hub.resource(WORKS).create(work("member3"))
    await eventually(lambda: member.client.resource(CONFIG_MAPS).get("a", "default"))
    secrets = (await member.client.resource(objects.SECRETS).list()).items
    kept = [value for secret in secrets for value in objects.decoded(secret).values() if value]
    known = [base64.b64encode(value) for value in kept]
    store = pull.world.plane.server.store
    kinds = {(type_.group, type_.plural) for type_ in builtin_types()} | {("cluster.karmada.io", "clusters")}
    bodies = [item.body for kind in sorted(kinds) for item in store.list(kind).items]
    assert kept, "the agent's own kubeconfig at least"
    assert not [body for body in bodies for value in (*kept, *known) if value in body]
    names = [s["metadata"]["name"] for s in (await pull.world.hub.resource(objects.SECRETS).list()).items]
    assert not [name for name in names if name.startswith("member3")]


async def test_the_proxy_reaches_a_cluster_without_credentials_through_its_tunnel(pull: Pull) -> None:
    member = await pull.world.member("member3")
    await pull.register(member, report_secrets=frozenset(), tunnel=True)
    await eventually(lambda: _has_tunnel(pull, "member3"))
    path = "/apis/cluster.karmada.io/v1alpha1/clusters/member3/proxy"
    server = pull.world.plane.server
    admin = Client(user_transport(server, pull.endpoint, "system:admin", "system:masters", path=path))
    assert {n["metadata"]["name"] for n in (await admin.resource(objects.NAMESPACES).list()).items} >= {"kube-system"}
    await admin.close()


async def test_the_metrics_adapter_reads_a_pull_cluster_through_its_tunnel_as_a_user_of_its_own(
    pull: Pull,
) -> None:
    member = await pull.world.member("member3")
    await pull.register(member, report_secrets=frozenset(), tunnel=True)
    await eventually(lambda: _has_tunnel(pull, "member3"))
    for tree in metrics_adapter_in_members():
        served = await member.client.mapper.of_kind(tree["apiVersion"], tree["kind"])
        await member.client.resource(served.type).create(tree)
    authority = pull.world.plane.server.identity.authority
    certificate, key = authority.issue_client(user_of("karmada-metrics-adapter"))
    identity = Identity(Material(certificate), Material(key))
    through = by_proxy(Target(pull.endpoint, Material(pull.authority), identity=identity), "adapter")
    members = EveryMember(PushMembers(_no_secret, REAL), SecretOrTunnel(_no_secret, through), REAL)
    try:
        cluster = await pull.world.hub.of(Cluster).get("member3")
        assert members.concerns(cluster)

        async def read() -> bool:
            reached = (await members.connect(cluster)).client
            found = await reached.resource(objects.NAMESPACES).get("kube-system")
            return bool(found["metadata"]["uid"] == cluster.spec.id)

        await eventually(read)
    finally:
        await members.close()


async def _no_secret(cluster: Cluster) -> HttpTransport:
    raise AssertionError(f"{cluster.metadata.name} has no Secret")


async def test_an_agent_that_comes_back_applies_what_changed_meanwhile(pull: Pull) -> None:
    member = await pull.world.member("member3")
    await pull.register(member)
    await pull.world.ready("member3")
    await pull.agents["member3"].stop()
    await pull.world.hub.resource(WORKS).create(work("member3"))
    await pull.start(member)
    await eventually(lambda: member.client.resource(CONFIG_MAPS).get("a", "default"))
    assert len((await pull.world.hub.resource(objects.CLUSTERS).list()).items) == 1


async def test_an_agent_looks_for_leftover_endpoints_only_where_services_cross_clusters(pull: Pull) -> None:
    member = await pull.world.member("member3")
    await pull.register(member)
    await pull.world.ready("member3")
    assert "leftoverSlices" not in pull.agents["member3"].running
    await pull.agents["member3"].stop()
    await pull.start(member, gates=DEFAULTS.with_overrides({"MultiClusterService": True}))
    assert "leftoverSlices" in pull.agents["member3"].running


@pytest.mark.parametrize("emptied", [False, True], ids=["as written", "emptied by somebody"])
async def test_the_certificate_is_renewed_in_time_and_kept(pull: Pull, emptied: bool) -> None:
    member = await pull.world.member("member3")
    await pull.register(member)
    await pull.world.ready("member3")
    before = await member.client.resource(objects.SECRETS).get("karmada-kubeconfig", "karmada-system")
    await pull.agents["member3"].stop()
    await pull.start(member, rotation=RotationOptions(period=0.05, threshold=1.1))
    if emptied:
        await member.client.resource(objects.SECRETS).patch("karmada-kubeconfig", {"data": None}, "karmada-system")

    async def renewed() -> bool:
        now = await member.client.resource(objects.SECRETS).get("karmada-kubeconfig", "karmada-system")
        return bool(now.get("data") and now["data"] != before["data"])

    await eventually(renewed, attempts=2000)
    after = await member.client.resource(objects.SECRETS).get("karmada-kubeconfig", "karmada-system")
    target = from_bytes(objects.decoded(after)["karmada-kubeconfig"]).target()
    own = Client(HttpTransport(target))
    assert (await own.of(Cluster).get("member3")).spec.sync_mode == "Pull"
    await own.close()


async def test_registering_again_is_refused_by_preflight(pull: Pull) -> None:
    member = await pull.world.member("member3")
    await pull.register(member)
    with pytest.raises(Refused, match="karmada-system/karmada-agent Deployment already exists"):
        await register(member.client, await pull.registration(member), lambda line: None)


async def test_a_name_that_is_taken_gets_no_certificate(pull: Pull) -> None:
    first, second = await pull.world.member("member3"), await pull.world.member("member3")
    await pull.register(first)
    with pytest.raises(Refused, match="cluster member3 is a member already"):
        await register(second.client, await pull.registration(second), lambda line: None)
    assert await is_gone(second.client.resource(DEPLOYMENTS).get("karmada-agent", "karmada-system"))


async def test_one_cluster_cannot_register_under_two_names(pull: Pull) -> None:
    member = await pull.world.member("member3")
    await pull.register(member)
    again = Member("other3", member.server, member.endpoint)
    registration = await pull.registration(again, space="agent2", wait=1.0)

    async def other_agent() -> None:
        where = member.client.resource(objects.SECRETS)
        secret = await eventually(lambda: where.get("karmada-kubeconfig", "agent2"))
        target = from_bytes(objects.decoded(secret)["karmada-kubeconfig"]).target()
        agent = Agent(HubTransport(target), member.server.direct(), AgentOptions("other3", member.endpoint))
        async with Supervisor() as supervisor:
            with pytest.raises(Forbidden, match="has been registered as member3"):
                await agent.start(supervisor)
        await agent.close()

    with pytest.raises(Refused, match="did not become ready"):
        await asyncio.gather(register(member.client, registration, lambda line: None), other_agent())
    assert await is_gone(pull.world.hub.resource(objects.CLUSTERS).get("other3"))
    await eventually(lambda: nothing_is_left(pull, "other3"))


async def nothing_is_left(pull: Pull, cluster: str) -> bool:
    """Whether a registration that failed left nothing in the control plane."""
    hub = pull.world.hub
    requests = [r["metadata"]["name"] for r in (await hub.resource(REQUESTS).list()).items]
    assert not [name for name in requests if name.startswith(f"{cluster}-")]
    assert await is_gone(hub.resource(objects.NAMESPACES).get(f"karmada-es-{cluster}"))
    for type_, name, space in agent_roles(cluster):
        assert await is_gone(hub.resource(type_).get(name, space)), (type_, name)
    return True


async def test_a_registration_that_fails_is_taken_back_on_both_sides(pull: Pull) -> None:
    member = await pull.world.member("member3")
    with pytest.raises(Refused, match="its pod did not become ready"):
        await register(member.client, await pull.registration(member, wait=0.3), lambda line: None)
    await eventually(lambda: nothing_is_left(pull, "member3"))
    assert await is_gone(member.client.resource(objects.CLUSTER_ROLES).get("karmada-agent"))
    await pull.register(member)
    await pull.world.ready("member3")


async def test_a_certificate_nobody_used_is_worth_nothing_after_a_while(pull: Pull) -> None:
    """Whoever took it may have gone without a word: the roles go with the request that Kubernetes forgets."""
    member = await pull.world.member("member3")
    await agent_access(await pull.registration(member))
    role = pull.world.hub.resource(objects.CLUSTER_ROLES)
    assert await role.get("system:karmada:member3:agent")
    (request,) = (await pull.world.hub.resource(REQUESTS).list()).items
    await pull.world.hub.resource(REQUESTS).delete(request["metadata"]["name"])
    await eventually(lambda: nothing_is_left(pull, "member3"))


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"token": ""}, "token is required"),
        ({"pins": []}, "need to verify CACertHashes"),
        ({"token": "notatoken"}, 'the bootstrap token "notatoken" was not of the form'),
        ({"token": "abcdef.0123456789abcdef"}, "could not find a JWS signature .* for token ID"),
        ({"pins": ["sha256:00"]}, "none of the public keys"),
        ({"endpoint": "127.0.0.1:1"}, "couldn't validate the identity of the API Server: no connection"),
        ({"cluster": "Bad_Name"}, "invalid cluster name"),
    ],
    ids=["no token", "no pin", "malformed", "unknown", "wrong pin", "nobody listens", "bad name"],
)
async def test_bad_registrations_say_what_is_wrong(pull: Pull, expected: dict[str, Any], message: str) -> None:
    member = await pull.world.member("wrong1")
    registration = replace(await pull.registration(member, discovery_seconds=0.0), **expected)
    with pytest.raises(Refused, match=message):
        await register(member.client, registration, lambda line: None)
    assert await is_gone(member.client.resource(objects.NAMESPACES).get("karmada-system"))


async def test_a_wrong_secret_of_a_known_token_is_noticed(pull: Pull) -> None:
    member = await pull.world.member("wrong1")
    registration = await pull.registration(member)
    identifier = registration.token.partition(".")[0]
    await eventually(lambda: _is_signed(pull, identifier))
    wrong = replace(registration, token=f"{identifier}.0123456789abcdef")
    with pytest.raises(Refused, match="failed to verify JWS signature"):
        await register(member.client, wrong, lambda line: None)


async def test_tokens_are_listed_and_forgotten(pull: Pull) -> None:
    made = token.new_token()
    await token.create(pull.world.hub, made, ttl=0, description="demo")
    (info,) = await token.list_tokens(pull.world.hub)
    assert (info.token, info.expires, info.usages) == (made, None, ("authentication", "signing"))
    assert info.groups == ("system:bootstrappers:karmada:default-cluster-token",)
    assert await token.delete(pull.world.hub, made.id) == made.id
    with pytest.raises(Refused, match=f'failed to delete secret "bootstrap-token-{made.id}", err: secrets'):
        await token.delete(pull.world.hub, str(made))
    with pytest.raises(Refused, match="given token didn't match pattern"):
        await token.delete(pull.world.hub, "bad-token-id")
    assert made.secret not in repr(made)


async def _has_tunnel(pull: Pull, name: str) -> bool:
    return pull.world.plane.clusters.tunnels.has(name)


async def _is_signed(pull: Pull, identifier: str) -> bool:
    found = await pull.world.hub.resource(objects.CONFIG_MAPS).get("cluster-info", "kube-public")
    return f"jws-kubeconfig-{identifier}" in found["data"]


async def test_unregistering_ends_when_the_agent_is_gone(pull: Pull) -> None:
    """Nobody takes the Works out of the member any more: they are released, and an event reports that."""
    member = await pull.world.member("member3")
    await pull.register(member)
    await pull.world.ready("member3")
    await pull.world.hub.resource(WORKS).create(work("member3"))
    await eventually(lambda: member.client.resource(CONFIG_MAPS).get("a", "default"))
    await pull.agents["member3"].stop()
    left = await unregister(pull.world.hub, member.client, "member3", force=True, wait=0.0)
    assert "ConfigMap default/a" in left.behind
    await eventually(lambda: is_gone(pull.world.hub.resource(objects.CLUSTERS).get("member3")))
    await eventually(lambda: is_gone(pull.world.hub.resource(objects.NAMESPACES).get("karmada-es-member3")))


async def test_push_and_pull_clusters_leave_by_their_own_commands(pull: Pull) -> None:
    member = await pull.world.member("member3")
    await pull.register(member)
    with pytest.raises(Refused, match="is a Pull mode member cluster, please use command `unregister`"):
        await unjoin(pull.world.hub, "member3", member.client)
    pushed = await pull.world.member("member1")
    await join(pushed.client, pull.world.hub, pushed.describe())
    with pytest.raises(Refused, match="is a Push mode member cluster, please use command `unjoin`"):
        await unregister(pull.world.hub, pushed.client, "member1")
