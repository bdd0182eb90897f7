"""A program that answers for the reference, asked in batches.

Answers that differ from one process to the next (Go's map order) say nothing and are left out, as are requests that
the program could not run.
"""

import shlex
import subprocess
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

Record = dict[str, Any]
VARIES = "the outcome varies"
_CONFIRMATIONS = 8
"""Further processes that are asked about what differs."""


class OracleError(Exception):
    """The program did not answer every request; the message ends with what it wrote to standard error."""


class Answered(NamedTuple):
    """Requests with the reference's outcome, and how many were left out for which reason."""

    records: list[Record]
    left_out: Counter[str]


class Oracle:
    """The program, with its flags; every batch is asked of `rounds` processes, which must agree."""

    def __init__(self, command: str, rounds: int) -> None:
        self._command = shlex.split(command)
        self._rounds = rounds

    def ask(self, requests: Sequence[Record]) -> Answered:
        """The requests as records of cases, in order."""
        answers = [self._run(requests) for _ in range(self._rounds)]
        records: list[Record] = []
        left_out: Counter[str] = Counter()
        for request, first, *others in zip(requests, *answers, strict=True):
            if "result" not in first:
                left_out[str(first.get("error", "no result"))[:70]] += 1
            elif any(not _agree(first["result"], other.get("result")) for other in others):
                left_out[VARIES] += 1
            else:
                # Read again: a generator may use the same list or object twice, which our code must not see.
                records.append({**orjson.loads(orjson.dumps(request)), "expect": first["result"]})
        return Answered(records, left_out)

    def varies(self, records: Sequence[Record]) -> list[bool]:
        """Whether further processes answer otherwise than is recorded."""
        requests = [{key: value for key, value in record.items() if key != "expect"} for record in records]
        answers = [self._run(requests) for _ in range(_CONFIRMATIONS)] if requests else []
        return [
            any(not _agree(record["expect"], other.get("result")) for other in others)
            for record, *others in zip(records, *answers, strict=True)
        ]

    def _run(self, requests: Sequence[Record]) -> list[Record]:
        given = b"".join(orjson.dumps(request) + b"\n" for request in requests)
        done = subprocess.run(self._command, input=given, capture_output=True, check=False)
        answers = [orjson.loads(line) for line in done.stdout.splitlines() if line.strip()]
        if len(answers) != len(requests):
            complaint = done.stderr.decode(errors="replace")[-500:]
            raise OracleError(f"the oracle gave {len(answers)} answers to {len(requests)} requests: {complaint}")
        return answers


def _agree(one: Any, other: Any) -> bool:
    """Texts of Lua errors print tables in any order; their class is what counts."""
    if one == other:
        return True
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    return "errorClass" in one and one["errorClass"] == other.get("errorClass")
