"""Failover under faults: nothing breaks in many seeds, and bugs planted in the control plane are found."""

from functools import partial

import orjson
import pytest

from karmada.machinery.options import Options
from karmada.machinery.transport import Verb
from karmada.testing.scenarios.failover.rules import AGREED, BUDGET, CAUSE, FENCE, LAST_COPY, NO_LOOP, STORM
from karmada.testing.scenarios.failover.story import EVICTION, GATES, SERVERS, scenario
from karmada.testing.scenarios.federation import run_manager
from karmada.testing.world import Broken, explore

SEEDS_PER_TEST = 3


@pytest.mark.parametrize("first", range(0, 12, SEEDS_PER_TEST), ids="seeds from {}".format)
def test_nothing_breaks_whatever_happens(first):
    for seed in range(first, first + SEEDS_PER_TEST):
        explore(scenario(), seed, SERVERS)


class Wrapped:
    """A transport with a bug: what is not said here is as it was."""

    def __init__(self, inner, around):
        self._inner = inner
        self._random = around.random

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Writes(Wrapped):
    """Changes what is written to bindings."""

    async def send(self, request):
        if request.verb is Verb.PATCH and request.resource.resource == "resourcebindings" and request.body is not None:
            body = orjson.loads(request.body) if isinstance(request.body, bytes) else request.body
            if isinstance(body, dict) and "spec" in body:
                request = request._replace(body=orjson.dumps({**body, "spec": self.spec(body["spec"])}))
        return await self._inner.send(request)


class ForgetsTheTask(Writes):
    """Takes a cluster out of a result and writes no task down."""

    def spec(self, spec):
        return {key: value for key, value in spec.items() if key != "gracefulEvictionTasks" or "clusters" not in spec}


class InventsAnEviction(Writes):
    """Gives a reason that is none."""

    def spec(self, spec):
        tasks = spec.get("gracefulEvictionTasks")
        if not tasks:
            return spec
        return {**spec, "gracefulEvictionTasks": [{**task, "reason": "Mood"} for task in tasks]}


class NeverEnds(Writes):
    """Believes that the last task of a binding is over, and does not write it."""

    def spec(self, spec):
        return {key: value for key, value in spec.items() if key != "gracefulEvictionTasks" or value}


class Forgets(Wrapped):
    """Loses a field of a policy's failover on its way into bindings."""

    field = ""

    async def send(self, request):
        if request.resource.resource == "resourcebindings" and self.field.encode() in _encoded(request.body):
            tree = orjson.loads(_encoded(request.body))
            if isinstance(tree, dict) and (tree.get("spec") or {}).get("failover"):
                tree["spec"]["failover"].pop(self.field, None)
                request = request._replace(body=orjson.dumps(tree))
        return await self._inner.send(request)


class ForgetsTheBudget(Forgets):
    """Has no budget."""

    field = "disruptionBudget"


class ForgetsTheFailback(Forgets):
    """Has no failback."""

    field = "failback"


class SeesNoWorks(Wrapped):
    """Believes that a binding has no Works but those in its cache, which it does not look at either."""

    async def send(self, request):
        answer = await self._inner.send(request)
        if request.verb is Verb.LIST and request.resource.resource == "works" and "labelSelector" in request.params:
            return orjson.dumps({**orjson.loads(answer), "items": []})
        return answer


class SaysNothing(Wrapped):
    """Takes workloads back and does not say so."""

    async def send(self, request):
        body = request.body
        if request.verb is Verb.PATCH and request.subresource == "status" and b"FailingBack" in _encoded(body):
            tree = orjson.loads(_encoded(body))
            conditions = tree["status"]["conditions"]
            tree["status"]["conditions"] = [one for one in conditions if one["type"] != "FailingBack"]
            request = request._replace(body=orjson.dumps(tree))
        return await self._inner.send(request)


def _encoded(body):
    return body if isinstance(body, bytes) else orjson.dumps(body)


def given(**instead):
    """A controller-manager with other gates or options than the story gives it."""

    async def manager(around, **usual):
        await run_manager(around, **{**usual, **instead})

    return manager


def without(gate):
    return GATES.with_overrides({gate: False})


BUGS = [
    ("no KeepLastCopy", scenario(given(gates=without("KeepLastCopy"))), LAST_COPY, 13),
    ("no AvoidEvictionLoops", scenario(scheduling=without("AvoidEvictionLoops")), NO_LOOP, 37),
    ("no threshold", scenario(given(options=Options(*EVICTION))), STORM, 6),
    ("no task", scenario(partial(run_manager, wrap=ForgetsTheTask)), CAUSE, 0),
    ("no such reason", scenario(partial(run_manager, wrap=InventsAnEviction)), CAUSE, 1),
    ("no budget", scenario(partial(run_manager, wrap=ForgetsTheBudget)), BUDGET, 0),
    ("no failback", scenario(partial(run_manager, wrap=ForgetsTheFailback)), AGREED, 1),
    ("no gate", scenario(given(gates=without("ControlledMoves"))), FENCE, 2),
    ("no fence", scenario(partial(run_manager, wrap=SeesNoWorks)), FENCE, 1),
    ("no word of a failback", scenario(partial(run_manager, wrap=SaysNothing)), CAUSE, 1),
    ("no end", scenario(partial(run_manager, wrap=NeverEnds)), AGREED, 1),
]
"""Name, story, the rule that it breaks, and the seed to begin with: those before take their time and find nothing."""


def first_failure(story, rule, first, seeds=40):
    for seed in range(first, first + seeds):
        try:
            explore(story, seed, SERVERS)
        except Broken as broken:
            if str(broken).startswith(f"seed {seed}: {rule}: "):
                return seed
    return None


@pytest.mark.parametrize(("story", "rule", "first"), [bug[1:] for bug in BUGS], ids=[bug[0] for bug in BUGS])
def test_a_planted_bug_is_found(story, rule, first):
    assert first_failure(story, rule, first) is not None


def test_the_same_seed_takes_the_same_steps():
    assert explore(scenario(), 13, SERVERS) == explore(scenario(), 13, SERVERS)
