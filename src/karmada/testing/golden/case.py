"""What a recorded case is, and what a topic must say so that its cases can be run.

A topic maps the name of each operation to a function from the case's input to the outcome, in the shape of the
recorded outcome. A function reports a failure of the operation by raising `Failed`; any other exception is a defect of
our code and fails the case.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from karmada.testing.golden.compare import first_difference

Record = dict[str, Any]
Operation = Callable[[Any], Any]
Comparator = Callable[[Any, Any], str | None]
"""(expected, actual) -> the first difference, or None."""


class Failed(Exception):
    """The operation failed as the reference's may; the message is compared with the recorded one."""


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded call. An outcome that equals any of the alternatives is right."""

    id: str
    operation: str
    input: Any
    alternatives: tuple[Any, ...]

    @property
    def is_crash(self) -> bool:
        """The reference crashed: the input is outside its contract and nothing is required of us."""
        return any(isinstance(expected, dict) and "panic" in expected for expected in self.alternatives)


def read_case(record: Record) -> Case:
    """The usual layout: id, op, input, expect."""
    return Case(str(record["id"]), record.get("op", ""), record.get("input"), (record.get("expect"),))


@dataclass(frozen=True, slots=True)
class Excuse:
    """Cases we differ in on purpose, chosen by their input, and by whether it mattered to the reference."""

    reason: str
    applies: Callable[[Case], bool]
    where: str = "$"
    """Only differences below this path are excused."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One folder of cases and the code they are run through."""

    name: str
    operations: Mapping[str, Operation]
    excuses: Sequence[Excuse] = ()
    read: Callable[[Record], Case] = read_case
    compare: Comparator = first_difference
