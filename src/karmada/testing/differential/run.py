"""Compares our outcomes with the oracle's, topic by topic."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from karmada.testing.differential.generator import Generator
from karmada.testing.differential.minimise import minimise
from karmada.testing.differential.oracle import VARIES, Oracle
from karmada.testing.golden.case import Record, Topic
from karmada.testing.golden.run import difference

_FLAT = "scheduler"
"""The topic whose requests name no operation."""


@dataclass(slots=True)
class Difference:
    """An input on which we differ, as small as it could be made."""

    id: str
    reason: str
    request: Record


@dataclass(slots=True)
class Outcome:
    """What came of one topic's inputs."""

    topic: str
    seed: int
    compared: int = 0
    differing: int = 0
    shown: list[Difference] = field(default_factory=list)
    """The first differences, minimised."""
    known: Counter[str] = field(default_factory=Counter)
    """Differences by the reason for which they are wanted."""
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The oracle and the topics whose code it is compared with."""

    oracle: Oracle
    topics: Sequence[Topic]

    def run(self, generator: Generator, topic: str, seed: int, count: int, show: int) -> Outcome:
        """Compare `count` inputs of a topic; the first `show` differences are minimised."""
        outcome = Outcome(topic, seed)
        answered = self.oracle.ask(list(generator.requests(topic, seed, count)))
        outcome.left_out += answered.left_out
        judged = ((record, self._judge(topic, record, outcome)) for record in answered.records)
        suspects = [(record, mismatch) for record, mismatch in judged if mismatch]
        unsteady = self.oracle.varies([record for record, _ in suspects])
        for (record, mismatch), varies in zip(suspects, unsteady, strict=True):
            if varies:
                outcome.compared -= 1
                outcome.left_out[VARIES] += 1
                continue
            outcome.differing += 1
            if len(outcome.shown) < show:
                outcome.shown.append(self._minimised(topic, record, mismatch))
        return outcome

    def _judge(self, topic: str, record: Record, outcome: Outcome) -> str | None:
        """The difference that nobody wants, if any; counts the record."""
        known = self._topic(topic, record)
        if known is None:
            outcome.left_out[f"not supported here: {record.get('op') or topic}"] += 1
            return None
        case = known.read(record)
        if case.is_crash:
            outcome.left_out["the reference crashed"] += 1
            return None
        outcome.compared += 1
        mismatch = difference(known, case)
        if not mismatch:
            return None
        wanted = (excuse for excuse in known.excuses if mismatch.startswith(excuse.where) and excuse.applies(case))
        excuse = next(wanted, None)
        if excuse is not None:
            outcome.known[excuse.reason] += 1
            return None
        return mismatch

    def _minimised(self, topic: str, record: Record, mismatch: str) -> Difference:
        request = {key: value for key, value in record.items() if key != "expect"}

        def differs(trees: Sequence[Any]) -> list[bool]:
            wrapped = [_with_input(request, tree) | {"id": str(index)} for index, tree in enumerate(trees)]
            answered = {one["id"]: one for one in self.oracle.ask(wrapped).records}
            found = (answered.get(str(index)) for index in range(len(trees)))
            return [one is not None and self._differs(topic, one, _place(mismatch)) for one in found]

        smallest = _with_input(request, minimise(_input(request), differs))
        again = self.oracle.ask([smallest]).records
        known = self._topic(topic, again[0]) if again else None
        reason = difference(known, known.read(again[0])) if known else None
        return Difference(request["id"], reason or mismatch, smallest)

    def _differs(self, topic: str, record: Record, place: str) -> bool:
        try:
            mismatch = self._judge(topic, record, Outcome(topic, 0))
            return mismatch is not None and _place(mismatch) == place
        except Exception:
            # What is left is no request of this topic any more: a reader, comparator or predicate stumbles over it.
            return False

    def _topic(self, name: str, record: Record) -> Topic | None:
        if "op" not in record:
            return next((topic for topic in self.topics if topic.name == _FLAT), None) if name == _FLAT else None
        return next((topic for topic in self.topics if record["op"] in topic.operations), None)


def _place(mismatch: str) -> str:
    """Where a difference is, or what was raised: a smaller input must differ in the same place."""
    return mismatch.partition(": ")[0]


def _input(request: Record) -> Any:
    return request["input"] if "op" in request else {key: value for key, value in request.items() if key != "id"}


def _with_input(request: Record, given: Any) -> Record:
    if "op" in request:
        return {**request, "input": given}
    return {"id": request["id"], **given}
