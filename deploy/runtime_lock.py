"""Prints the part of requirements.lock that runs in production: what the package needs, and what that needs.

Run by the Dockerfile with everything installed: `python deploy/runtime_lock.py pyproject.toml requirements.lock`.
"""

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def canonical(requirement: str) -> str:
    """The normalised name at the beginning of a requirement."""
    found = _NAME.match(requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def needed(first: list[str]) -> set[str]:
    """All packages that some requirements lead to; what is not installed here is not for this platform."""
    known: set[str] = set()
    waiting = list(first)
    while waiting:
        name = canonical(waiting.pop())
        if name in known:
            continue
        known.add(name)
        try:
            waiting += [item for item in requires(name) or () if "extra ==" not in item]
        except PackageNotFoundError:
            known.discard(name)
    return known


def runtime_lock(project: Path, lock: Path) -> str:
    """The entries of a lock that a project's own dependencies lead to."""
    wanted = needed(tomllib.loads(project.read_text())["project"]["dependencies"])
    entries = re.split(r"\n(?=[A-Za-z0-9])", lock.read_text())
    return "\n".join(entry for entry in entries if _NAME.match(entry) and canonical(entry) in wanted) + "\n"


if __name__ == "__main__":
    sys.stdout.write(runtime_lock(Path(sys.argv[1]), Path(sys.argv[2])))
