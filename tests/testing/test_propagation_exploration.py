"""The pipeline under faults: nothing breaks in many seeds, and bugs planted under the controllers are found."""

import contextlib
from functools import partial

import orjson
import pytest

from karmada.machinery.transport import EventType, Verb
from karmada.testing.scenarios.federation import SERVERS, run_manager
from karmada.testing.scenarios.propagation import AGREED, OWNED_STAYS, WORK_GOES, scenario
from karmada.testing.world import Broken, explore

SEEDS_PER_TEST = 6


@pytest.mark.parametrize("first", range(0, 36, SEEDS_PER_TEST), ids="seeds from {}".format)
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


class LosesEvents(Wrapped):
    """Leaves out an event now and then."""

    @contextlib.asynccontextmanager
    async def watch(self, request):
        async with self._inner.watch(request) as stream:
            yield self._lossy(stream)

    async def _lossy(self, stream):
        async for batch in stream:
            yield [event for event in batch if event.type is EventType.BOOKMARK or self._random.random() > 0.1]


class LoadsNothing(Wrapped):
    """Takes a collection for loaded before anything of it came."""

    @contextlib.asynccontextmanager
    async def watch(self, request):
        async with self._inner.watch(request) as stream:
            yield self._hasty(stream) if "sendInitialEvents" in request.params else stream

    async def _hasty(self, stream):
        loaded = False
        async for batch in stream:
            ends = [place for place, event in enumerate(batch) if event.type is EventType.BOOKMARK]
            if not loaded and ends:
                batch = batch[ends[0] :]
                loaded = True
            if loaded:
                yield batch


class SeesHalf(Wrapped):
    """Shows a binding now and then with one cluster fewer than it has."""

    @contextlib.asynccontextmanager
    async def watch(self, request):
        async with self._inner.watch(request) as stream:
            yield self._halved(stream) if request.resource.resource == "resourcebindings" else stream

    async def _halved(self, stream):
        async for batch in stream:
            yield [event._replace(object=self._cut(event.object), held=None) for event in batch]

    def _cut(self, body):
        tree = orjson.loads(body)
        if self._random.random() < 0.1 and tree.get("spec", {}).get("clusters"):
            tree["spec"]["clusters"].pop()
            return orjson.dumps(tree)
        return body


class WritesWithoutVersion(Wrapped):
    """Writes what was decided on without saying which state that was."""

    async def send(self, request):
        if request.verb in (Verb.PATCH, Verb.UPDATE) and request.body is not None:
            body = orjson.loads(request.body) if isinstance(request.body, bytes) else request.body
            if isinstance(body, dict) and "metadata" in body:
                metadata = {
                    key: value for key, value in body["metadata"].items() if key not in ("resourceVersion", "uid")
                }
                request = request._replace(body=orjson.dumps(body | {"metadata": metadata}))
        return await self._inner.send(request)


class BelievesDeletions(Wrapped):
    """Takes a deletion for done that has not happened."""

    async def send(self, request):
        if request.verb is Verb.DELETE and self._random.random() < 0.5:
            return orjson.dumps({"kind": "Status", "status": "Success", "metadata": {}})
        return await self._inner.send(request)


class TakesOver(Wrapped):
    """Takes every object in a member for ours."""

    async def send(self, request):
        answer = await self._inner.send(request)
        if request.verb is Verb.GET and request.resource.resource == "configmaps":
            tree = orjson.loads(answer)
            tree["metadata"].setdefault("labels", {})["karmada.io/managed"] = "true"
            return orjson.dumps(tree)
        return answer


BUGS = [
    (LosesEvents, AGREED),
    (LoadsNothing, AGREED),
    (SeesHalf, WORK_GOES),
    (WritesWithoutVersion, OWNED_STAYS),
    (BelievesDeletions, AGREED),
    (TakesOver, OWNED_STAYS),
]


def first_failure(bug, rule, seeds=200):
    for seed in range(seeds):
        try:
            explore(scenario(partial(run_manager, wrap=bug)), seed, SERVERS)
        except Broken as broken:
            if str(broken).startswith(f"seed {seed}: {rule}: "):
                return seed
    return None


@pytest.mark.parametrize(("bug", "rule"), BUGS, ids=[bug.__name__ for bug, _ in BUGS])
def test_a_planted_bug_is_found(bug, rule):
    assert first_failure(bug, rule) is not None
