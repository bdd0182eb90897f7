"""One backend for each OpenSearch that registries name, and one file for the queues of all."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from karmada.machinery.backoff import BackoffPolicy
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.supervisor import Supervisor
from karmada.search.mirror import Mirror
from karmada.search.opensearch.backend import PAUSES, Backend
from karmada.search.opensearch.connection import Connection
from karmada.search.opensearch.model import CONNECTING, BackendRef, State
from karmada.search.opensearch.queue import LIMIT, Queue
from karmada.search.plan import Destinations, KindRef

FILE = "search-queue.sqlite"
UNCLAIMED = 600.0
"""Seconds after which collections of an earlier run that nobody sends any more are forgotten."""


class Backends:
    """Starts and stops backends, and says which mirrors they follow."""

    def __init__(
        self,
        hub: Client,
        supervisor: Supervisor,
        clock: Clock,
        folder: Path | None = None,
        limit: int = LIMIT,
        pauses: BackoffPolicy = PAUSES,
    ) -> None:
        """`folder` is where the queues are kept; without one they end with the process."""
        self._hub = hub
        self._supervisor = supervisor
        self._clock = clock
        self._folder = folder
        self._limit = limit
        self._pauses = pauses
        self._backends: dict[BackendRef, Backend] = {}
        self._queue: Queue | None = None
        self._temporary: TemporaryDirectory[str] | None = None
        self._lock = asyncio.Lock()
        self._threads = ThreadPoolExecutor(1, "search-queue")
        self.changed: Callable[[], None] = lambda: None
        """Called when the state of a backend is another one."""

    def state(self, ref: BackendRef) -> State:
        """How a backend is."""
        backend = self._backends.get(ref)
        return backend.state if backend is not None else CONNECTING

    async def retain(self, refs: Iterable[BackendRef]) -> None:
        """These are the backends that registries name; the others end."""
        wanted = set(refs)
        async with self._lock:
            for ref in [ref for ref in self._backends if ref not in wanted]:
                del self._backends[ref]
                await self._supervisor.cancel(_task(ref))
            for ref in wanted - self._backends.keys():
                connection, queue = Connection(ref, self._hub), await self._opened()
                backend = Backend(connection, queue, self._in_thread, self._clock, lambda: self.changed(), self._pauses)
                self._backends[ref] = backend
                self._supervisor.start(_task(ref), backend.run)

    async def apply(self, cluster: str, destinations: Destinations, mirrors: Iterable[Mirror]) -> None:
        """Send the mirrors of a cluster where registries say, and nowhere else."""
        by_kind = {KindRef(mirror.served.api_version, mirror.served.kind): mirror for mirror in mirrors}
        for ref, backend in list(self._backends.items()):
            wanted: Mapping[KindRef, frozenset[str]] = destinations.get(ref, {})
            sent = {by_kind[kind]: namespaces for kind, namespaces in wanted.items() if kind in by_kind}
            for mirror in backend.followed:
                if mirror.cluster == cluster and mirror not in sent:
                    backend.unfollow(mirror)
            for mirror, namespaces in sent.items():
                queue = await self._opened()
                number = backend.followed.get(mirror) or await self._in_thread(
                    queue.claim, ref.key, cluster, mirror.type
                )
                backend.follow(mirror, namespaces, number)

    async def run(self) -> None:
        """Forget what an earlier run left and nobody sends any more; close the file at the end."""
        try:
            await self._clock.sleep(UNCLAIMED)
            if self._queue is not None:
                known = [number for backend in self._backends.values() for number in backend.followed.values()]
                await self._in_thread(self._queue.keep, known)
            await asyncio.Event().wait()
        finally:
            if self._queue is not None:
                await self._in_thread(self._queue.close)
            self._threads.shutdown(wait=False)
            if self._temporary is not None:
                self._temporary.cleanup()

    async def _opened(self) -> Queue:
        if self._queue is None:
            self._queue = await self._in_thread(self._open)
        return self._queue

    def _open(self) -> Queue:
        folder = self._folder
        if folder is None:
            self._temporary = TemporaryDirectory(prefix="karmada-search-")
            folder = Path(self._temporary.name)
        return Queue(folder / FILE, self._limit)

    async def _in_thread(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)


def _task(ref: BackendRef) -> str:
    return f"opensearch {ref.key} as {ref.namespace}/{ref.name}"
