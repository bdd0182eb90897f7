"""Which program this is: what it was made of and how it was started. Another one may decide otherwise."""

import sys
from collections.abc import Iterable
from hashlib import blake2b
from importlib.metadata import distributions
from pathlib import Path


def fingerprint(arguments: Iterable[str]) -> str:
    """Differs when a module of the program, an installed package, the interpreter or an argument does."""
    root = Path(__file__).parents[2]
    modules = sorted(path for path in root.rglob("*") if path.suffix != ".pyc" and path.is_file())
    found = [sys.version, *arguments]
    for path in modules:
        facts = path.stat()
        found.append(f"{path.relative_to(root)} {facts.st_size} {facts.st_mtime_ns}")
    found += sorted(f"{one.name} {one.version}" for one in distributions())
    return blake2b("\0".join(found).encode(), digest_size=16).hexdigest()
