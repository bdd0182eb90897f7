"""Several members in one process, as a fleet file describes them.

    async with Fleet(load("three")) as fleet:
        fleet["member1"].client

With a folder, every member keeps its keys, its port and (unless `memory` is set) its objects there, so a fleet that is
started again is the same fleet.
"""

from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

from karmada.apiserver.storage.base import Storage
from karmada.machinery.clock import REAL, Clock
from karmada.simulator.member import Member
from karmada.simulator.spec import FleetSpec, MemberSpec


class Fleet(Mapping[str, Member]):
    """See the module."""

    def __init__(
        self,
        spec: FleetSpec,
        *,
        clock: Clock = REAL,
        random: Random | None = None,
        folder: Path | None = None,
        memory: bool = True,
    ) -> None:
        self._folder = folder
        self._memory = memory or folder is None
        random = random or clock.random()
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
                await stack.enter_async_context(member)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def listen(self, host: str = "127.0.0.1") -> None:
        """Have every member serve HTTPS and write its kubeconfig."""
        for member in self._members.values():
            await member.listen(host, self._port(member))
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
            "syncMode": spec.sync_mode,
        }

    def _member(self, spec: MemberSpec, clock: Clock, random: Random) -> Member:
        folder = None
        if self._folder is not None:
            folder = self._folder / spec.name / "pki"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        own = Random(random.getrandbits(64))
        return Member(spec, clock=clock, random=own, folder=folder, storage=self._storage(spec))

    def _storage(self, spec: MemberSpec) -> Storage | None:
        if self._memory or self._folder is None:
            return None
        from karmada.apiserver.storage.sqlite import SqliteStorage

        return SqliteStorage(self._folder / spec.name / "objects.db")

    def _port(self, member: Member) -> int:
        """The port a member had before, unless its specification names one."""
        if member.spec.port or self._folder is None:
            return member.spec.port
        known = self._folder / member.name / "port"
        return int(known.read_text()) if known.exists() else 0
