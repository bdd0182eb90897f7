"""Controllers of MultiClusterServices where their feature gate is off: they run once there is something to release."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from karmada.api import finalizers, labels
from karmada.api.networking.v1alpha1 import MultiClusterService
from karmada.api.work.v1alpha1 import Work
from karmada.controllers.context import Context
from karmada.machinery.backoff import Backoff
from karmada.machinery.client import type_of
from karmada.machinery.controller import Controller
from karmada.machinery.errors import ApiError
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Scope

log = logging.getLogger(__name__)

MADE = Scope(labels=labels.MULTI_CLUSTER_SERVICE_NAME)
"""The Works that were made for MultiClusterServices."""


def once_needed(context: Context, build: Callable[[], Controller[Any]]) -> Callable[[], Awaitable[None]]:
    """A part that runs a controller from the moment on at which a MultiClusterService or a Work is found that was held
    while the gate was on; until then it reads no change of a Work, of which most federations have only others."""
    services: Informer[MultiClusterService] = context.informers.of(MultiClusterService)
    found = asyncio.Event()
    built: list[Controller[Any]] = []

    def look(changes: list[Change[MultiClusterService]]) -> None:
        if any(map(_is_held, changes)):
            found.set()

    services.add_handler(look)

    async def run() -> None:
        pauses = Backoff(context.retries, context.clock.random())
        while not found.is_set():
            try:
                if (await context.client.encoded(type_of(Work)).page(MADE, limit=1)).items:
                    found.set()
                await found.wait()
            except ApiError as error:
                log.debug("whether MultiClusterServices left Works is not known yet: %s", error)
                await context.clock.sleep(pauses.next())
        if not built:
            built.append(build())
        await built[0].run()

    return run


def _is_held(change: Change[MultiClusterService]) -> bool:
    try:
        return finalizers.MULTI_CLUSTER_SERVICE in change.item.value.metadata.finalizers
    except ValueError:
        return True  # the controller says what cannot be read
