"""Which program this is: what it was made of and how it was started. Another one may decide otherwise."""

import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[2])
_INSTALLED = (".dist-info", ".egg-info")


def fingerprint(arguments: Iterable[str]) -> str:
    """Differs when a module of the program, an installed package, the interpreter or an argument does."""
    found = [sys.version, *arguments, *sorted(_files(_PACKAGE)), *sorted(_installed(sys.path))]
    return blake2b("\0".join(found).encode(), digest_size=16).hexdigest()


def _files(folder: str) -> Iterator[str]:
    """The files of the package: where, how large and from when. Bytecode is made of them."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                facts = entry.stat()
                yield f"{entry.path[len(_PACKAGE) :]} {facts.st_size} {facts.st_mtime_ns}"
            elif entry.name != "__pycache__":
                yield from _files(entry.path)


def _installed(places: Iterable[str]) -> set[str]:
    """Packages with their versions: they are in the names of what describes them, which would take long to read."""
    return {name for place in places if os.path.isdir(place) for name in os.listdir(place) if name.endswith(_INSTALLED)}
