"""Rules for all tests: no time limits on examples, and no silent skips where it counts.

With `CI=true` a skipped test fails the run, unless it needs Go and Go is absent, or the recordings beside the
repository (`../shared`) and they are absent.
"""

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

IN_CI = os.environ.get("CI") == "true"
SHARED = Path(__file__).parents[2] / "shared"
EXCUSES = {
    "needs Go": lambda: shutil.which("go") is None,
    "needs ../shared": lambda: not SHARED.is_dir(),
    "got empty parameter set": lambda: not SHARED.is_dir(),
}
"""What a reason to skip may say, and whether it is true."""

settings.register_profile("default", deadline=None, derandomize=IN_CI)
settings.load_profile("default")


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
