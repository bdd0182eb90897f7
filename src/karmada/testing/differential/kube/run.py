"""Runs scenarios on both servers, collects differences and makes them short."""

import copy
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from karmada.testing.differential.kube.comparing import difference
from karmada.testing.differential.kube.known import Difference, waits, wanted
from karmada.testing.differential.kube.peers import Answer, Peer
from karmada.testing.differential.kube.scenarios import Step
from karmada.testing.differential.kube.transcripts import body_of, filled, remember
from karmada.testing.differential.minimise import minimise

_PATIENCE = 15.0
_ENDING = ("code", "object")
"""Differences after which the two servers hold different objects."""
_FORGETTING = 1.2
"""How long a server may still ask webhooks and policies that are gone; they judge what has no namespace as well."""
_SHRINKING = 60
"""Runs of a scenario that making it short may cost."""


class Found(NamedTuple):
    """A difference and the requests that show it."""

    seed: str
    difference: Difference
    steps: list[Step]

    def transcript(self) -> str:
        """One request per line, then the difference."""
        lines = [json.dumps(step, ensure_ascii=False) for step in self.steps]
        return "\n  ".join([f"DIFFERS {self.seed} ({self.difference.kind}): {self.difference.text}", *lines])


@dataclass(slots=True)
class Tally:
    """What came of the requests."""

    requests: int = 0
    found: list[Found] = field(default_factory=list)
    known: Counter[str] = field(default_factory=Counter)


class Run:
    """Two servers and what is asked of them; every scenario has a namespace of its own on both."""

    def __init__(self, stock: Peer, own: Peer, variables: dict[str, str]) -> None:
        self._peers = (stock, own)
        self._variables = variables
        self._threads = ThreadPoolExecutor(2)
        self._count = 0
        self.tally = Tally()

    def compare(self, seed: str, steps: list[Step]) -> None:
        """Run a scenario; the first difference that nobody wants ends it and is kept."""
        found = self._first_difference(steps, self.tally)
        if found is not None:
            at, mismatch = found
            self.tally.found.append(Found(seed, mismatch, steps[: at + 1]))

    def shorten(self, found: Found) -> Found:
        """The same difference with fewer requests and smaller bodies."""
        budget = [_SHRINKING]

        def differs(candidates: Any) -> list[bool]:
            verdicts: list[bool] = []
            for steps in candidates:
                mismatch = None
                if budget[0] > 0 and not any(verdicts):
                    budget[0] -= 1
                    mismatch = self._same_difference(steps, found.difference)
                verdicts.append(bool(mismatch))
            return verdicts

        try:
            steps = minimise(found.steps, differs)
        except (KeyError, TypeError):
            return found
        return found._replace(steps=steps)

    def _same_difference(self, steps: Any, mismatch: Difference) -> bool:
        if not all("method" in step and "path" in step for step in steps):
            return False
        again = self._first_difference(steps, Tally())
        return again is not None and (again[1].kind, again[1].place) == (mismatch.kind, mismatch.place)

    def _first_difference(self, steps: list[Step], tally: Tally) -> tuple[int, Difference] | None:
        self._count += 1
        run = f"{self._variables['run']}{self._count}"
        variables: list[dict[str, Any]] = [{**self._variables, "run": run, "ns": f"d-{run}"} for _ in self._peers]
        self._both("POST", "/api/v1/namespaces", {"metadata": {"name": f"d-{run}"}})
        answers = Answer(200, None), Answer(200, None)
        collecting = False
        try:
            for at, step in enumerate(steps):
                if step.get("wait"):
                    if answers[0].code >= 300:
                        return None  # what is to be waited for was refused
                    self._wait(step, variables)
                    continue
                time.sleep(step.get("pause", 0))
                answers = self._ask(step, variables)
                tally.requests += 1
                found = difference(*answers)
                collecting = collecting or waits(answers[0])
                if found is None:
                    continue
                mismatch = Difference(*found, step, *answers, collecting)
                reason = wanted(mismatch)
                if reason is not None:
                    tally.known[reason] += 1
                elif mismatch.kind not in _ENDING:
                    tally.found.append(Found("", mismatch, [step]))
                    continue
                else:
                    return at, mismatch
                if mismatch.kind in _ENDING:
                    return None
            return None
        finally:
            self._clean_up(steps, variables)

    def _ask(self, step: Step, variables: list[dict[str, Any]]) -> tuple[Answer, Answer]:
        sent = [filled(copy.deepcopy(step), given) for given in variables]
        sending = [
            self._threads.submit(peer.send, one["method"], one["path"], body_of(one, given), one.get("headers"))
            for peer, one, given in zip(self._peers, sent, variables, strict=True)
        ]
        answers = sending[0].result(), sending[1].result()
        for answer, given in zip(answers, variables, strict=True):
            remember(answer, given)
        return answers

    def _wait(self, step: Step, variables: list[dict[str, Any]]) -> None:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            if all(answer.code == 200 for answer in self._ask(step, variables)):
                return
            time.sleep(0.1)

    def _both(self, method: str, path: str, body: Any = None, media: str = "application/json") -> None:
        headers = {"Content-Type": media}
        for sending in [self._threads.submit(peer.send, method, path, body, headers) for peer in self._peers]:
            sending.result()

    def _clean_up(self, steps: list[Step], variables: list[dict[str, Any]]) -> None:
        """Cluster-wide objects must not bother the next scenario."""
        made = {
            f"{step['path'].partition('?')[0]}/{step['body']['metadata']['name']}"
            for step in steps
            if step["method"] == "POST" and "${ns}" not in step["path"] and _named(step.get("body"))
        }
        for path in sorted(made):
            place = filled(path, variables[0])
            self._both("DELETE", place, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
            self._both("PATCH", place, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        if any("admissionregistration" in path for path in made):
            time.sleep(_FORGETTING)


def _named(body: Any) -> bool:
    if not isinstance(body, dict) or not isinstance(body.get("metadata"), dict):
        return False
    return isinstance(body["metadata"].get("name"), str)
