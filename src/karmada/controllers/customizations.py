"""Keeps the interpreter's customisations as the API server has them, and records an event when one fails.

The interpreter gets all customisations at once after every change, and for the first time when both collections have
been loaded; `synced` waits for that, and nothing should be interpreted before.
"""

import asyncio
import logging
from collections import Counter
from typing import Any

from karmada.api.config.v1alpha1 import ResourceInterpreterCustomization, ResourceInterpreterWebhookConfiguration
from karmada.interpreter.customizable import CustomizableInterpreter
from karmada.interpreter.model import GroupVersionKind, InterpretError, Operation
from karmada.machinery.events import EventRecorder, ObjectReference
from karmada.machinery.informers.factory import InformerFactory

log = logging.getLogger(__name__)

API_VERSION = "config.karmada.io/v1alpha1"
FAILED = "InterpretFailed"
LONGEST_MESSAGE = 1000


class Customizations:
    """Follows customisations by scripts and webhooks."""

    def __init__(self, informers: InformerFactory, interpreter: CustomizableInterpreter) -> None:
        self._interpreter = interpreter
        self._scripts = informers.of(ResourceInterpreterCustomization)
        self._webhooks = informers.of(ResourceInterpreterWebhookConfiguration)
        self._changed = asyncio.Event()
        self._synced = asyncio.Event()

    async def synced(self) -> None:
        """Wait until the interpreter knows all customisations."""
        await self._synced.wait()

    async def run(self) -> None:
        """Reconfigure the interpreter after every change, until cancelled."""
        self._scripts.add_handler(self._note)
        self._webhooks.add_handler(self._note)
        try:
            await asyncio.gather(self._scripts.synced(), self._webhooks.synced())
            while True:
                self._changed.clear()
                self._interpreter.configure(self._scripts.values(), self._webhooks.values())
                self._synced.set()
                await self._changed.wait()
        finally:
            self._scripts.remove_handler(self._note)
            self._webhooks.remove_handler(self._note)

    def _note(self, _: list[Any]) -> None:
        self._changed.set()


class CustomizationFailures:
    """The interpreter's `report`: an event on the customisation that failed, and counts for metrics."""

    def __init__(self, recorder: EventRecorder, counts: Counter[tuple[str, str, str]]) -> None:
        """`counts`: failures by level, operation and kind."""
        self._recorder = recorder
        self.counts = counts

    def report(self, kind: GroupVersionKind, operation: Operation, level: str, error: InterpretError) -> None:
        """Note a failure."""
        self.counts[level, str(operation), f"{kind.group}/{kind.version}/{kind.kind}"] += 1
        if not error.source:
            return
        source, _, name = error.source.partition("/")
        message = f"{operation} of {kind.kind}.{kind.version}.{kind.group} failed: {error}"[:LONGEST_MESSAGE]
        self._recorder.event(ObjectReference(API_VERSION, source, name), "Warning", FAILED, message)
        log.warning("%s %s: %s", source, name, message)
