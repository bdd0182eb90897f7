"""Several members in one process, as a fleet file describes them.

    async with Fleet(load("three")) as fleet:
        fleet["member1"].client

With a folder, every member keeps its keys, its port and (unless `memory` is set) its objects there, so a fleet that is
started again is the same fleet. Members in memory take over from the first what all clusters have alike.
"""

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

from karmada.apiserver.storage.base import EMPTY, Snapshot, Storage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.apiserver.watchcache.keys import place_of
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.httpserver.ports import listen_lastingly
from karmada.simulator.member import Member
from karmada.simulator.network.plane import Network
from karmada.simulator.spec import FleetSpec, MemberSpec, network_annotations

_ALIKE = ("apiregistration.k8s.io", "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io")
"""API groups whose objects a new member has like any other; it makes the rest, and so its identity, itself."""


class Fleet(Mapping[str, Member]):
    """Several simulated members in one process, as a fleet file describes them."""

    def __init__(
        self,
        spec: FleetSpec,
        *,
        clock: Clock = REAL,
        random: Random | None = None,
        folder: Path | None = None,
        memory: bool = True,
        start: Snapshot = EMPTY,
    ) -> None:
        """`start`: what another fleet found all its members to have alike, as in `common`."""
        self._folder = folder
        self.common = start
        self._memory = memory or folder is None
        random = random or clock.random()
        self.network = Network()
        """What the pods of all members reach each other by."""
        self._members = {one.name: self._member(one, clock, random) for one in spec.each()}
        self._stack = AsyncExitStack()

    def __getitem__(self, name: str) -> Member:
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    async def __aenter__(self) -> "Fleet":
        async with AsyncExitStack() as stack:
            for member in self._members.values():
                if isinstance(storage := member.server.options.storage, MemoryStorage):
                    await self._enter_alike(stack, member, storage)
                else:
                    await stack.enter_async_context(member)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _enter_alike(self, stack: AsyncExitStack, member: Member, storage: MemoryStorage) -> None:
        storage.start_from(self.common)
        await stack.enter_async_context(member)
        if self.common is EMPTY:
            found = storage.snapshot()
            alike = [record for record in found.records if place_of(record.key)[0][0] in _ALIKE]
            self.common = Snapshot(alike, found.revision)

    async def listen(self, host: str = "127.0.0.1") -> None:
        """Have every member serve HTTPS and write its kubeconfig."""
        for member in self._members.values():
            if port := self._port(member):
                await member.listen(host, port)
            else:
                await listen_lastingly(partial(member.listen, host))
            if self._folder is not None:
                from karmada.apiserver.auth.kubeconfig import write_kubeconfig

                (self._folder / member.name / "port").write_text(member.url.rpartition(":")[2])
                write_kubeconfig(self.kubeconfig_path(member), member.kubeconfig)

    def kubeconfig_path(self, member: Member) -> Path:
        """Where the kubeconfig of a member is."""
        assert self._folder is not None
        return self._folder / member.name / "kubeconfig"

    def facts(self) -> dict[str, dict[str, Any]]:
        """What somebody who joins the members wants to know."""
        return {member.name: self._facts(member) for member in self._members.values()}

    def _facts(self, member: Member) -> dict[str, Any]:
        spec = member.spec
        return {
            "url": member.url,
            "kubeconfig": str(self.kubeconfig_path(member)),
            "provider": spec.provider,
            "region": spec.region,
            "zones": list(spec.zones),
            "labels": spec.labels,
            "annotations": network_annotations(spec),
            "syncMode": spec.sync_mode,
        }

    def _member(self, spec: MemberSpec, clock: Clock, random: Random) -> Member:
        folder = None
        if self._folder is not None:
            folder = self._folder / spec.name / "pki"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        own = Random(random.getrandbits(64))
        return Member(spec, clock=clock, random=own, folder=folder, storage=self._storage(spec), network=self.network)

    def _storage(self, spec: MemberSpec) -> Storage | None:
        if self._memory or self._folder is None:
            return None
        from karmada.apiserver.storage.sqlite import SqliteStorage

        return SqliteStorage(self._folder / spec.name / "objects.db")

    def _port(self, member: Member) -> int:
        """The port a member had before, unless its specification names one."""
        if member.spec.port or self._folder is None:
            return member.spec.port
        try:
            return int((self._folder / member.name / "port").read_text())
        except (OSError, ValueError):  # never written, or the machine stopped while it was
            return 0
