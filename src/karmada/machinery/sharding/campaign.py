"""Holds a fair share of a component's shards: one lease each, given up when others need it, taken when it is free.

- The lease of shard 0 is the component's own. Who holds it also does what cannot be divided, and says on it how many
  shards there are. It is never given up for balance, and losing it ends the campaign, as losing leadership does.
- A shard is handed over in order: no more work begins, what is under way ends, then the lease is released. One that is
  lost (the lease could not be renewed) is fenced at once, see `ownership`.
- Replicas with different numbers of shards never work at the same time: the number on shard 0 counts, and whoever has
  taken a lease looks afterwards whether shards of another number are held. Each writes before it looks, so one of two
  sees the other. The holder of shard 0 waits for those of the former number, which give up theirs.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.leader import LEASES, LeaderElector, LeadershipLost, Timing, shards_of
from karmada.machinery.sharding.balance import preference, share
from karmada.machinery.sharding.layout import OtherLayouts, lease_name, replicas_lease
from karmada.machinery.sharding.ownership import Ownership, Tenure
from karmada.machinery.sharding.replicas import Replicas

log = logging.getLogger(__name__)

Lead = Callable[[], Awaitable[None]]
"""What cannot be divided: runs while the first shard is held, until it is cancelled."""


class Campaign:
    """One replica's part in holding the shards of a component."""

    def __init__(
        self,
        client: Client,
        component: str,
        namespace: str,
        identity: str,
        ownership: Ownership,
        *,
        timing: Timing | None = None,
        clock: Clock = REAL,
    ) -> None:
        """`client` is not fenced: it writes the leases."""
        self.ownership = ownership
        self._timing = timing or Timing()
        self._clock = clock
        self._client = client
        self._component = component
        self._namespace = namespace
        self._identity = identity
        self._leases = client.resource(LEASES).within(self._timing.renew_deadline / 2)
        self._replicas = Replicas(
            client, replicas_lease(component), namespace, identity, ownership.count, self._timing, clock
        )
        self._wished = preference(identity, ownership.count)
        self._held: set[int] = set()
        self._trying: set[int] = set()
        self._agreed = False
        """Whether shard 0 was last seen with this replica's number of shards."""
        self._given_up = {shard: asyncio.Event() for shard in self._wished}
        self._others = OtherLayouts(self._leases, component, namespace, ownership.count, self._timing, clock)
        self._ending = False

    async def run(self, lead: Lead) -> None:
        """Hold shards until cancelled, and run `lead` while the first one is held; `LeadershipLost` when that is lost.

        At the end the work of all tenures is drained before their leases are released.
        """
        looking = asyncio.ensure_future(self._look())
        keeping = {shard: asyncio.ensure_future(self._keep(shard, lead)) for shard in self._wished}
        tasks = [looking, *keeping.values()]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._ending = True
            looking.cancel()
            for shard, task in keeping.items():
                if self.ownership.holds(shard):
                    self._given_up[shard].set()
                else:
                    task.cancel()
            await self._end(tasks)

    async def _end(self, tasks: Sequence[asyncio.Future[None]]) -> None:
        _, late = await asyncio.wait(tasks, timeout=self._timing.renew_deadline)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        try:
            await self._replicas.leave()
        except ApiError as error:
            log.info("%s could not take leave, it will be missed: %s", self._identity, error)

    # Who is there, and what that means.

    async def _look(self) -> None:
        while True:
            try:
                await self._replicas.announce()
                self._agreed = await self._is_agreed()
                self._rebalance()
            except ApiError as error:
                log.warning("%s could not look at the shards of %s: %s", self._identity, self._component, error)
            await self._clock.sleep(self._timing.retry)

    async def _is_agreed(self) -> bool:
        """Whether shard 0 has this replica's number of shards."""
        try:
            return shards_of(await self._leases.get(lease_name(self._component, 0), self._namespace)) == (
                self.ownership.count
            )
        except NotFound:
            return False

    def _rebalance(self) -> None:
        """Give up what is beyond this replica's share, the least wished first; all when the number of shards is
        another one."""
        keep = self._share() if self._agreed else 0
        held = [shard for shard in self._wished if shard in self._held]
        for shard in held[max(keep, 1) if 0 in self._held else keep :]:
            if not self._given_up[shard].is_set():
                log.info("%s gives up shard %d of %s", self._identity, shard, self._component)
                self._given_up[shard].set()

    def _share(self) -> int:
        return share(self._identity, self._replicas.live, self.ownership.count)

    def _wants(self, shard: int) -> bool:
        if shard == 0:
            return True
        return self._agreed and len(self._held | self._trying) < self._share()

    # One shard.

    async def _keep(self, shard: int, lead: Lead) -> None:
        """Take a shard whenever it is free and wanted, until the end."""
        elector = LeaderElector(
            self._client,
            lease_name(self._component, shard),
            self._namespace,
            self._identity,
            timing=self._timing,
            clock=self._clock,
            shards=self.ownership.count,
        )
        while not self._ending:
            if await elector.look() and self._wants(shard) and await self._take(shard, elector):
                await self._serve(shard, elector, lead)
            if not self._ending:
                await self._clock.sleep(self._timing.retry)

    async def _take(self, shard: int, elector: LeaderElector) -> bool:
        if shard:
            self._trying.add(shard)
        try:
            taken = await elector.attempt()
        finally:
            self._trying.discard(shard)
        if taken:
            self._held.add(shard)
            self._given_up[shard].clear()
        return taken

    async def _serve(self, shard: int, elector: LeaderElector, lead: Lead) -> None:
        try:
            await elector.hold(partial(self._hold, shard, elector, lead))
        except LeadershipLost:
            if shard == 0:
                raise
            log.warning("%s lost shard %d of %s", self._identity, shard, self._component)
        finally:
            self._held.discard(shard)
        await self.ownership.forget(shard)

    async def _hold(self, shard: int, elector: LeaderElector, lead: Lead) -> None:
        """What happens while a lease is held."""
        if not await self._is_settled(shard):
            return
        tenure = Tenure(shard, elector)
        with tenure.working():
            leading = [asyncio.ensure_future(lead())] if shard == 0 else []
        self.ownership.begin(tenure)
        try:
            await self._until_given_up(shard, leading)
            await tenure.drain()
        except asyncio.CancelledError:
            if tenure.is_busy:
                elector.abandon()
            raise
        finally:
            self.ownership.end(tenure)

    async def _until_given_up(self, shard: int, leading: Sequence[asyncio.Future[None]]) -> None:
        given_up: asyncio.Future[Any] = asyncio.ensure_future(self._given_up[shard].wait())
        try:
            done, _ = await asyncio.wait([given_up, *leading], return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if leading and given_up not in done:
                await given_up
        finally:
            for task in (given_up, *leading):
                task.cancel()
            await asyncio.gather(given_up, *leading, return_exceptions=True)

    async def _is_settled(self, shard: int) -> bool:
        """Whether nobody works with another number of shards."""
        if shard == 0:
            await self._others.gone()
            return True
        try:
            return await self._is_agreed() and not await self._others.held()
        except ApiError:
            return False
