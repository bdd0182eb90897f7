"""What holds for all tests."""

import asyncio


def pytest_sessionstart() -> None:
    """Sync tests have no event loop: the looptime plugin would otherwise create one for them and never close it."""
    asyncio.set_event_loop(None)
