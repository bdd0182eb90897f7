"""Informers for kinds that come and go: one for every discovered kind that is wanted, in its preferred version.

Discovery is asked again when the owner calls `wake` (a CustomResourceDefinition or APIService changed) and every
`PERIOD` seconds. A kind that is gone from a *successful* discovery has its informer stopped; when discovery fails, or
a group is unreachable, everything stays as it is.
"""

import asyncio
import logging
from collections.abc import Callable

from karmada.machinery.clock import REAL, Clock
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.rest_mapper import RESTMapper
from karmada.machinery.transport import GroupVersionResource, JSONObject

log = logging.getLogger(__name__)

PERIOD = 30.0
WATCHABLE = frozenset({"get", "list", "watch"})


class DynamicInformers:
    """Keeps one informer for every wanted kind that the server has."""

    def __init__(
        self,
        factory: InformerFactory,
        mapper: RESTMapper,
        wanted: Callable[[ApiResource], bool],
        started: Callable[[ApiResource, Informer[JSONObject]], None],
        stopped: Callable[[ApiResource], None],
        *,
        clock: Clock = REAL,
    ) -> None:
        self._factory = factory
        self._mapper = mapper
        self._wanted = wanted
        self._started = started
        self._stopped = stopped
        self._clock = clock
        self._wake = asyncio.Event()
        self.informers: dict[GroupVersionResource, Informer[JSONObject]] = {}
        self._resources: dict[GroupVersionResource, ApiResource] = {}

    def wake(self) -> None:
        """Look at discovery again soon."""
        self._wake.set()

    async def run(self) -> None:
        """Follow discovery until cancelled."""
        while True:
            self._wake.clear()
            try:
                await self.refresh()
            except ApiError as error:
                log.warning("discovery failed, informers stay as they are: %s", error)
            timer = self._clock.call_later(PERIOD, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()

    async def refresh(self) -> None:
        """Ask discovery now, start and stop informers accordingly."""
        await self._mapper.refresh()
        preferred: dict[tuple[str, str], ApiResource] = {}
        for resource in await self._mapper.all():
            if resource.verbs >= WATCHABLE and self._wanted(resource):
                preferred.setdefault((resource.type.group, resource.type.resource), resource)
        served = {resource.type: resource for resource in preferred.values()}
        for type_ in [type_ for type_ in self.informers if type_ not in served]:
            await self._factory.release(self.informers.pop(type_))
            self._stopped(self._resources.pop(type_))
        for type_, resource in served.items():
            if type_ not in self.informers:
                informer = self._factory.resource(type_)
                self.informers[type_] = informer
                self._resources[type_] = resource
                self._started(resource, informer)

    async def synced(self) -> None:
        """Wait until every informer there is now has loaded."""
        await self._factory.synced(self.informers.values())
