"""Failures that retries hide are noticed, and refusals are not mistaken for them."""

import pytest

from karmada.machinery.controller import DONE, Controller
from karmada.machinery.errors import Conflict, ServerError
from karmada.machinery.supervisor import Supervisor
from karmada.testing.loop import VirtualClock, run_virtual
from karmada.testing.world import Broken, Component, Surroundings, World, explore


async def reconciling(clock, raised: Exception) -> None:
    """A controller whose first attempt fails; the next one does not."""
    outcomes = [raised]

    async def reconcile(key: str):
        if outcomes:
            raise outcomes.pop()
        return DONE

    controller: Controller[str] = Controller("test", reconcile, clock=clock)
    async with Supervisor(clock) as supervisor:
        supervisor.start("test", controller.run)
        controller.enqueue("key")
        await clock.sleep(60)
    assert controller.results["success"] == 1


def test_an_error_that_a_retry_hides_is_noticed(failures) -> None:
    run_virtual(lambda: reconciling(VirtualClock(), AttributeError("no such field")))
    assert len(failures) == 1
    assert "test failed on key" in failures[0]
    assert "no such field" in failures[0]


@pytest.mark.parametrize("error", [Conflict("changed meanwhile"), ServerError("not now"), TimeoutError()])
def test_what_a_server_may_answer_is_no_failure(error: Exception) -> None:
    run_virtual(lambda: reconciling(VirtualClock(), error))


def test_a_world_in_which_a_retry_hides_an_error_is_broken(failures) -> None:
    async def component(around: Surroundings) -> None:
        await reconciling(around.clock, AttributeError("no such field"))

    async def scenario(world: World) -> None:
        world.start(Component("controller", component))
        await world.calm(120)

    with pytest.raises(Broken, match="nothing fails that a retry hides: test failed on key"):
        explore(scenario, seed=1)
