"""An API server in memory as it is before a story begins: its namespaces and roles, and whatever it is furnished with.

That state is made once per process, on a virtual loop of its own and always from the same seed. So a world starts in
milliseconds, and no seed depends on which ones ran before.
"""

from collections.abc import Awaitable, Callable

from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.apiserver.storage.base import Snapshot, Storage
from karmada.apiserver.storage.memory import MemoryStorage
from karmada.machinery.client import Client
from karmada.testing.loop import VirtualClock, run_virtual

SETTLING = 30.0
"""Virtual seconds after which a server's own controllers have done what a beginning gives them to do."""


async def _nothing(client: Client) -> None:
    """The furniture of a plain server."""


def _plain(storage: Storage) -> ApiServer:
    clock = VirtualClock()
    return ApiServer(ApiServerOptions(storage=storage, now=clock.now, random=clock.random()))


class Blueprint:
    """Makes servers that are alike."""

    def __init__(
        self,
        make: Callable[[Storage], ApiServer] = _plain,
        furnish: Callable[[Client], Awaitable[None]] = _nothing,
    ) -> None:
        """`make` is called on a virtual loop."""
        self._make = make
        self._furnish = furnish
        self._image: Snapshot | None = None

    def prepare(self) -> None:
        """Make the state that servers start from; to be called where no loop runs."""
        if self._image is None:
            self._image = run_virtual(self._furnished, 0)

    def server(self) -> ApiServer:
        """A new server, not started yet."""
        return self._make(self.storage())

    def storage(self) -> MemoryStorage:
        """A new storage that holds what servers start from."""
        assert self._image is not None, "prepare comes first"
        storage = MemoryStorage()
        storage.start_from(self._image)
        return storage

    async def _furnished(self) -> Snapshot:
        storage = MemoryStorage()
        async with self._make(storage) as server:
            await self._furnish(Client(server.direct()))
            await VirtualClock().sleep(SETTLING)
            return storage.snapshot()


PLAIN = Blueprint()
