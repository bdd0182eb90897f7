"""One identity, one Cluster: whoever writes at the same moment, by whichever server."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.membership.world import World

from karmada.aggregated.identities import CLAIMS, PATIENCE, ClusterIdentities
from karmada.aggregated.server import ClusterServer, Trust
from karmada.apiserver.server import ADMIN, ApiServer
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery.client import Client
from karmada.machinery.errors import AlreadyExists, ApiError, Forbidden
from karmada.membership import objects
from karmada.membership.join import join
from karmada.membership.refusal import Refused


def cluster(name: str, identity: str) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push", "id": identity},
    }


async def attempts(clients: list[Client], identity: str, count: int = 10) -> list[object]:
    """Everybody creates a Cluster of the same identity, under names of their own, at once."""
    return await asyncio.gather(
        *(
            clients[n % len(clients)].resource(objects.CLUSTERS).create(cluster(f"m{n}", identity))
            for n in range(count)
        ),
        return_exceptions=True,
    )


def winners(outcomes: list[object]) -> list[str]:
    refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert all(isinstance(error, Forbidden) and "registered as m" in str(error) for error in refused), refused
    return [outcome["metadata"]["name"] for outcome in outcomes if isinstance(outcome, dict)]


async def settled(server: ClusterServer) -> bool:
    for _ in range(200):
        if not server.store.list(CLAIMS).items:
            return True
        await asyncio.sleep(0.01)
    return False


@pytest.fixture
async def server() -> Any:
    async with AsyncExitStack() as stack:
        front = await stack.enter_async_context(ApiServer())
        hub = Client(front.direct(ADMIN))
        yield await stack.enter_async_context(ClusterServer(MemoryStorage(), hub, Trust()))


async def test_of_many_at_once_one_is_stored(server: ClusterServer) -> None:
    client = Client(server.direct())
    assert len(winners(await attempts([client], "one"))) == 1
    assert len((await client.resource(objects.CLUSTERS).list()).items) == 1
    assert await settled(server), "no claim outlives the write it was made for"


@pytest.mark.tools
async def test_replicas_on_one_etcd_do_not_pass_each_other(replicas: list[ClusterServer]) -> None:
    clients = [Client(server.direct()) for server in replicas]
    for round_ in range(5):
        identity = f"id-{round_}"
        (winner,) = winners(await attempts(clients, identity, 6))
        await replicas[0].store.sync()
        known = (await clients[0].resource(objects.CLUSTERS).list()).items
        assert [c["metadata"]["name"] for c in known if c["spec"]["id"] == identity] == [winner]
        await clients[round_ % 2].resource(objects.CLUSTERS).delete(winner)
        await asyncio.gather(*(server.store.sync() for server in replicas))


async def test_a_cluster_that_left_can_join_under_another_name_at_once(server: ClusterServer) -> None:
    clusters = Client(server.direct()).resource(objects.CLUSTERS)
    await clusters.create(cluster("m1", "one"))
    await clusters.delete("m1")
    assert await settled(server)
    await clusters.create(cluster("m2", "one"))


async def test_an_identity_given_later_is_claimed_as_well(server: ClusterServer) -> None:
    clusters = Client(server.direct()).resource(objects.CLUSTERS)
    for name in ("m1", "m2"):
        made = cluster(name, "")
        await clusters.create(made)
    outcomes = await asyncio.gather(
        *(clusters.patch(name, {"spec": {"id": "one"}}) for name in ("m1", "m2")), return_exceptions=True
    )
    assert sorted(isinstance(outcome, Forbidden) for outcome in outcomes) == [False, True]
    assert await settled(server)


async def test_a_name_that_is_taken_is_reported_as_such_and_claims_nothing(server: ClusterServer) -> None:
    clusters = Client(server.direct()).resource(objects.CLUSTERS)
    await clusters.create(cluster("m1", "one"))
    with pytest.raises(AlreadyExists):
        await clusters.create(cluster("m1", "two"))
    await clusters.create(cluster("m2", "two"))


async def test_a_claim_whose_owner_died_is_taken_over_in_time(server: ClusterServer) -> None:
    now = [0.0]
    dead, alive = ClusterIdentities(), ClusterIdentities(lambda: now[0])
    for identities in (dead, alive):
        identities.connect(server.store)
    await dead._claim("one", "m1")
    for _ in range(2):
        with pytest.raises(Exception, match="is being registered as m1"):
            await alive._claim("one", "m2")
        now[0] += PATIENCE - 1
    now[0] += 2
    await alive._claim("one", "m2")


async def test_two_joins_of_one_cluster_end_with_one_member(world: World) -> None:
    member = await world.member("m1")
    outcomes = await asyncio.gather(
        *(join(member.client, world.hub, member.describe(name)) for name in ("m1", "m2")), return_exceptions=True
    )
    assert sorted(isinstance(outcome, Refused) for outcome in outcomes) == [False, True], outcomes
    (joined,) = [outcome["metadata"]["name"] for outcome in outcomes if isinstance(outcome, dict)]
    await world.ready(joined)
    lost = {"m1", "m2"} - {joined}
    left = [s["metadata"]["name"] for s in (await world.hub.resource(objects.SECRETS).list()).items]
    assert not {f"{name}{end}" for name in lost for end in ("", "-impersonator")} & set(left)


async def test_two_clusters_under_one_name_end_with_the_credentials_of_the_one_that_won(world: World) -> None:
    members = [await world.member(f"m{n}") for n in range(2)]
    outcomes = await asyncio.gather(
        *(join(member.client, world.hub, member.describe("same")) for member in members), return_exceptions=True
    )
    assert sorted(isinstance(outcome, (Refused, ApiError)) for outcome in outcomes) == [False, True], outcomes
    await world.ready("same")


async def test_secrets_of_a_cluster_that_left_are_no_obstacle_to_the_next_of_its_name(world: World) -> None:
    member = await world.member("m1")
    stale = objects.secret("m1", "karmada-cluster", {"token": b"old"}, objects.owned_by(cluster("m1", "") | GONE))
    await world.hub.resource(objects.SECRETS).create(stale)
    await join(member.client, world.hub, member.describe())
    await world.ready("m1")


GONE = {"metadata": {"name": "m1", "uid": "a-cluster-that-left"}}
