"""Names of the leases of a sharded component, and the wait for those who divide its keys in another way."""

from karmada.machinery.clock import Clock
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.leader import Timing, shards_of
from karmada.machinery.resource import Resource
from karmada.machinery.sharding.balance import MOST
from karmada.machinery.transport import JSONObject


def lease_name(component: str, shard: int) -> str:
    """The lease of a shard; the first one has the component's own."""
    return f"{component}-shard-{shard}" if shard else component


def replicas_lease(component: str) -> str:
    """Where replicas say that they are alive."""
    return f"{component}-replicas"


class OtherLayouts:
    """Looks for holders of shards of another number of shards, as leader election looks for a holder: a lease that
    does not change for its duration is free."""

    def __init__(
        self, leases: Resource[JSONObject], component: str, namespace: str, count: int, timing: Timing, clock: Clock
    ) -> None:
        self._leases = leases
        self._names = [lease_name(component, shard) for shard in range(1, MOST)]
        self._namespace = namespace
        self._count = count
        self._timing = timing
        self._clock = clock
        self._seen: dict[str, tuple[object, float]] = {}

    async def gone(self) -> None:
        """Wait until nobody holds such a shard."""
        while await self.held():
            await self._clock.sleep(self._timing.retry)

    async def held(self) -> bool:
        """Whether somebody may hold such a shard; when it cannot be known, somebody may."""
        try:
            return any([await self._is_held(name) for name in self._names])
        except ApiError:
            return True

    async def _is_held(self, name: str) -> bool:
        try:
            lease = await self._leases.get(name, self._namespace)
        except NotFound:
            return False
        spec = lease.get("spec") or {}
        if shards_of(lease) == self._count or not spec.get("holderIdentity"):
            return False
        now = self._clock.monotonic()
        known = self._seen.get(name)
        if known is None or known[0] != spec:
            known = self._seen[name] = (spec, now)
        return bool(now < known[1] + (spec.get("leaseDurationSeconds") or self._timing.lease))
