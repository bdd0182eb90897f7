"""Autoscalers of one namespace, however many, do not make those of another wait."""

import asyncio

import pytest
from tests.controllers.autoscaling import Fleet
from tests.controllers.plane import on_a_plane

from karmada.controllers.cron_autoscaler import CronAutoscalerController
from karmada.controllers.federated_hpa import AutoscalerOptions, FederatedHPAController
from karmada.controllers.templates import Templates
from karmada.machinery.informers.cache import Key


def cron(context):
    return CronAutoscalerController(context).controller


def hpa(context):
    return FederatedHPAController(context, Fleet(), Templates(context), AutoscalerOptions()).controller


@pytest.mark.parametrize("make", [cron, hpa])
def test_the_only_autoscaler_of_a_namespace_does_not_wait_for_a_crowd_in_another(make):
    async def scenario(plane):
        queue = make(plane.context).queue
        for number in range(100):
            queue.add(Key("crowd", f"h{number}"))
        queue.add(Key("alone", "h"))
        assert Key("alone", "h") in [await queue.get() for _ in range(2)]

    on_a_plane(scenario)


@pytest.mark.parametrize("make", [cron, hpa])
def test_a_crowd_whose_targets_take_long_leaves_workers_to_others(make):
    async def scenario(plane):
        controller = make(plane.context)
        for number in range(100):
            controller.enqueue(Key("crowd", f"h{number}"))
        taken = [asyncio.create_task(controller.queue.get()) for _ in range(controller.workers)]
        await plane.clock.sleep(1)
        assert not all(one.done() for one in taken)
        controller.enqueue(Key("alone", "h"))
        await plane.clock.sleep(1)
        assert Key("alone", "h") in [one.result() for one in taken if one.done()]
        for one in taken:
            one.cancel()

    on_a_plane(scenario)
