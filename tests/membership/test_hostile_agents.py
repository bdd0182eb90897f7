"""Attacks with a bootstrap token or an agent's certificate, over HTTPS, on a control plane with other members."""

import asyncio
import base64
import datetime
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from tests.membership.test_pull import Pull
from tests.membership.test_unjoin import WORKS
from tests.membership.world import World, eventually, is_gone

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.http_dispatcher import HttpDispatcher
from karmada.machinery.client import Client
from karmada.machinery.errors import BadRequest, Forbidden, Invalid
from karmada.machinery.http.kubeconfig import from_bytes
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.tls import TLSSettings
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.httpserver.model import HttpRequest, HttpResponse
from karmada.machinery.leader import LEASES
from karmada.machinery.resource import Scope
from karmada.membership import objects, token
from karmada.membership.agent_grant import EVERYTHING, NOTHING, Grant
from karmada.membership.certificate import REQUESTS, make_request
from karmada.membership.dialing import dial
from karmada.membership.join import join
from karmada.membership.refusal import Refused
from karmada.membership.register import agent_access, register
from karmada.membership.tunnel.frames import PROTOCOL, Frame, Kind, encode

EVENTS = objects.GroupVersionResource("", "v1", "events")
TUNNEL = "/apis/cluster.karmada.io/v1alpha1/clusters/{}/tunnel"


class Attack:
    """A pull control plane, and the clients of an attacker."""

    def __init__(self, pull: Pull, stack: AsyncExitStack) -> None:
        self.pull = pull
        self.hub = pull.world.hub
        self._stack = stack

    def client(self, target: Target) -> Client:
        made = Client(HttpTransport(target))
        self._stack.push_async_callback(made.close)
        return made

    async def bearer(self) -> Client:
        """A client with a bootstrap token."""
        made = token.new_token()
        await token.create(self.hub, made)
        identity = Identity(token=Material(str(made).encode()))
        return self.client(Target(self.pull.endpoint, Material(self.pull.authority), identity=identity))

    async def access(self, name: str, grant: Grant = NOTHING) -> Target:
        """An agent's access, got with a token."""
        member = await self.pull.world.member(name)
        registration = await self.pull.registration(member, grant=grant)
        return from_bytes(await agent_access(registration)).target()

    async def certificate(self, name: str, grant: Grant = NOTHING) -> Client:
        """An agent's client."""
        return self.client(await self.access(name, grant))


@pytest.fixture
async def attack(world: World) -> AsyncIterator[Attack]:
    async with AsyncExitStack() as stack:
        yield Attack(Pull(world, await world.plane.listen(), stack), stack)


async def decided(attack: Attack, name: str) -> Any:
    """The condition of a request once it has one."""
    found = await attack.hub.resource(REQUESTS).get(name)
    return ((found.get("status") or {}).get("conditions") or [None])[0]


def signing(name: str, cluster: str, seconds: int = 3600) -> dict[str, Any]:
    _, request = make_request(cluster)
    spec = {"signerName": "kubernetes.io/kube-apiserver-client", "expirationSeconds": seconds}
    spec |= {"usages": ["digital signature", "client auth"], "request": base64.b64encode(request).decode()}
    return {"metadata": {"name": name}, "spec": spec}


def cluster(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name, "labels": {"env": "prod"}, "annotations": {"a": "b"}, "finalizers": ["x/y"]},
        "spec": {"syncMode": "Pull", "id": "hostile"} | spec,
    }


async def test_a_token_does_not_become_the_impersonator_of_a_member(attack: Attack) -> None:
    pushed = await attack.pull.world.member("member1")
    await join(pushed.client, attack.hub, pushed.describe())
    bearer = await attack.bearer()
    await bearer.resource(REQUESTS).create(signing("theirs", "member1-impersonator"))
    condition = await eventually(lambda: decided(attack, "theirs"))
    assert condition["type"] == "Denied"
    assert "other clusters' Secrets" in condition["message"]


async def test_a_token_does_not_take_the_name_of_a_credential(attack: Attack) -> None:
    """Clusters may keep their credentials under any name."""
    await attack.hub.resource(objects.SECRETS).create(objects.secret("prod-key", "karmada-cluster", {"token": b"t"}))
    bearer = await attack.bearer()
    await bearer.resource(REQUESTS).create(signing("theirs", "prod-key"))
    condition = await eventually(lambda: decided(attack, "theirs"))
    assert condition["type"] == "Denied"
    assert "Secret karmada-cluster/prod-key exists" in condition["message"]


async def test_nobody_joins_a_cluster_under_a_name_that_an_agent_holds(attack: Attack) -> None:
    """Its agent would read the credentials as soon as they are written."""
    await attack.certificate("member1")
    pushed = await attack.pull.world.member("member1")
    with pytest.raises(Refused, match="an agent has registered under the name member1"):
        await join(pushed.client, attack.hub, pushed.describe())
    assert not (await attack.hub.resource(objects.SECRETS).list(Scope("karmada-cluster"))).items


async def test_an_old_certificate_is_worth_nothing_after_another_registration(attack: Attack) -> None:
    """Also before its request is withdrawn, and also to be renewed."""
    old = await attack.certificate("member3")
    assert (await old.resource(WORKS).list(Scope("karmada-es-member3"))).items == []
    await attack.hub.resource(REQUESTS).delete(
        (await attack.hub.resource(REQUESTS).list()).items[0]["metadata"]["name"]
    )
    member = await attack.pull.world.member("member3")
    await attack.pull.register(member)
    await attack.pull.world.ready("member3")
    for reading in (
        old.resource(WORKS).list(Scope("karmada-es-member3")),
        old.resource(objects.CLUSTERS).get("member3"),
        old.resource(objects.SECRETS).get("member3", "karmada-cluster"),
        old.resource(LEASES).get("member3", "karmada-cluster"),
        old.resource(objects.CLUSTERS).delete("member3"),
        old.resource(REQUESTS).create(signing("member3-renewal", "member3")),
    ):
        with pytest.raises(Forbidden):
            await reading


async def test_the_first_certificate_is_short_and_replaced_at_once(attack: Attack) -> None:
    member = await attack.pull.world.member("member3")
    lives = []

    async def life() -> float:
        secret = await member.client.resource(objects.SECRETS).get("karmada-kubeconfig", "karmada-system")
        pem = from_bytes(objects.decoded(secret)["karmada-kubeconfig"]).target().identity.certificate.read()
        parsed = x509.load_pem_x509_certificate(pem)
        return (parsed.not_valid_after_utc - parsed.not_valid_before_utc) / datetime.timedelta(days=1)

    async def noted() -> None:
        lives.append(await eventually(life))

    registration = await attack.pull.registration(member)
    await asyncio.gather(register(member.client, registration, lambda _: None), noted(), attack.pull.stand_in(member))
    assert lives[0] < 1.1

    async def long() -> bool:
        return await life() > 300

    await eventually(long, attempts=2000)
    await attack.pull.agents["member3"].stop()
    await attack.pull.start(member)
    await attack.pull.world.ready("member3")


async def test_a_long_first_certificate_and_a_second_cluster_are_for_the_token_to_allow(attack: Attack) -> None:
    member, other = await attack.pull.world.member("member3"), await attack.pull.world.member("member4")
    registration = await attack.pull.registration(member, rotation=False)
    with pytest.raises(Refused, match=r"may last 86400 s.*--certificate-seconds"):
        await agent_access(registration)
    registration = await attack.pull.registration(member)
    await agent_access(registration)
    with pytest.raises(Refused, match="was used by member3 and allows no further cluster"):
        await agent_access(await attack.pull.registration(other, token=registration.token))
    assert await agent_access(registration), "again, as long as it is no member"


async def test_an_agent_chooses_nothing_that_others_decide_by(attack: Attack) -> None:
    agent = await attack.certificate("evil")
    chosen = cluster(
        "evil",
        apiEndpoint="https://10.0.0.1",
        insecureSkipTLSVerification=True,
        proxyURL="http://evil:3128",
        proxyHeader={"X-A": "b"},
        provider="p",
        region="r",
        zones=["z"],
        taints=[{"key": "k", "effect": "NoSchedule"}],
    )
    made = await agent.resource(objects.CLUSTERS).create(chosen)
    assert set(made["spec"]) == {"syncMode", "id", "resourceModels"}
    assert not {"labels", "annotations", "finalizers"} & set(made["metadata"])
    status = {"metadata": {"labels": {"env": "prod"}}, "spec": {"region": "r"}, "status": {"kubernetesVersion": "v1"}}
    made = await agent.resource(objects.CLUSTERS).patch("evil", status, subresource="status")
    assert made["status"]["kubernetesVersion"] == "v1"
    assert "region" not in made["spec"]
    assert "labels" not in made["metadata"]
    for patch in ({"metadata": {"labels": {"env": "prod"}}}, {"spec": {"region": "r"}}):
        with pytest.raises(Forbidden):
            await agent.resource(objects.CLUSTERS).patch("evil", patch)


async def test_a_token_gives_labels_and_allows_fields(attack: Attack) -> None:
    grant = Grant(fields=("region", "zones"), labels={"team": "a"})
    agent = await attack.certificate("good", grant)
    made = await agent.resource(objects.CLUSTERS).create(cluster("good", region="r", zones=["z"], provider="p"))
    assert (made["spec"]["region"], made["spec"]["zones"]) == ("r", ["z"])
    assert "provider" not in made["spec"]
    assert made["metadata"]["labels"] == {"team": "a"}


@pytest.mark.parametrize("grant", [NOTHING, EVERYTHING], ids=["nothing", "everything"])
async def test_register_says_what_was_not_taken_and_how_it_can_be(attack: Attack, grant: Grant) -> None:
    member = await attack.pull.world.member("member3")
    lines: list[str] = []
    registration = await attack.pull.registration(member, grant=grant, region="r", api_endpoint=member.endpoint)
    agent = attack.pull.stand_in(member, region="r")
    await asyncio.gather(register(member.client, registration, lines.append), agent)
    warnings = [line for line in lines if line.startswith("[warning]")]
    found = await attack.hub.of(Cluster).get("member3")
    if grant == EVERYTHING:
        assert not warnings
        assert (found.spec.api_endpoint, found.spec.region) == (member.endpoint, "r")
    else:
        assert ["spec.apiEndpoint" in warnings[0], "spec.region" in warnings[1]] == [True, True]
        assert all("karmadactl token create --allow" in warning for warning in warnings)
        assert (found.spec.api_endpoint, found.spec.region) == ("", "")


async def test_an_agents_events_are_in_its_execution_space_and_about_its_own(attack: Attack) -> None:
    agent = await attack.certificate("evil")

    def event(space: str, **about: str) -> dict[str, Any]:
        return {"metadata": {"name": "x", "namespace": space}, "involvedObject": {"namespace": space} | about}

    for space in ("default", "karmada-cluster", "karmada-es-member1"):
        with pytest.raises(Forbidden):
            await agent.resource(EVENTS).create(event(space, kind="Pod", name="web"), space)
    own = "karmada-es-evil"
    with pytest.raises(Forbidden, match="no events about other clusters"):
        await agent.resource(EVENTS).create(event(own, kind="Cluster", name="member1"), own)
    await agent.resource(EVENTS).create(event(own, kind="Work", name="web"), own)


async def test_an_agent_stands_in_nobodys_way_when_it_asks_for_certificates(attack: Attack) -> None:
    agent = await attack.certificate("evil")
    with pytest.raises(Forbidden, match="is called evil-renewal"):
        await agent.resource(REQUESTS).create(signing("member3-renewal", "evil"))


async def test_an_agent_that_takes_its_cluster_away_makes_no_other_one(attack: Attack) -> None:
    """It would be without the taints and labels that an administrator gave to the first."""
    agent = await attack.certificate("evil")
    clusters = attack.hub.resource(objects.CLUSTERS)
    await agent.resource(objects.CLUSTERS).create(cluster("evil"))
    await clusters.patch("evil", {"spec": {"taints": [{"key": "untrusted", "effect": "NoSchedule"}]}})
    await agent.resource(objects.CLUSTERS).delete("evil")
    await eventually(lambda: is_gone(clusters.get("evil")))
    with pytest.raises(Forbidden):
        await agent.resource(objects.CLUSTERS).create(cluster("evil"))
    with pytest.raises(Forbidden):
        await agent.resource(REQUESTS).create(signing("evil-renewal", "evil"))
    await attack.pull.register(await attack.pull.world.member("evil"))
    await attack.pull.world.ready("evil")


async def test_an_agent_reports_its_state_and_not_what_is_done_about_it(attack: Attack) -> None:
    agent, clusters = await attack.certificate("evil"), attack.hub.resource(objects.CLUSTERS)
    own = agent.resource(objects.CLUSTERS)
    await own.create(cluster("evil"))
    asked: list[str] = ["TrafficControl"]
    await clusters.patch("evil", {"status": {"remedyActions": asked}}, subresource="status")
    await own.patch("evil", {"status": {"remedyActions": None, "kubernetesVersion": "v2"}}, subresource="status")
    assert (await clusters.get("evil"))["status"] == {"remedyActions": asked, "kubernetesVersion": "v2"}
    await own.update({**await own.get("evil"), "status": {"kubernetesVersion": "v3"}}, "status")
    with pytest.raises(Invalid):
        await own.patch("evil", {"status": "none"}, subresource="status")
    assert (await clusters.get("evil"))["status"] == {"remedyActions": asked, "kubernetesVersion": "v3"}


async def test_an_agent_reports_no_more_than_others_can_read(attack: Attack) -> None:
    agent, space = await attack.certificate("evil"), "karmada-es-evil"
    clusters, works = agent.resource(objects.CLUSTERS), agent.resource(WORKS)
    await clusters.create(cluster("evil"))
    bounds = {70_000: r"status\.resourceSummary of a Cluster has at most 65536 bytes", 2: "two counts for one grade"}
    for times, why in bounds.items():
        summary = {"allocatableModelings": [{"grade": 1, "count": 1}] * times}
        with pytest.raises(Forbidden, match=why):
            await clusters.patch("evil", {"status": {"resourceSummary": summary}}, subresource="status")
    tree: dict[str, Any] = {"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "spec": {"workload": {}}}
    await works.create({**tree, "metadata": {"name": "w", "namespace": space}}, space)
    with pytest.raises(Forbidden, match="at most 262144 bytes together"):
        await works.patch("w", reported("x" * 300_000), space, subresource="status")
    await works.patch("w", reported("x"), space, subresource="status")


def reported(text: str) -> dict[str, Any]:
    """A Work's status with that of its object."""
    which = {"ordinal": 0, "version": "v1", "kind": "ConfigMap", "resource": "configmaps", "name": "c"}
    return {"status": {"manifestStatuses": [{"identifier": which, "status": {"text": text}}]}}


async def test_an_agent_makes_no_work_for_a_binding(attack: Attack) -> None:
    """Others would wait for what it says to run, by a fence or a disruption budget, though nobody sent it there."""
    agent, space = await attack.certificate("evil"), "karmada-es-evil"
    works = agent.resource(WORKS)
    marks: dict[str, Any] = {
        "labels": {"resourcebinding.karmada.io/permanent-id": "known"},
        "annotations": {"resourcebinding.karmada.io/namespace": "shop", "resourcebinding.karmada.io/name": "web"},
    }
    tree: dict[str, Any] = {"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "spec": {"workload": {}}}
    own = {"name": "w", "namespace": space}
    for part in (marks, {"labels": marks["labels"]}, {"annotations": marks["annotations"]}):
        with pytest.raises(Forbidden, match="made for a binding by the control plane only"):
            await works.create({**tree, "metadata": {**own, **part}}, space)
    await works.create({**tree, "metadata": own}, space)
    with pytest.raises(Forbidden, match="made for a binding by the control plane only"):
        await works.patch("w", {"metadata": marks}, space)
    await attack.hub.resource(WORKS).patch("w", {"metadata": marks}, space)
    await works.patch("w", {"metadata": {"finalizers": ["karmada.io/execution-controller"]}}, space)


async def test_who_may_read_everything_does_not_answer_in_a_members_place(attack: Attack) -> None:
    """A tunnel is opened by a GET; it would be sent what others write there, and as whom."""
    pushed = await attack.pull.world.member("member1")
    await join(pushed.client, attack.hub, pushed.describe())
    role = objects.cluster_role("reader", [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}])
    await attack.hub.resource(objects.CLUSTER_ROLES).create(role)
    subject = objects.account_subject("auditor", "default")
    await attack.hub.resource(objects.CLUSTER_ROLE_BINDINGS).create(objects.cluster_role_binding("reader", subject))
    accounts = attack.hub.resource(objects.SERVICE_ACCOUNTS)
    await accounts.create(objects.service_account("auditor", "default"))
    given = await accounts.submit("auditor", "token", {"spec": {"expirationSeconds": 3600}}, "default")
    identity = Identity(token=Material(given["status"]["token"].encode()))
    reader = attack.client(Target(attack.pull.endpoint, Material(attack.pull.authority), identity=identity))
    assert (await reader.resource(objects.CLUSTERS).get("member1"))["spec"]["syncMode"] == "Push"
    with pytest.raises(Forbidden, match='cannot create resource "clusters/tunnel"'):
        await reader.transport.raw("GET", TUNNEL.format("member1"))
    agent = await attack.certificate("member3")
    await agent.resource(objects.CLUSTERS).create(cluster("member3"))
    with pytest.raises(BadRequest, match="needs the header Upgrade"):
        await agent.transport.raw("GET", TUNNEL.format("member3"))


async def test_a_tunnel_ends_with_its_cluster(attack: Attack) -> None:
    """Whoever opened it must not answer for the next cluster of this name."""
    member, tunnels = await attack.pull.world.member("member3"), attack.pull.world.plane.clusters.tunnels
    await attack.pull.register(member, report_secrets=frozenset(), tunnel=True)

    async def is_open() -> bool:
        return tunnels.has("member3")

    async def is_closed() -> bool:
        return not tunnels.has("member3")

    await eventually(is_open)
    await attack.hub.resource(objects.CLUSTERS).delete("member3")
    await eventually(is_closed)


async def test_a_request_that_waited_opens_no_tunnel_to_the_next_cluster_of_the_name(attack: Attack) -> None:
    """It was sent by the registration before, behind an answer that lasts."""
    old, server = await attack.access("member3"), attack.pull.world.plane.server
    await attack.client(old).resource(objects.CLUSTERS).create(cluster("member3"))
    certificate = x509.load_pem_x509_certificate(old.identity.certificate.read()).public_bytes(Encoding.DER)
    headers = {"connection": "upgrade", "upgrade": PROTOCOL, "content-length": "1"}
    request = HttpRequest("GET", TUNNEL.format("member3"), "", headers, b"x", ("127.0.0.1", 1), certificate)
    identity = server.identity
    http = HttpDispatcher(server.dispatcher, identity.requester_of, impersonate=identity.acting_as)
    assert isinstance(http.admit(request), int)
    clusters = attack.hub.resource(objects.CLUSTERS)
    await clusters.delete("member3")
    await eventually(lambda: is_gone(clusters.get("member3")))
    await (await attack.certificate("member3")).resource(objects.CLUSTERS).create(cluster("member3"))
    answer = await http(request)
    assert isinstance(answer, HttpResponse)
    assert answer.status == 403


async def test_a_tunnel_ends_with_its_registration(attack: Attack) -> None:
    """Also where the Cluster stays."""
    agent, tunnels = await attack.access("member3"), attack.pull.world.plane.clusters.tunnels
    await attack.client(agent).resource(objects.CLUSTERS).create(cluster("member3"))
    context = TLSSettings(agent).context(agent.identity.certificate, agent.identity.key)
    channel = await dial(agent, context)
    head = f"GET {TUNNEL.format('member3')} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: {PROTOCOL}\r\n\r\n"
    ping = encode(Frame(0, Kind.PING))

    async def is_closed() -> bool:
        return not tunnels.has("member3")

    try:
        async with asyncio.timeout(30):
            await channel.write(head.encode())
            assert (await channel.read()).startswith(b"HTTP/1.1 101 ")
            await channel.write(ping)
            assert await channel.read() == encode(Frame(0, Kind.PONG))
            await attack.hub.resource(objects.CLUSTER_ROLE_BINDINGS).delete(objects.registration_record("member3"))
            await channel.write(ping)
            assert await channel.read() == b""
    finally:
        await channel.close()
    await eventually(is_closed)
    assert (await attack.hub.resource(objects.CLUSTERS).get("member3"))["metadata"]["name"] == "member3"
