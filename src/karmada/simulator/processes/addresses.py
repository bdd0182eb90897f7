"""Loopback addresses of one cluster: all of 127.0.0.0/8 is this machine, so a cluster gets a /16 of it to itself.

Nodes, pods and Services have addresses of their own there, with the ports that manifests name. Which block is taken is
known by a socket that is held on its first address; another process that finds it bound takes another block.
"""

import socket
from pathlib import Path
from random import Random

CLAIM = 10250
"""Port of the socket that holds a block."""
BLOCKS = range(16, 250)
LAST = 0x7FFE
"""Addresses of nodes and pods; the upper half is of Services."""


class NoAddresses(Exception):
    """There is no block of loopback addresses to be had."""


class Loopback:
    """A block of loopback addresses, held until it is closed."""

    def __init__(self, random: Random, keep: Path | None = None) -> None:
        """`keep`: a file that remembers the block, as stored Services have addresses of it."""
        self._held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._block = self._claim(random, keep)
        self._last = 0xFF
        self._taken: dict[str, str] = {}

    def _claim(self, random: Random, keep: Path | None) -> int:
        known = int(keep.read_text()) if keep is not None and keep.exists() else 0
        for block in [known] if known else random.sample(BLOCKS, len(BLOCKS)):
            try:
                self._held.bind((f"127.{block}.0.1", CLAIM))
            except OSError:
                continue
            if keep is not None:
                keep.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                keep.write_text(str(block))
            return block
        self._held.close()
        which = f"127.{known}.0.0/16 is" if known else "all blocks of 127.0.0.0/8 are"
        raise NoAddresses(f"{which} in use by another process runtime, or this system has no 127.0.0.0/8 (Linux has)")

    def close(self) -> None:
        """Give the block back."""
        self._held.close()

    @property
    def services(self) -> str:
        """The range of Services."""
        return f"127.{self._block}.128.0/17"

    def node(self, number: int) -> str:
        """The address of a node, from 0 on."""
        return f"127.{self._block}.0.{number % 250 + 1}"

    def take(self, owner: str) -> str:
        """The address of a pod, by its uid."""
        while owner not in self._taken:
            self._last = self._last + 1 if self._last < LAST else 0x100
            address = f"127.{self._block}.{self._last >> 8}.{self._last & 255}"
            if address not in self._taken.values() and self._last & 255 not in (0, 255):
                self._taken[owner] = address
        return self._taken[owner]

    def release(self, owner: str) -> None:
        """Let another pod have an address."""
        self._taken.pop(owner, None)
