"""Chromium for tests; they are skipped where it cannot be had."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.dashboard.browser.chrome import Chrome


@pytest.fixture
async def chromium() -> AsyncIterator["Chrome"]:
    """A Chromium of its own."""
    for name in ("playwright", "axe_playwright_python"):
        pytest.importorskip(name)
    from tests.dashboard.browser.chrome import chrome, executable

    if executable() is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    async with AsyncExitStack() as stack:
        yield await chrome(stack)
