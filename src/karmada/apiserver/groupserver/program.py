"""What every program around a group server does: find its control plane, and serve where flags say until stopped."""

import asyncio
import contextlib
import gc
import logging
from argparse import Namespace
from collections.abc import Iterator
from typing import Protocol

from karmada.machinery.http.kubeconfig import KubeconfigError, find_target
from karmada.machinery.http.target import Target
from karmada.machinery.os_errors import spelled
from karmada.machinery.process import serving

log = logging.getLogger(__name__)


class Listening(Protocol):
    """A server that is ready to listen."""

    async def listen(self, host: str, port: int) -> int:
        """Serve HTTPS; returns the port."""
        ...


@contextlib.contextmanager
def reading_flags() -> Iterator[None]:
    """Ends the program with one sentence where flags cannot be followed."""
    try:
        yield
    except (KubeconfigError, ValueError, OSError) as error:
        raise SystemExit(f"error: {spelled(error)}") from error


def control_plane_of(flags: Namespace) -> Target:
    """The API server that flags name."""
    kubeconfig = flags.kubeconfig or flags.authentication_kubeconfig or flags.authorization_kubeconfig
    return find_target(kubeconfig, flags.context)


async def serve(server: Listening, flags: Namespace) -> None:
    """Serve where flags say until cancelled."""
    host, port = flags.bind_address or "0.0.0.0", int(flags.secure_port or 443)
    with serving(host, port, "--secure-port"):
        port = await server.listen(host, port)
    # What was loaded so far stays: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    log.info("serving on port %d", port)
    await asyncio.Event().wait()
