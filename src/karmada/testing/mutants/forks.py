"""Runs tests against mutants in forks of one process that has imported and collected everything once.

The first fork runs all tests without a mutant and remembers which test calls which function; then a mutant meets the
tests that call what it changes, and then the others of the same files, until one fails.
"""

import contextlib
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

import pytest

from karmada.testing.mutants.edits import Mutant
from karmada.testing.mutants.swapping import Place, Swap

PATIENCE = 5.0
"""A mutant may take this many times as long as no mutant, and some seconds more: one that never ends is killed."""
GRACE = 15.0
Report = Callable[[Mutant, bool | None], None]
"""Called with each mutant and whether it was killed, or None where a fork cannot decide."""


class Calls:
    """The functions of some folder that are called while it listens."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder.resolve())
        self.seen: set[Place] = set()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        sys.settrace(self._called)
        threading.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code.co_filename.startswith(self._folder):
            self.seen.add(Place.of(code))


class Forking:
    """A plugin of pytest that runs collected tests once per mutant."""

    def __init__(self, mutants: Sequence[Mutant], early: Calls, report: Report, folder: Path) -> None:
        self._mutants = mutants
        self._early = early
        self._report = report
        self._calls = Calls(folder)
        self.passes = False
        """Whether the tests pass without any mutant."""
        self.files: dict[str, set[Place]] = {}
        """The test files, and the functions that they call."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.settrace(None)
        plugins = session.config.pluginmanager
        plugins.unregister(plugins.get_plugin("terminalreporter"))  # nobody wants to read of every mutant's tests
        with tempfile.TemporaryDirectory(prefix="karmada-mutants-") as folder:
            record = Path(folder) / "record"
            self.passes = _fork(lambda: self._observe(session, record))
            if not self.passes:
                return True
            seen: list[tuple[float, set[Place]]] = pickle.loads(record.read_bytes())
        for item, (_, places) in zip(session.items, seen, strict=True):
            self.files.setdefault(str(item.path), set()).update(places)
        for mutant in self._mutants:
            self._report(mutant, self._kills(session, mutant, seen))
        return True

    def _kills(self, session: pytest.Session, mutant: Mutant, seen: list[tuple[float, set[Place]]]) -> bool | None:
        swap = Swap(mutant)
        if not swap.is_possible(self._early.seen):
            return None
        direct = [number for number, (_, places) in enumerate(seen) if places & swap.places]
        files = {str(session.items[number].path) for number in direct}
        others = [number for number, item in enumerate(session.items) if str(item.path) in files]
        order = list(dict.fromkeys([*direct, *others]))
        seconds = sum(seen[number][0] for number in order)

        def run() -> bool:
            swap.apply()
            return _run(session, [session.items[number] for number in order])

        return not _fork(run, PATIENCE * seconds + GRACE)

    def _observe(self, session: pytest.Session, record: Path) -> bool:
        """Run all tests and write what each took and called."""
        seen = []
        for number, item in enumerate(session.items):
            following = session.items[number + 1] if number + 1 < len(session.items) else None
            self._calls.seen, began = set(), time.monotonic()
            with self._calls.listening():
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seen.append((time.monotonic() - began, self._calls.seen))
        record.write_bytes(pickle.dumps(seen))
        return not session.testsfailed


def _run(session: pytest.Session, items: list[pytest.Item]) -> bool:
    """Whether tests pass; the first that fails ends it."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return False
    return True


def _fork(work: Callable[[], bool], limit: float = 0.0) -> bool:
    """Whether work succeeds in a fork, within some seconds if there is a limit."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, limit)
            code = not work()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what tests started and did not end
    return status == 0


def run(tests: Sequence[str], mutants: Sequence[Mutant], folder: Path, report: Report) -> dict[str, set[Place]]:
    """Try mutants on tests; the result says which file of tests calls which functions."""
    early = Calls(folder)
    plugin = Forking(mutants, early, report, folder)
    quiet = [
        "-q",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "--no-header",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    with early.listening():
        pytest.main([*quiet, *tests], plugins=[plugin])
    if not plugin.passes:
        raise SystemExit("the tests fail without any mutant")
    return plugin.files
