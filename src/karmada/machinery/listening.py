"""Closing a listening server without losing the sockets it has just accepted."""

import asyncio

_ACCEPTING = 4
"""Turns of the loop until a socket that was accepted has its connection."""


async def stop_accepting(*servers: asyncio.Server) -> None:
    """Close servers; every socket that was accepted before has its protocol afterwards, which can close it.

    `Server.close()` alone loses sockets between `accept` and their protocol: Python 3.11 then fails an assertion,
    and the socket stays open until it is garbage.
    """
    loop = asyncio.get_running_loop()
    for server in servers:
        for listener in server.sockets:
            loop.remove_reader(listener.fileno())
    for _ in range(_ACCEPTING):
        await asyncio.sleep(0)
    for server in servers:
        server.close()
