"""A federation that listens: a control plane and three simulated members, in a thread of the test process.

Tests run the real program against it, in their own loop or as a process of its own, and share it: each uses a namespace
of its own.
"""

import asyncio
import io
import itertools
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from tests.planes import stored

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.cli.main import execute
from karmada.cli.session import Session
from karmada.controllers.cluster_status import StatusOptions
from karmada.controllers.clusters import is_ready
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.http.kubeconfig import load
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.options import Options
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.join import describe, join
from karmada.simulator.fleet import Fleet
from karmada.simulator.spec import network_annotations, parse
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions

QUICK = StatusOptions(period=0.1, success_threshold=0.0, failure_threshold=0.0, probe_timeout=5.0)
PATIENCE = 30.0
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
FLEET: dict[str, list[dict[str, Any]]] = {
    "members": [
        {"name": "member1", "provider": "alpha", "region": "north", "zones": ["north-1"], "labels": {"tier": "gold"}},
        {"name": "member2", "provider": "alpha", "region": "north", "zones": ["north-2"]},
        {"name": "member3", "provider": "beta", "region": "south", "zones": ["south-1"], "labels": {"tier": "silver"}},
    ]
}


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class World:
    """A control plane and three simulated members, in a thread of the test process, and the commands run on them."""

    def __init__(self, folder: Path, each: Sequence[dict[str, Any]] = (), **members: Any) -> None:
        """`each` is said of the members one by one, `members` of every member of the fleet."""
        self.folder = folder
        self.patience = 60.0
        """Seconds that commands give members: machines that run tests may be busy."""
        self._spec = parse({"members": [a | members | b for a, b in zip_longest(FLEET["members"], each, fillvalue={})]})
        self.addons: frozenset[str] = frozenset()
        self.kubeconfig = folder / "hub.config"
        self.plane: ControlPlane
        self.fleet: Fleet
        self._numbers = itertools.count(1)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._stack = AsyncExitStack()

    def start(self) -> None:
        self._thread.start()
        self.call(self._start())

    def stop(self) -> None:
        self.call(self._stack.aclose())
        self.call(self._end_tasks())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def call(self, work: Awaitable[Any]) -> Any:
        """Do something in the world's own loop."""

        async def wrapped() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(wrapped(), self._loop).result(120)

    def run(self, *words: str, stdin: str = "", config: bool = True, **environment: str) -> Outcome:
        """Run a command in this process, against the control plane."""
        return asyncio.run(self._run(words, stdin, config, environment))

    def run_together(self, lines: Sequence[Sequence[str]]) -> list[Outcome]:
        """Run commands side by side, so that all of them wait at once."""

        async def together() -> list[Outcome]:
            return await asyncio.gather(*(self._run(words, "", True, {}) for words in lines))

        return asyncio.run(together())

    async def _run(self, words: Sequence[str], stdin: str, config: bool, environment: dict[str, str]) -> Outcome:
        out, err = io.StringIO(), io.StringIO()
        usual = {"HOME": str(self.folder), **({"KUBECONFIG": str(self.kubeconfig)} if config else {})}
        session = Session(
            out=out, err=err, stdin=io.StringIO(stdin), environment=usual | environment, patience=self.patience
        )
        code = await execute(words, session)
        return Outcome(code, out.getvalue(), err.getvalue())

    def eventually(self, check: Callable[[], Any]) -> Any:
        """What a check finally gives."""
        until = time.monotonic() + PATIENCE
        last: Any = None
        while time.monotonic() < until:
            try:
                if last := check():
                    return last
            except (ApiError, KeyError, IndexError, AssertionError) as error:
                last = error
            time.sleep(0.05)
        raise AssertionError(f"did not happen; last: {last!r}")

    def namespace(self) -> str:
        """A namespace of its own, also in the members."""
        name = f"t{next(self._numbers)}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.call(self.plane.client.resource(NAMESPACES).create(body))
        for member in self.fleet.values():
            self.eventually(lambda member=member: self.call(member.inside.resource(NAMESPACES).get(name)))
        return name

    @staticmethod
    async def _end_tasks() -> None:
        """What hangs still, because a test made it hang."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def member_config(self, name: str) -> str:
        return str(self.fleet.kubeconfig_path(self.fleet[name]))

    async def _start(self) -> None:
        self.fleet = await self._stack.enter_async_context(Fleet(self._spec, folder=self.folder / "members"))
        await self.fleet.listen()
        # The recorded control plane had no karmada-search.
        options = ControlPlaneOptions(
            storage=stored(search=False), options=Options(QUICK), search=False, addons=self.addons
        )
        self.plane = await self._stack.enter_async_context(ControlPlane(options))
        address = await self.plane.listen()
        authority = self.plane.server.identity.authority
        certificate, key = authority.issue_client("system:admin", ("system:masters",))
        config = kubeconfig(address, authority.certificate_pem, certificate=certificate, key=key)
        write_kubeconfig(self.kubeconfig, config)
        for name, member in self.fleet.items():
            target = load([self.fleet.kubeconfig_path(member)]).target()
            about = describe(
                name,
                target,
                provider=member.spec.provider,
                region=member.spec.region,
                zones=",".join(member.spec.zones),
            )
            await join(member.inside, self.plane.client, about)
            labels = {"metadata": {"labels": member.spec.labels, "annotations": network_annotations(member.spec)}}
            await self.plane.client.resource(GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")).patch(
                name, labels
            )
        for _ in range(1000):
            if await self._all_ready(self.plane.client) and await self._all_reachable():
                return
            await asyncio.sleep(0.02)
        raise AssertionError("the members did not become ready")

    async def _all_reachable(self) -> bool:
        """Whether members let the control plane's proxy in: the role for it is propagated after they joined."""
        hub = HttpTransport(load([self.kubeconfig]).target())
        try:
            for name in self.fleet:
                await hub.raw("GET", f"/apis/cluster.karmada.io/v1alpha1/clusters/{name}/proxy/api/v1/nodes")
        except ApiError:
            return False
        finally:
            await hub.close()
        return True

    @staticmethod
    async def _all_ready(client: Client) -> bool:
        return all(is_ready(cluster) for cluster in (await client.of(Cluster).list()).items)
