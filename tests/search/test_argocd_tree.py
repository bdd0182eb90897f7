"""The resource tree of Argo CD over the global API server: its own cache walks owners down to the pods of members."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests import programs
from tests.membership.world import QUICK, Member, World
from tests.planes import stored
from tests.search.workloads import DEPLOYMENTS, REPLICA_SETS, propagate, roll_out, scale_up
from tests.search.world import PODS, VIEW, Searched, configure, registry

from karmada.machinery.options import Options
from karmada.machinery.transport import JSONObject
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

pytestmark = pytest.mark.tools
SECONDS = 60.0
Tree = list[JSONObject]


def leaf(kind: str, name: str, cluster: str, *children: JSONObject) -> JSONObject:
    """An object as the program prints it."""
    return {"kind": kind, "name": name, "cluster": cluster, **({"children": list(children)} if children else {})}


@asynccontextmanager
async def followed(folder: Path, *roots: str) -> AsyncIterator[Callable[[Tree], Awaitable[None]]]:
    """Argo CD's cache of the cluster in a kubeconfig; waits until the tree under some objects is a given one."""
    program = await asyncio.to_thread(programs.engine, "argocd", "tree", "./tree")
    process = await asyncio.create_subprocess_exec(
        program,
        *roots,
        env={**os.environ, "KUBECONFIG": str(folder / "kubeconfig")},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )

    async def shows(wanted: Tree) -> None:
        seen: list[Tree] = []
        try:
            async with asyncio.timeout(SECONDS):
                while not seen or seen[-1] != wanted:
                    assert process.stdout is not None
                    line = await process.stdout.readline()
                    assert line, f"the program has ended after {seen}"
                    seen.append(json.loads(line))
        except TimeoutError:
            raise AssertionError(f"the tree became {seen}, never {wanted}") from None

    try:
        yield shows
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.fixture
async def searched(tmp_path: Path) -> AsyncIterator[Searched]:
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(
            ControlPlane(ControlPlaneOptions(storage=stored(), options=Options(QUICK)))
        )
        made = Searched(World(plane, stack))
        await made.start("member1", "member2")
        configure(made, tmp_path)
        yield made


async def test_the_tree_of_deployments_of_members_appears_and_follows_changes(
    searched: Searched, tmp_path: Path
) -> None:
    first, second = searched.members["member1"].client, searched.members["member2"].client
    shop = await roll_out(first, "shop", "shop-1-a", "shop-1-b")
    await roll_out(second, "blog", "blog-1-a")
    await searched.register(registry(("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "Pod")))
    blog = leaf("ReplicaSet", "blog-1", "member2", leaf("Pod", "blog-1-a", "member2"))

    def shop_with(*pods: str) -> JSONObject:
        under = [leaf("Pod", name, "member1") for name in pods]
        return leaf("Deployment", "shop", "member1", leaf("ReplicaSet", "shop-1", "member1", *under))

    async with followed(tmp_path, "apps/Deployment/default/shop", "apps/Deployment/default/blog") as shows:
        both = leaf("Deployment", "blog", "member2", blog)
        await shows([shop_with("shop-1-a", "shop-1-b"), both])
        await scale_up(first, shop, "shop-1-c")
        await shows([shop_with("shop-1-a", "shop-1-b", "shop-1-c"), both])
        await first.resource(PODS).delete("shop-1-a", "default")
        await shows([shop_with("shop-1-b", "shop-1-c"), both])
        await second.resource(DEPLOYMENTS).delete("blog", "default")
        await shows([shop_with("shop-1-b", "shop-1-c")])


async def test_the_tree_follows_a_cluster_that_joins(searched: Searched, tmp_path: Path) -> None:
    await roll_out(searched.members["member1"].client, "shop", "shop-1-a")
    await searched.register(registry(("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "Pod")))
    late: Member = await searched.world.member("member3")
    await roll_out(late.client, "blog", "blog-1-a")

    def tree(name: str, cluster: str) -> JSONObject:
        replicas = leaf("ReplicaSet", f"{name}-1", cluster, leaf("Pod", f"{name}-1-a", cluster))
        return leaf("Deployment", name, cluster, replicas)

    async with followed(tmp_path, "apps/Deployment/default/shop", "apps/Deployment/default/blog") as shows:
        await shows([tree("shop", "member1")])
        await searched.adopt(late)
        await shows([tree("shop", "member1"), tree("blog", "member3")])


async def test_a_template_has_the_pods_of_all_its_clusters_under_it(searched: Searched, tmp_path: Path) -> None:
    configure(searched, tmp_path, VIEW)
    first, second = searched.members["member1"].client, searched.members["member2"].client
    await propagate(searched, "shop", "member1", "member2")
    await roll_out(first, "shop", "shop-1-a")
    replicas = await roll_out(second, "shop", "shop-1-a")
    await roll_out(second, "local", "local-1-a")
    await searched.register(registry(("apps/v1", "Deployment"), ("apps/v1", "ReplicaSet"), ("v1", "Pod")))

    def below(cluster: str, *pods: str) -> JSONObject:
        under = [leaf("Pod", f"{name}.{cluster}", cluster) for name in pods]
        return leaf("ReplicaSet", f"shop-1.{cluster}", cluster, *under)

    def shop(*children: JSONObject) -> list[JSONObject]:
        return [leaf("Deployment", "shop", "", *children, leaf("ResourceBinding", "shop-deployment", ""))]

    async with followed(tmp_path, "apps/Deployment/default/shop", "apps/Deployment/default/local") as shows:
        await shows(shop(below("member1", "shop-1-a"), below("member2", "shop-1-a")))
        await scale_up(second, replicas, "shop-1-b")
        await shows(shop(below("member1", "shop-1-a"), below("member2", "shop-1-a", "shop-1-b")))
        await first.resource(REPLICA_SETS).delete("shop-1", "default")
        await first.resource(PODS).delete("shop-1-a", "default")
        await shows(shop(below("member2", "shop-1-a", "shop-1-b")))
