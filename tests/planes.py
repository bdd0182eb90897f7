"""What the storage of a control plane holds once it has started: kinds, roles and namespaces, made once per process.

Making them takes longer than most tests on a control plane do. A test whose plane starts from them sees what one sees
whose plane is started again.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from karmada.apiserver.storage.base import Snapshot
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions


def stored(*, search: bool = True) -> MemoryStorage:
    """A storage for a control plane with or without search, whose clock is the real one."""
    storage = MemoryStorage()
    storage.start_from(_image(search))
    return storage


@cache
def _image(search: bool) -> Snapshot:
    with ThreadPoolExecutor(1) as apart:  # The event loop of who asks is running already.
        return apart.submit(asyncio.run, _made(search)).result()


async def _made(search: bool) -> Snapshot:
    storage = MemoryStorage()
    async with ControlPlane(ControlPlaneOptions(storage=storage, search=search)):
        return storage.snapshot()
