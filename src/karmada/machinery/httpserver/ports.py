"""A port that can be had again: one the system never gives to outgoing connections.

A server that is restarted wants its old port. Were it one of those given to connections, a client that keeps trying to
reach the server meanwhile could be given that very port, connect to itself, and keep the server out.
"""

import errno
from collections.abc import Awaitable, Callable
from random import Random, SystemRandom

FIRST, LAST = 20_000, 32_767
"""Below what Linux (32768) and others (49152) give to connections."""
TRIES = 100


async def listen_lastingly(listen: Callable[[int], Awaitable[int]], random: Random | None = None) -> int:
    """Listen on such a port, on any other only if none is free; what `listen` answers is returned."""
    random = random or SystemRandom()
    for _ in range(TRIES):
        try:
            return await listen(random.randint(FIRST, LAST))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return await listen(0)
