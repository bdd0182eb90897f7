"""Rules for all tests: no time limits on examples, no silent skips where it counts, and rights as in production.

A test fails when a reconcile function, a background task or a listener failed in a way that only a retry hid; tests
that provoke it ask for `failures`. A test fails when a component is refused something: it would be in production too. A
run of the whole suite fails when a component's role allows what no test used and `tests/security/unused_rights.py` does
not explain. `--rights-used FILE` adds what was used to a file and says what remains, for runs in parts.

With `CI=true` a skipped test fails the run, unless it needs Go or Debian's packages and they are absent, or
the recordings beside the repository (`../shared`) and they are absent, or earlier versions and the checkout is shallow,
or namespaces and the sandbox forbids them.
"""

import asyncio
import gc
import logging
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import settings
from tests.balance import balanced, workers
from tests.security.unused_rights import explained

from karmada.apiserver.auth.usage import OBSERVERS
from karmada.testing.rights import Recorder, Right, unused
from karmada.testing.unexpected import UnexpectedFailures

IN_CI = os.environ.get("CI") == "true"
SHARED = Path(__file__).parents[2] / "shared"
GIT = Path(__file__).parents[1] / ".git"
EXCUSES = {
    "needs Go": lambda: shutil.which("go") is None,
    "needs Debian": lambda: shutil.which("apt-get") is None,
    "needs the permission to mount": lambda: True,  # The test tried, and sandboxes differ.
    "needs the history": lambda: not GIT.exists() or (GIT / "shallow").exists(),
    "needs ../shared": lambda: not SHARED.is_dir(),
    "got empty parameter set": lambda: not SHARED.is_dir(),
}
"""What a reason to skip may say, and whether it is true."""

settings.register_profile("default", deadline=None, derandomize=IN_CI)
settings.load_profile("default")

RIGHTS = Recorder()
NARROWING = ("keyword", "markexpr", "lf", "ff", "deselect", "ignore", "ignore_glob", "stepwise", "collectonly")
"""Options of pytest with which a run is not one of the whole suite."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """An option of our own."""
    parser.addoption("--rights-used", type=Path, help="file to which rights that components used are added")


def pytest_configure() -> None:
    """Have every server in the process record what components request, and programs that are started heed Ctrl-C."""
    OBSERVERS.append(RIGHTS)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell has what a script runs in the background ignore it, and so would all that is started from here.
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def components_have_their_rights() -> Iterator[None]:
    """Fail a test in which a component was refused something."""
    yield
    refused = RIGHTS.take_refused()
    assert not refused, "components were refused: " + "; ".join(map(str, refused[:20]))


@pytest.fixture(autouse=True)
def logs_are_captured() -> None:
    """Let `caplog` hear the loggers again that a program, run in this process by an earlier test, took for itself."""
    for name in ("karmada", "asyncio"):
        logging.getLogger(name).propagate = True


@pytest.fixture
def failures() -> Iterator[list[str]]:
    """For tests in which reconciling fails on purpose: what failed."""
    with UnexpectedFailures().listening() as unexpected:
        yield unexpected.found


@pytest.fixture(autouse=True)
def nothing_fails_unnoticed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which something failed that a retry hid."""
    with UnexpectedFailures().listening() as unexpected:
        yield
    if "failures" not in request.fixturenames:
        assert not unexpected.found, "failed, and was tried again: " + "; ".join(unexpected.found[:20])


@pytest.fixture(scope="module")
def what_is_older_is_kept() -> None:
    """For tests that look for garbage: what others have left in this process is looked at once, which takes most of a
    second there, and passed over from now on."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def unrecorded() -> Iterator[None]:
    """For tests that act as a component and do what it does not."""
    RIGHTS.is_paused = True
    yield
    RIGHTS.is_paused = False


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect what was used in a worker of pytest-xdist."""
    RIGHTS.used.update(Right(*right) for right in getattr(node, "workeroutput", {}).get("rights", ()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Hand over what was used, or compare it with the roles."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["rights"] = [list(right) for right in sorted(RIGHTS.used)]
        return
    file: Path | None = config.getoption("--rights-used")
    if file is not None:
        if file.exists():
            RIGHTS.used.update(Right(*right) for right in orjson.loads(file.read_bytes()))
        file.write_bytes(orjson.dumps([list(right) for right in sorted(RIGHTS.used)], option=orjson.OPT_INDENT_2))
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not exitstatus
    if file is None and (not whole or any(config.getoption(name, None) for name in NARROWING)):
        return
    excess = unused(RIGHTS.used, explained())
    if excess:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        lines = "\n".join(f"  {right}" for right in excess)
        text = f"roles allow what nothing used (narrow component_roles, or explain it in unused_rights):\n{lines}"
        config.get_terminal_writer().line(f"\n{text}", red=True)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """How many workers `-n auto` starts."""
    return workers()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Divide long tests among the workers."""
    if hasattr(config, "workerinput"):
        items[:] = balanced(items, config.workerinput["workercount"])


def pytest_collection_finish() -> None:
    """Never look for garbage among modules and collected tests, which stay, nor after every few objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def pytest_sessionstart() -> None:
    """Sync tests have no event loop: the looptime plugin would otherwise create one for them and never close it."""
    asyncio.set_event_loop(None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> object:
    """Turn a skip into a failure in CI."""
    outcome = yield
    report = outcome.get_result()
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(text in reason and holds() for text, holds in EXCUSES.items()):
            report.outcome = "failed"
            report.longrepr = f"skipped tests are failures in CI: {reason}"
    return report
