"""Leader election with a Lease, and a fence that keeps a former leader from writing.

Candidates watch the lease by their own clocks only: a lease is free when it names no holder or was not renewed for its
duration since *this* candidate last saw it change. So clocks need not agree, only run at about the same speed.

The fence: a leader may start writes until the renew deadline after the start of its last successful renewal, and no
write may last longer than the lease. Nobody else can take the lease before its duration has passed since that renewal,
hence no two leaders write at the same time, not even when one was frozen for a while. `fenced` wraps a transport with
that rule.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from karmada.api.annotations import COMPONENT_VERSION, SHARDS
from karmada.api.version import VERSION
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock, rfc3339_micro
from karmada.machinery.errors import AlreadyExists, ApiError, Conflict, NotFound, Timeout
from karmada.machinery.transport import GroupVersionResource, JSONObject, Request, Transport, Verb, WatchStream

log = logging.getLogger(__name__)

LEASES = GroupVersionResource("coordination.k8s.io", "v1", "leases")
READS = frozenset({Verb.GET, Verb.LIST, Verb.WATCH})


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a lease lasts, how long its holder may go without renewing it, and how often it tries."""

    lease: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0


class LeadershipLost(Exception):
    """The lease could not be renewed in time; whatever the leader did has been stopped."""


class NotLeader(ApiError):
    """A write was refused because the lease is not safely held."""

    transient = True


class Fence(Protocol):
    """Says whether writes may begin now, and for how long those that began may last."""

    @property
    def identity(self) -> str:
        """Who asks."""
        ...

    @property
    def leads(self) -> bool:
        """Whether writes are allowed now."""
        ...

    @property
    def exclusive(self) -> float:
        """For how long nobody else can hold the lease."""
        ...


class LeaderElector:
    """One candidate for one lease."""

    def __init__(
        self,
        client: Client,
        name: str,
        namespace: str,
        identity: str,
        *,
        timing: Timing | None = None,
        clock: Clock = REAL,
        shards: int = 1,
    ) -> None:
        """`shards`: into how many shards the holder divides its keys; the lease says so when there are several."""
        self._name = name
        self._namespace = namespace
        self.identity = identity
        self._timing = timing or Timing()
        self._leases = client.resource(LEASES).within(self._timing.renew_deadline / 2)
        self._clock = clock
        self._seen: JSONObject | None = None
        self._seen_at = 0.0
        self._renewed_at = float("-inf")
        """When the last successful renewal *started*."""
        self._shards = shards
        self.shards_before = 1
        """Into how many shards the holder before this candidate divided its keys."""

    @property
    def leads(self) -> bool:
        """Whether writes are allowed now."""
        return self.remaining > 0

    @property
    def remaining(self) -> float:
        """For how long writes are allowed to start, without another renewal."""
        return self._renewed_at + self._timing.renew_deadline - self._clock.monotonic()

    @property
    def exclusive(self) -> float:
        """For how long nobody else can hold the lease."""
        return self._renewed_at + self._timing.lease - self._clock.monotonic()

    def fenced(self, transport: Transport) -> "FencedTransport":
        """A transport on which writes work only while this candidate leads."""
        return FencedTransport(transport, self)

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Wait for the lease and run `lead` while it is held; `LeadershipLost` when that ends before `lead` does."""
        while not await self.attempt():
            await self._clock.sleep(self._timing.retry)
        await self.hold(lead)

    async def attempt(self) -> bool:
        """Take the lease if it is free; whether it is held now."""
        return await self._try_hold()

    async def look(self) -> bool:
        """Whether the lease could be taken now; who looks from time to time knows at once when it has run out."""
        try:
            self._observe(await self._leases.get(self._name, self._namespace))
        except NotFound:
            return True
        except ApiError as error:
            log.debug("%s could not look at %s: %s", self.identity, self._name, error)
            return False
        return self._is_free((self._seen or {}).get("spec") or {})

    async def hold(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Run `lead` while the lease that was taken is held, then release it; `LeadershipLost` when it was lost."""
        log.info("%s leads %s", self.identity, self._name)
        work = asyncio.ensure_future(lead())
        try:
            await self._renew_while(work)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self._release()
        work.result()

    def abandon(self) -> None:
        """Let the lease run out instead of releasing it: a write may still be under way."""
        self._renewed_at = float("-inf")

    async def _renew_while(self, work: asyncio.Future[None]) -> None:
        while not work.done():
            await asyncio.wait({work}, timeout=min(self._timing.retry, max(0.0, self.remaining)))
            if work.done():
                return
            if self.leads:
                await self._try_hold()
            if not self.leads:
                raise LeadershipLost(f"{self.identity} could not renew {self._name}")

    async def _try_hold(self) -> bool:
        """Take or renew the lease if possible. Errors mean no, not never."""
        started = self._clock.monotonic()
        try:
            async with asyncio.timeout(self.remaining if self.leads else self._timing.renew_deadline):
                held = await self._take_or_renew()
        except TimeoutError:
            log.warning("%s could not renew %s: no answer in time", self.identity, self._name)
            return False
        except ApiError as error:
            log.warning("%s could not renew %s: %s", self.identity, self._name, error)
            return False
        if held:
            self._renewed_at = started
        else:
            # Somebody else holds it: stop at once, whatever the clock says.
            self._renewed_at = float("-inf")
        return held

    async def _take_or_renew(self) -> bool:
        try:
            lease = await self._leases.get(self._name, self._namespace)
        except NotFound:
            return await self._create()
        self._observe(lease)
        spec = lease.get("spec") or {}
        if not self._is_free(spec):
            return False
        holder = spec.get("holderIdentity") or ""
        if holder != self.identity:
            self.shards_before = shards_of(lease)
        try:
            self._observe(await self._leases.update(self._claimed(lease, holder)))
        except Conflict:
            return False
        return True

    def _is_free(self, spec: JSONObject) -> bool:
        """Whether the lease that was just observed is this candidate's, nobody's, or was not renewed for too long."""
        duration = spec.get("leaseDurationSeconds") or self._timing.lease
        is_others = spec.get("holderIdentity") not in (None, "", self.identity)
        return not is_others or self._clock.monotonic() >= self._seen_at + duration

    async def _create(self) -> bool:
        metadata = {"name": self._name, "namespace": self._namespace}
        lease: JSONObject = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
        try:
            self._observe(await self._leases.create(self._claimed(lease, self.identity)))
        except (AlreadyExists, Conflict):
            return False
        return True

    def _claimed(self, lease: JSONObject, holder: str) -> JSONObject:
        now = rfc3339_micro(self._clock.now())
        spec = dict(lease.get("spec") or {})
        spec["leaseTransitions"] = (spec.get("leaseTransitions") or 0) + (holder != self.identity)
        if holder != self.identity or "acquireTime" not in spec:
            spec["acquireTime"] = now
        spec["holderIdentity"] = self.identity
        spec["leaseDurationSeconds"] = int(self._timing.lease)
        spec["renewTime"] = now
        metadata = lease["metadata"]
        annotations = {**(metadata.get("annotations") or {}), COMPONENT_VERSION: VERSION}
        if self._shards > 1:
            annotations[SHARDS] = str(self._shards)
        else:
            annotations.pop(SHARDS, None)
        return lease | {"metadata": {**metadata, "annotations": annotations}, "spec": spec}

    def _observe(self, lease: JSONObject) -> None:
        if self._seen is None or self._seen.get("spec") != lease.get("spec"):
            self._seen = lease
            self._seen_at = self._clock.monotonic()

    async def _release(self) -> None:
        """Give the lease up so that the next leader need not wait for it to run out."""
        was_leader, self._renewed_at = self.leads, float("-inf")
        if not was_leader or self._seen is None:
            return
        spec = dict(self._seen.get("spec") or {}) | {"leaseDurationSeconds": 1}
        # Absent, not empty: servers refuse a holder without a name.
        spec.pop("holderIdentity", None)
        try:
            await self._leases.update(self._seen | {"spec": spec})
        except ApiError as error:
            log.info("%s could not release %s, it will run out: %s", self.identity, self._name, error)


def shards_of(lease: JSONObject) -> int:
    """Into how many shards the last holder of a lease divides its keys."""
    value = (lease["metadata"].get("annotations") or {}).get(SHARDS, "")
    return int(value) if value.isdecimal() else 1


class FencedTransport:
    """Refuses writes that could overlap with another leader's."""

    def __init__(self, transport: Transport, fence: Fence) -> None:
        self._transport = transport
        self._fence = fence

    async def send(self, request: Request) -> bytes:
        """Pass reads on; pass writes on only while the lease is safely held, and only for as long."""
        if request.verb in READS:
            return await self._transport.send(request)
        return await send_fenced(self._transport, self._fence, request)

    def watch(self, request: Request) -> AbstractAsyncContextManager[WatchStream]:
        """Watches are reads."""
        return self._transport.watch(request)

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Paths that are no resources are only read."""
        return await self._transport.raw(method, path, body, accept)

    async def close(self) -> None:
        """Close the wrapped transport."""
        await self._transport.close()


async def send_fenced(transport: Transport, fence: Fence, request: Request) -> bytes:
    """Send a write only while the lease is safely held, and only for as long."""
    if not fence.leads:
        raise NotLeader(f"{fence.identity} does not hold the lease")
    try:
        async with asyncio.timeout(min(request.timeout, fence.exclusive)):
            return await transport.send(request)
    except TimeoutError:
        raise Timeout("the write had to end before the lease can be taken by another") from None
