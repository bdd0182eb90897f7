"""Reads the differences that the comparison tool prints, and sorts out those that have an explanation."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_HEADING = re.compile(r"== ([^:]+): ")
_EXPECTED, _FOUND = "      A: ", "      B: "


class Difference(NamedTuple):
    """One difference: where, what was recorded, what was found. Events and missing steps have only a place."""

    scenario: str
    place: str
    expected: str = ""
    found: str = ""

    def __str__(self) -> str:
        values = f"\n      recorded: {self.expected}\n      found:    {self.found}" if self.expected else ""
        return f"  {self.place}{values}"


class Explanation(NamedTuple):
    """Differences that are meant, and why."""

    reason: str
    place: str
    """A pattern that the scenario and place of the difference match, as `scenario: place`."""
    expected: str = ""
    found: str = ""

    def covers(self, difference: Difference) -> bool:
        """Whether a difference is one of these."""
        return (
            re.search(self.place, f"{difference.scenario}: {difference.place}") is not None
            and re.search(self.expected, difference.expected) is not None
            and re.search(self.found, difference.found) is not None
        )


@dataclass(slots=True)
class Verdict:
    """What a comparison came to."""

    same: list[str] = field(default_factory=list)
    unexplained: dict[str, list[Difference]] = field(default_factory=dict)
    explained: Counter[str] = field(default_factory=Counter)


def judge(output: str, explanations: Sequence[Explanation], wanted: str = "") -> Verdict:
    """The verdict on all scenarios that the tool compared; the one that is wanted differs if nothing is said of it."""
    verdict = Verdict()
    if wanted and all(scenario != wanted for scenario, _ in _scenarios(output)):
        verdict.unexplained[wanted] = [Difference(wanted, "was not compared: the comparison failed")]
    for scenario, differences in _scenarios(output):
        left: list[Difference] = []
        for difference in differences:
            reason = next((known.reason for known in explanations if known.covers(difference)), None)
            if reason is None:
                left.append(difference)
            else:
                verdict.explained[reason] += 1
        if left:
            verdict.unexplained[scenario] = left
        else:
            verdict.same.append(scenario)
    return verdict


def _scenarios(output: str) -> Iterator[tuple[str, list[Difference]]]:
    scenario, found = "", list[Difference]()
    for line in output.splitlines():
        heading = _HEADING.match(line)
        if heading:
            if scenario:
                yield scenario, found
            scenario, found = heading[1], []
            if line.endswith((" only in A", " only in B")):
                found.append(Difference(scenario, "was not run to its end"))
        elif line.startswith(_EXPECTED):
            found[-1] = found[-1]._replace(expected=line.removeprefix(_EXPECTED))
        elif line.startswith(_FOUND):
            found[-1] = found[-1]._replace(found=line.removeprefix(_FOUND))
        elif line.startswith("  "):
            found.append(Difference(scenario, line.strip()))
    if scenario:
        yield scenario, found
