"""Which replicas of a component are alive: each says so in an annotation of one Lease that they share.

As with leader election, a replica is alive as long as *this* one sees its sign of life change, by its own clock. What a
replica that is gone for long has left is taken away by the others.
"""

from hashlib import blake2b
from typing import Any

from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock, rfc3339_micro
from karmada.machinery.errors import AlreadyExists, NotFound
from karmada.machinery.leader import LEASES, Timing
from karmada.machinery.transport import JSONObject

_PREFIX = "replica.karmada.io/"
FORGOTTEN = 10
"""After so many lease durations without a sign of life nothing is left of a replica."""


class Replicas:
    """The replicas of one component, seen by one of them."""

    def __init__(
        self, client: Client, name: str, namespace: str, identity: str, count: int, timing: Timing, clock: Clock = REAL
    ) -> None:
        """`count`: the number of shards this replica was given; those with another one take no part."""
        self._name = name
        self._namespace = namespace
        self._identity = identity
        self._count = str(count)
        self._own = _PREFIX + blake2b(identity.encode(), digest_size=16).hexdigest()
        self._leases = client.resource(LEASES).within(timing.renew_deadline / 2)
        self._timing = timing
        self._clock = clock
        self._seen: dict[str, tuple[str, float]] = {}
        """The last sign of life of each, and when it was first seen."""
        self._looked_at = clock.monotonic()

    @property
    def live(self) -> set[str]:
        """Who is alive and takes part, judged by the last look; this replica does."""
        limit = self._looked_at - self._timing.lease
        signs = (sign.split(" ") for sign, since in self._seen.values() if since > limit)
        return {identity for count, identity, *_ in signs if count == self._count} | {self._identity}

    async def announce(self) -> None:
        """Give a sign of life, and look for those of the others."""
        sign = f"{self._count} {self._identity} {rfc3339_micro(self._clock.now())}"
        self._observe(await self._write({self._own: sign, **dict.fromkeys(self._forgotten())}))

    async def leave(self) -> None:
        """This replica ends: the others need not wait until it is missed."""
        await self._write({self._own: None})

    async def _write(self, signs: dict[str, str | None]) -> JSONObject:
        try:
            return await self._leases.patch(self._name, {"metadata": {"annotations": signs}}, self._namespace)
        except NotFound:
            pass
        kept = {key: value for key, value in signs.items() if value is not None}
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace, "annotations": kept}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": {}}
        try:
            return await self._leases.create(lease)
        except AlreadyExists:
            return await self._leases.patch(self._name, {"metadata": {"annotations": signs}}, self._namespace)

    def _observe(self, lease: JSONObject) -> None:
        now = self._looked_at = self._clock.monotonic()
        signs = lease["metadata"].get("annotations") or {}
        before, self._seen = self._seen, {}
        for key, sign in signs.items():
            if key.startswith(_PREFIX) and sign.count(" ") == 2:
                known = before.get(key)
                self._seen[key] = known if known is not None and known[0] == sign else (sign, now)

    def _forgotten(self) -> list[str]:
        limit = self._looked_at - FORGOTTEN * self._timing.lease
        return [key for key, (_, since) in self._seen.items() if since < limit and key != self._own]
