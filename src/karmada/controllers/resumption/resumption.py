"""Goes on after a restart where the control plane was before it, and keeps the records for that.

At a start, keys that only the first load found are held back until records have been compared with what is there; those
of bindings that are as they were left are withdrawn. From then on records are kept.
"""

import asyncio
import contextlib
import logging

from karmada.controllers.bindings import BindingKey
from karmada.controllers.context import Context
from karmada.controllers.resumption.comparison import compare
from karmada.controllers.resumption.group import Record, Records
from karmada.controllers.resumption.keeping import Keeper
from karmada.controllers.resumption.parts import Controllers
from karmada.controllers.resumption.states import States

log = logging.getLogger(__name__)

PERIOD = 5.0
"""Seconds in which nothing may have happened to a binding before it is recorded."""
BUSY = 100
"""Keys that wait for the controllers, with which records wait too: work goes first, and may change them again."""
LONGEST = 60.0
"""Seconds for which records wait for that at most."""
LAG = 0.2
"""The same at an orderly end: events of what was written come in less."""
PATIENCE = 60.0
"""Seconds that the control plane's own collections have to load; others wait for most of them anyway."""
ENDING = 5.0
"""Seconds that an orderly end takes for records at most."""


class Resumption:
    """Knows what a restart need not look at."""

    def __init__(self, context: Context, controllers: Controllers, records: Records) -> None:
        """Make it before the controllers run: it holds back what they find first."""
        self._clock = context.clock
        self._controllers = controllers
        self._records = records
        self._states = States(context, controllers.templates, controllers.execution.following)
        self._keeper: Keeper | None = None
        controllers.hold()

    async def run(self) -> None:
        """Compare, then keep records until cancelled."""
        if self._keeper is None:
            try:
                known = await self._resume()
            finally:
                self._controllers.release()
            await self._loaded()
            self._keeper = Keeper(self._states, self._controllers, self._records, known)
            self._keeper.follow()
        kept = self._clock.monotonic()
        while True:
            await self._clock.sleep(PERIOD)
            if self._controllers.waiting < BUSY or self._clock.monotonic() - kept >= LONGEST:
                await self._keeper.keep()
                kept = self._clock.monotonic()

    async def save(self) -> None:
        """Record before an orderly end what nothing has happened to; call it while the controllers still run."""
        if self._keeper is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENDING):
                    await self._keeper.keep()
                    await self._clock.sleep(LAG)
                    await self._keeper.keep()

    async def _resume(self) -> set[BindingKey]:
        """Have controllers leave alone what is as it was left; the bindings that have a record."""
        records = await self._read()
        if records:
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._loaded()
            except TimeoutError:
                log.warning("what was left cannot be loaded, and everything is looked at")
                return set(records)
            await compare(self._states, self._controllers, records)
            settled = len(self._controllers.detector.settled)
            log.info("%d of %d bindings are as they were left", settled, len(self._states.bindings))
        return set(records)

    async def _loaded(self) -> None:
        await asyncio.gather(*(informer.synced() for informer in self._states.informers))

    async def _read(self) -> dict[BindingKey, Record]:
        try:
            return await self._records.load()
        except Exception as error:
            log.warning("what was done before cannot be read, and everything is looked at: %s", error)
            return {}
