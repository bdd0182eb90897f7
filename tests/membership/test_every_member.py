"""Components that only read reach members of both modes by one seam, which costs nothing until somebody asks."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

import pytest

from karmada.agent.options import AgentOptions
from karmada.aggregated.cluster_type import cluster_type
from karmada.api import yaml
from karmada.api.cluster.v1alpha1 import Cluster, ClusterSpec, LocalSecretReference
from karmada.api.meta import ObjectMeta
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.auth.kubeconfig import kubeconfig
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.controllers.hpa_members import MemberReader
from karmada.machinery.client import Client
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import BadAnswer, Forbidden
from karmada.machinery.http.target import Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.cache import Key
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource, Request, Transport, WatchStream
from karmada.membership.access import NoAddress, target_of
from karmada.membership.answers import Answers, Unread
from karmada.membership.connections import PushMembers
from karmada.membership.every_member import EveryMember, SecretOrTunnel, by_proxy
from karmada.membership.members import MemberUnavailable
from karmada.standalone.control_plane import METRICS_ADAPTER, ControlPlane, ControlPlaneOptions
from karmada.testing.loop import VirtualClock, run_virtual

CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
PODS = GroupVersionResource("", "v1", "pods")
CLOCK = VirtualClock()


class Link:
    """A transport that counts what it is asked."""

    def __init__(self, answer: Callable[[], Awaitable[bytes]]) -> None:
        self._answer = answer
        self.asked: list[str] = []
        self.closed = False

    async def send(self, request: Request) -> bytes:
        self.asked.append(f"{request.verb.value} {request.resource.resource}/{request.subresource}".rstrip("/"))
        return await self._answer()

    def watch(self, request: Request) -> AbstractAsyncContextManager[WatchStream]:
        raise AssertionError(f"{request.resource.resource} are followed")

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        return await self._answer()

    async def close(self) -> None:
        self.closed = True


class Opening:
    """An `OpenTransport` that remembers for whom."""

    def __init__(self, answer: Callable[[], Awaitable[bytes]]) -> None:
        self._answer = answer
        self.links: dict[str, Link] = {}

    async def __call__(self, cluster: Cluster) -> Transport:
        link = self.links[cluster.metadata.name] = Link(self._answer)
        return link


async def scale() -> bytes:
    return b'{"spec":{"replicas":3},"status":{"replicas":2,"selector":"app=web"}}'


async def too_much() -> bytes:
    raise BadAnswer("the answer has too many bytes")


async def never() -> bytes:
    await CLOCK.sleep(3600)
    return b"{}"


def cluster(name: str, mode: str = "Pull", secret: bool = False, endpoint: str = "") -> Cluster:
    reference = LocalSecretReference(namespace="karmada-cluster", name=name) if secret else None
    spec = ClusterSpec(sync_mode=mode, secret_ref=reference, api_endpoint=endpoint)
    return Cluster(metadata=ObjectMeta(name=name), spec=spec)


@asynccontextmanager
async def known(*clusters: tuple[str, str]) -> AsyncIterator[tuple[Client, Informer[Cluster]]]:
    """A control plane that has clusters of these names and modes."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer(ApiServerOptions(apis=[LocalApi([cluster_type()])])))
        client = Client(server.direct(ADMIN))
        for name, mode in clusters:
            await client.resource(CLUSTERS).create({"metadata": {"name": name}, "spec": {"syncMode": mode}})
        supervisor = await stack.enter_async_context(Supervisor(CLOCK))
        informers = InformerFactory(client, supervisor, clock=CLOCK)
        found = informers.of(Cluster)
        await informers.synced()
        yield client, found


def test_push_members_are_read_over_the_connections_there_are_and_others_are_opened_when_asked_for() -> None:
    async def scenario() -> None:
        pushed, pulled = Opening(scale), Opening(scale)
        push = PushMembers(pushed, CLOCK)
        members = EveryMember(push, pulled, CLOCK)
        first, second = cluster("first", "Push"), cluster("second")
        assert members.concerns(first)
        assert members.concerns(second)
        assert not pushed.links
        assert not pulled.links
        assert await members.connect(first) is await push.connect(first)
        assert await members.connect(second) is await members.connect(second)
        assert (list(pushed.links), list(pulled.links)) == (["first"], ["second"])
        await members.close()
        assert pulled.links["second"].closed
        assert not pushed.links["first"].closed
        await push.close()

    run_virtual(scenario)


def test_a_member_that_leaves_is_closed() -> None:
    async def scenario() -> None:
        async with known(("pulled", "Pull")) as (client, clusters):
            opening = Opening(scale)
            members = EveryMember(PushMembers(opening, CLOCK), opening, CLOCK)
            members.forget_left(clusters)
            found = clusters.get("pulled")
            assert found is not None
            await members.connect(found)
            await client.resource(CLUSTERS).delete("pulled")
            await CLOCK.sleep(5)
            assert opening.links["pulled"].closed
            await members.close()

    run_virtual(scenario)


async def test_the_secret_is_the_first_way_and_the_proxy_the_one_of_members_whose_secret_leads_nowhere() -> None:
    secret, proxied = Link(scale), Link(scale)

    async def by_secret(wanted: Cluster) -> Transport:
        if wanted.metadata.name == "nowhere":
            raise NoAddress("the api endpoint is empty")
        if wanted.metadata.name == "broken":
            raise MemberUnavailable("the secret does not exist")
        return secret

    reach = SecretOrTunnel(by_secret, lambda _: proxied)
    assert await reach(cluster("reported", secret=True)) is secret
    assert await reach(cluster("pushed", "Push", secret=True)) is secret
    assert await reach(cluster("nowhere", secret=True)) is proxied
    assert await reach(cluster("tunnelled")) is proxied
    with pytest.raises(MemberUnavailable, match="the secret does not exist"):
        await reach(cluster("broken", secret=True))


def test_the_secret_of_a_pull_member_cannot_say_where_the_control_plane_connects_to() -> None:
    config = kubeconfig("https://10.0.0.1:6443", b"ca", token="t")
    config["clusters"][0]["cluster"]["proxy-url"] = "http://10.0.0.2:3128"
    data = {"kubeconfig": yaml.dump(config).encode()}
    assert target_of(cluster("m", "Push", secret=True), data).server == "https://10.0.0.1:6443"
    with pytest.raises(NoAddress, match="the api endpoint of cluster m is empty"):
        target_of(cluster("m", secret=True), data)
    found = target_of(cluster("m", secret=True, endpoint="https://m:6443"), data)
    assert (found.server, found.proxy) == ("https://m:6443", "")


async def test_the_proxy_is_asked_as_the_component_below_the_path_of_the_cluster() -> None:
    async with ApiServer(ApiServerOptions(apis=[LocalApi([cluster_type()])])) as server:
        port = await server.listen()
        transport = by_proxy(Target(f"https://127.0.0.1:{port}/", insecure=True), "karmada-metrics-adapter")(
            cluster("m")
        )
        assert isinstance(transport, HttpTransport)
        with pytest.raises(Forbidden, match=r'clusters.cluster.karmada.io "m" is forbidden'):
            await transport.raw("GET", "/version")
        await transport.close()


def test_a_pull_member_has_one_deadline_and_is_cut_off_for_answers_that_no_server_gives() -> None:
    async def scenario() -> None:
        async with known(("silent", "Pull"), ("hostile", "Pull")) as (_, clusters):
            opened = {"silent": Opening(never), "hostile": Opening(too_much)}

            async def other(wanted: Cluster) -> Transport:
                return await opened[wanted.metadata.name](wanted)

            members = EveryMember(PushMembers(other, CLOCK), other, CLOCK)
            answers = Answers(CLOCK, keep=1.0, deadline=5.0)

            async def read(name: str) -> None:
                member = await answers.member(name, clusters, members)
                await answers.of(name, "pods", lambda: member.client.encoded(PODS).list())

            started = CLOCK.monotonic()
            with pytest.raises(Unread, match="no answer within 5 s"):
                await read("silent")
            assert CLOCK.monotonic() - started == 5
            with pytest.raises(Unread, match="too many bytes"):
                await read("hostile")
            await CLOCK.sleep(2)
            with pytest.raises(Unread, match="nothing is asked of the cluster for a while"):
                await read("hostile")
            assert opened["hostile"].links["hostile"].asked == ["list pods"]
            await members.close()

    run_virtual(scenario)


def test_the_scale_of_a_workload_in_a_pull_member_is_asked_for_and_nothing_is_followed_there() -> None:
    async def scenario() -> None:
        async with known(("pulled", "Pull")) as (client, clusters):
            opening = Opening(scale)
            push = PushMembers(opening, CLOCK)
            members = EveryMember(push, opening, CLOCK)
            reader = MemberReader(client, push, members, clusters, Answers(CLOCK, keep=1.0))
            served = ApiResource(DEPLOYMENTS, "Deployment", True)
            for _ in range(3):
                found = await reader.scale("pulled", served, Key("default", "web"))
                assert found == (3, 2, "app=web")
            assert opening.links["pulled"].asked == ["get deployments/scale"]
            await members.close()

    run_virtual(scenario)


@pytest.mark.parametrize("addons", [frozenset(), frozenset({METRICS_ADAPTER})], ids=["nothing", "the adapter"])
def test_a_pull_member_is_opened_by_the_addon_that_reads_it_and_by_nobody_else(addons: frozenset[str]) -> None:
    async def scenario() -> None:
        opened: list[str] = []
        async with ApiServer() as member:

            async def open_member(wanted: Cluster) -> Transport:
                opened.append(wanted.metadata.name)
                return member.direct(ADMIN)

            options = ControlPlaneOptions(clock=CLOCK, addons=addons)
            async with ControlPlane(options, open_member) as plane:
                await plane.pull(member.direct(ADMIN), AgentOptions("pulled", "https://pulled"))
                await CLOCK.sleep(120)
        assert opened == (["pulled"] if addons else [])

    run_virtual(scenario)
