"""Runs tests against mutants in forks of one process that has imported and collected everything once.

The first fork runs all tests without a mutant and remembers which test runs which line and how long it takes; a second
runs them in order of speed. Then a mutant meets the tests that run the lines it changes, the quickest first, until one
fails: for a test that does not, nothing is changed.
"""

import contextlib
import gc
import itertools
import os
import pickle
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from karmada.testing.mutants.edits import Mutant
from karmada.testing.mutants.swapping import Functions, Place, Swap

PATIENCE = 5.0
"""A test may take this many times as long with a mutant, and some seconds more: one that never ends is killed."""
BUSY_GRACE, IDLE_GRACE = 3.0, 30.0
"""Seconds of the processor, and of the clock: a machine with other work must not kill mutants."""
MEMORY = 6 << 30
"""Bytes of addresses that a fork may have."""
Report = Callable[[Mutant, bool | None], None]
"""Called with each mutant and whether it was killed, or None where a fork cannot decide."""


Listener = Callable[[FrameType, str, Any], Any]
Line = tuple[str, int]
"""A line of a file."""


class Calls:
    """The functions of some folder that are called while it listens, and the lines of some modules that are run."""

    def __init__(self, folder: Path, modules: Iterable[Path] = ()) -> None:
        self._folder = str(folder.resolve())
        self._modules = frozenset(str(module.resolve()) for module in modules)
        self.clear()

    def clear(self) -> None:
        """Forget what was seen."""
        self.seen: set[Place] = set()
        self.lines: set[Line] = set()

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        sys.settrace(self._called)
        threading.settrace(self._called)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def _called(self, frame: FrameType, event: str, argument: object) -> Listener | None:
        code = frame.f_code
        if code.co_filename.startswith(self._folder):
            self.seen.add(Place.of(code))
            if code.co_filename in self._modules:
                return self._ran
        return None

    def _ran(self, frame: FrameType, event: str, argument: object) -> Listener:
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._ran


class Observed(NamedTuple):
    """What a test, or a file of tests, does without any mutant."""

    seconds: float
    places: set[Place]
    """The functions that it calls."""
    lines: frozenset[Line] | set[Line] = frozenset()
    """The lines of mutated modules that it runs."""


class Forking:
    """A plugin of pytest that runs collected tests once per mutant."""

    def __init__(self, mutants: Sequence[Mutant], early: Calls, report: Report, folder: Path, at_once: int) -> None:
        self._mutants = mutants
        self._at_once = at_once
        self._early = early
        self._report = report
        self._calls = Calls(folder, {mutant.module for mutant in mutants})
        self._seen: list[Observed] = []
        self.failing: list[str] = ["the collection"]
        """Tests that fail without any mutant."""
        self.files: dict[str, Observed] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        sys.settrace(None)
        gc.unfreeze()  # what is frozen, as a conftest may do after the collection, is not found
        functions = Functions()
        gc.freeze()
        plugins = session.config.pluginmanager
        plugins.unregister(plugins.get_plugin("terminalreporter"))  # nobody wants to read of every mutant's tests
        with tempfile.TemporaryDirectory(prefix="karmada-mutants-") as folder:
            record, failed = Path(folder) / "record", Path(folder) / "failed"
            self.failing = ["one that ended the process"]
            if _ended(_fork(lambda: self._observe(session, record))):
                self._seen = pickle.loads(record.read_bytes())
                if _ended(_fork(lambda: self._try_unchanged(session, failed))):
                    self.failing = failed.read_text().splitlines()
        if self.failing:
            return True
        for item, (seconds, places, lines) in zip(session.items, self._seen, strict=True):
            before = self.files.get(str(item.path), Observed(0, set()))
            self.files[str(item.path)] = Observed(
                before.seconds + seconds, before.places | places, before.lines | lines
            )
        self._try(session, functions)
        return True

    def _try(self, session: pytest.Session, functions: Functions) -> None:
        running: dict[int, Mutant] = {}

        def await_one() -> None:
            child, status = os.wait()
            _clean(child)
            self._report(running.pop(child), status != 0)

        for mutant in self._mutants:
            swap = Swap(mutant, functions)
            if not swap.is_possible(self._early.seen):
                self._report(mutant, None)
                continue
            if len(running) >= self._at_once:
                await_one()
            running[_fork(partial(self._passes, session, swap, mutant))] = mutant
        while running:
            await_one()

    def _passes(self, session: pytest.Session, swap: Swap, mutant: Mutant) -> bool:
        swap.apply()
        lines = {(str(mutant.module.resolve()), line) for line in mutant.lines}
        noticing = [number for number, seen in enumerate(self._seen) if seen.lines & lines]
        if not noticing:  # The compiler may have put what is written there together with what stands on another line.
            noticing = [number for number, seen in enumerate(self._seen) if seen.places & swap.places]
        if not noticing:  # Or it is run in processes that tests start, which are not looked into.
            noticing = [number for number, item in enumerate(session.items) if _imports(item, mutant.module.resolve())]
        return self._run(session, self._by_speed(noticing))

    def _by_speed(self, numbers: Iterable[int]) -> list[int]:
        return sorted(numbers, key=lambda number: self._seen[number].seconds)

    def _observe(self, session: pytest.Session, record: Path) -> bool:
        """Run all tests and write what each took and called."""
        seen = []
        for item, following in _in_turn(session.items):
            self._calls.clear()
            began = time.monotonic()
            with self._calls.listening():
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seen.append(Observed(time.monotonic() - began, self._calls.seen, self._calls.lines))
        record.write_bytes(pickle.dumps(seen))
        return True

    def _try_unchanged(self, session: pytest.Session, failed: Path) -> bool:
        """Run all tests, the quickest first, and write which fail, also when they are tried again: a machine with other
        work must not end a run of hours."""

        def failing(numbers: list[int]) -> list[int]:
            found = []
            for (item, following), number in zip(
                _in_turn([session.items[number] for number in numbers]), numbers, strict=True
            ):
                before = session.testsfailed
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.testsfailed > before:
                    found.append(number)
            return found

        left = failing(failing(self._by_speed(range(len(session.items)))))
        failed.write_text("\n".join(session.items[number].nodeid for number in left))
        return True

    def _run(self, session: pytest.Session, numbers: list[int]) -> bool:
        """Whether tests pass; the first that fails or takes too long ends it."""
        seconds = (self._seen[number].seconds for number in numbers)
        for (item, following), usual in zip(
            _in_turn([session.items[number] for number in numbers]), seconds, strict=True
        ):
            signal.setitimer(signal.ITIMER_PROF, PATIENCE * usual + BUSY_GRACE)
            signal.setitimer(signal.ITIMER_REAL, PATIENCE * usual + IDLE_GRACE)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return False
        return True


def _imports(item: pytest.Item, module: Path) -> bool:
    """Whether the file of a test has imported a module, or anything from it."""
    names = {name for name, known in sys.modules.items() if getattr(known, "__file__", None) == str(module)}
    found = vars(item.module).values() if isinstance(item, pytest.Function) else ()
    return any(getattr(one, "__module__", None) in names or getattr(one, "__name__", None) in names for one in found)


def _in_turn(items: list[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return itertools.zip_longest(items, items[1:])


def _fork(work: Callable[[], bool]) -> int:
    """Start work in a fork that ends with status 0 if it succeeds; the result is its process."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setsid()
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            code = not work()
        finally:
            os._exit(code)
    return child


def _ended(child: int) -> bool:
    """Whether a fork succeeded."""
    _, status = os.waitpid(child, 0)
    _clean(child)
    return status == 0


def _clean(child: int) -> None:
    """End what the tests of a fork started and did not end."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def run(
    tests: Sequence[str], mutants: Sequence[Mutant], folder: Path, report: Report, at_once: int = 1
) -> dict[str, Observed]:
    """Try mutants on tests, some at once; the result is what each file of tests does without any."""
    early = Calls(folder)
    plugin = Forking(mutants, early, report, folder, at_once)
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
    if plugin.failing:
        raise SystemExit("\n".join(("the tests fail without any mutant:", *plugin.failing)))
    return plugin.files
