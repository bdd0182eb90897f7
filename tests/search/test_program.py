"""The program karmada-search beside a control plane caches members in pull mode through the tunnel of their agent."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.membership.test_pull import Pull
from tests.membership.world import QUICK, Member, World, eventually
from tests.search.workloads import DEPLOYMENTS, POLICIES, owned_by, propagated
from tests.search.world import GROUP, PODS, PROXY, REGISTRIES, VIEW, names, pod, registry

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.options import Options
from karmada.machinery.transport import JSONObject
from karmada.membership import objects
from karmada.membership.component_roles import search_in_members, user_of
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

SECONDS = 60.0


class Program:
    """A running karmada-search, and clients of it as an administrator."""

    def __init__(self, world: World, port: int) -> None:
        self._world = world
        self._port = port

    def client(self, path: str = "") -> Client:
        identity = Identity(*map(Material, self._issued("admin", "system:masters")))
        return Client(HttpTransport(Target(f"https://127.0.0.1:{self._port}{path}", insecure=True, identity=identity)))

    def _issued(self, user: str, *groups: str) -> tuple[bytes, bytes]:
        return self._world.plane.server.identity.authority.issue_client(user, groups)


@asynccontextmanager
async def started(world: World, folder: Path) -> AsyncIterator[Program]:
    """The program with the rights of its own user, until it is stopped."""
    authority = world.plane.server.identity.authority
    (folder / "ca.crt").write_bytes(authority.certificate_pem)
    certificate, key = authority.issue_client(user_of("karmada-search"), ())
    config = kubeconfig(world.endpoint, authority.certificate_pem, certificate=certificate, key=key)
    write_kubeconfig(folder / "kubeconfig", config)
    flags = {
        "kubeconfig": folder / "kubeconfig",
        "client-ca-file": folder / "ca.crt",
        "storage": f"sqlite:///{folder}/registries.db",
        "cache-file": folder / "search.sqlite",
        "cert-dir": folder / "certificates",
        "bind-address": "127.0.0.1",
        "secure-port": 0,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from karmada.cli.entry import search; search()",
        *(f"--{name}={value}" for name, value in flags.items()),
        stderr=asyncio.subprocess.PIPE,
    )
    lines: list[str] = []
    serving = asyncio.get_running_loop().create_future()

    async def read() -> None:
        assert process.stderr is not None
        while line := (await process.stderr.readline()).decode():
            lines.append(line)
            found = re.search(r"serving on port (\d+)", line)
            if found is not None and not serving.done():
                serving.set_result(int(found[1]))
        if not serving.done():
            serving.set_exception(AssertionError(f"karmada-search has ended: {''.join(lines)}"))

    reader = asyncio.create_task(read())
    try:
        yield Program(world, await asyncio.wait_for(serving, SECONDS))
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), SECONDS)
        await reader


async def register_behind_a_tunnel(world: World, stack: AsyncExitStack) -> Member:
    """A member in pull mode that reports no credentials, whose owner lets search read it."""
    member = await world.member("member3")
    role, binding = search_in_members()
    await member.client.resource(objects.CLUSTER_ROLES).create(role)
    await member.client.resource(objects.CLUSTER_ROLE_BINDINGS).create(binding)
    await Pull(world, world.endpoint, stack).register(member, report_secrets=frozenset(), tunnel=True)
    await world.ready("member3")
    return member


async def test_a_member_behind_a_tunnel_is_listed_watched_and_found_after_a_restart_too(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        options = ControlPlaneOptions(options=Options(QUICK), search=False)
        plane = await stack.enter_async_context(ControlPlane(options))
        world = World(plane, stack)
        world.endpoint = await plane.listen()
        member = await register_behind_a_tunnel(world, stack)
        pods = member.client.resource(PODS)
        await pods.create(pod("a"))
        async with started(world, tmp_path) as program:
            own, proxy = program.client(), program.client(PROXY)
            await own.resource(REGISTRIES).create(registry(("v1", "Pod")))

            async def is_ready() -> bool:
                conditions = (await own.resource(REGISTRIES).get("all")).get("status", {}).get("conditions", [])
                return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

            await eventually(is_ready, 3000)
            assert names((await proxy.resource(PODS).list()).items) == [("member3", "a")]
            await pods.create(pod("b"))
            await eventually(lambda: _lists(proxy, "a", "b"), 3000)
            await eventually(lambda: _finds(own, "name:b", "b"), 3000)
            await own.close()
            await proxy.close()
            await _shows_templates(world, member, program.client(VIEW))
            await pods.delete("c", "default")
        await pods.delete("a", "default")
        async with started(world, tmp_path) as program:
            proxy = program.client(PROXY)
            await eventually(lambda: _lists(proxy, "b"), 3000)
            await proxy.close()


async def _lists(proxy: Client, *wanted: str) -> bool:
    try:
        found = (await proxy.resource(PODS).list()).items
    except Forbidden:  # it does not know its registries yet: the control plane is asked, where it may not impersonate
        return False
    return names(found) == [("member3", name) for name in wanted]


async def _shows_templates(world: World, member: Member, view: Client) -> None:
    """The program knows by the bindings, which it may read, which template owns a pod."""
    policy, template = propagated("shop", "member3")
    await world.hub.resource(POLICIES).create(policy)
    uid = (await world.hub.resource(DEPLOYMENTS).create(template))["metadata"]["uid"]
    copy: JSONObject = await eventually(lambda: member.client.resource(DEPLOYMENTS).get("shop", "default"), 3000)
    made = pod("c")
    made["metadata"]["ownerReferences"] = owned_by(copy)
    await member.client.resource(PODS).create(made)

    async def is_owned() -> bool:
        (owner,) = (await view.resource(PODS).get("c.member3", "default"))["metadata"]["ownerReferences"]
        return bool(owner["uid"] == uid)

    await eventually(is_owned, 3000)
    await view.close()


async def _finds(own: Client, query: str, name: str) -> bool:
    found: JSONObject = json.loads(await own.transport.raw("GET", f"{GROUP}/search/query?q={query}"))
    return [(each["cluster"], each["name"]) for each in found["items"]] == [("member3", name)]
